package credproxy

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/org/claude-sandbox/credproxy/spending"
)

// Answer is how the model API answered a request, read on the host.
type Answer struct {
	// Stop is the API's stop_reason: end_turn, tool_use and others; "" = the
	// answer did not come to its end.
	Stop string
	// Text is the answer's last content block, if that is a text: what Claude
	// Code takes for the result of a run.
	Text string
	// Structured is the arguments, as JSON, of the answer's last call of
	// structuredTool, wherever it stands; nil = there is none.
	Structured []byte
}

// structuredTool is Claude Code's tool for --json-schema. The call is the run's
// result. The model may call other tools in the same answer.
const structuredTool = "StructuredOutput"

// maxKept bounds what is kept of one line, of a plain answer and of a content
// block, in bytes. The longest answers of models are below 1 MiB, events below
// 10 KiB. A longer answer is passed on and not read.
const maxKept = 4 << 20

// answerReader reads one answer that is written to it, server-sent events or
// one JSON object, as it passes: tokens, and how it ends. It keeps one line and
// the last content block, no more.
type answerReader struct {
	lines
	meter  *meter
	asked  string // the model of the request
	model  string // the same until the answer names its own, whose price counts
	family string // that goes before such a name, for the price
	size   int    // of the request, in bytes

	over     bool // the block is longer than maxKept
	block    []byte
	kind     string // of the block; "" = there is none yet
	answer   Answer
	ended    bool
	produced int           // bytes of content so far
	heard    time.Time     // when content came last
	unseen   time.Duration // for which the model may have been at work since, for a client that left
	most     int64         // tokens that the request allows; 0 = it does not say

	counted tokens
	charged spending.Spent
}

type wireUsage struct {
	Input      *int64 `json:"input_tokens"`
	Output     *int64 `json:"output_tokens"`
	CacheRead  *int64 `json:"cache_read_input_tokens"`
	CacheWrite *int64 `json:"cache_creation_input_tokens"`
	Creation   *struct {
		Short int64 `json:"ephemeral_5m_input_tokens"`
	} `json:"cache_creation"`
	Served *struct {
		Searches int64 `json:"web_search_requests"`
	} `json:"server_tool_use"`
}

type wireBlock struct {
	Type  string          `json:"type"`
	Text  string          `json:"text"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// wireMessage is a plain answer, or the one that message_start announces.
type wireMessage struct {
	Model   string      `json:"model"`
	Stop    string      `json:"stop_reason"`
	Content []wireBlock `json:"content"`
	Usage   wireUsage   `json:"usage"`
}

// wireEvent is a server-sent event, or a plain answer.
type wireEvent struct {
	Type string `json:"type"`
	wireMessage
	Message wireMessage `json:"message"`
	Block   wireBlock   `json:"content_block"`
	Delta   struct {
		Text    string `json:"text"`
		Partial string `json:"partial_json"`
		Think   string `json:"thinking"`
		Stop    string `json:"stop_reason"`
	} `json:"delta"`
}

// reader reads an answer that is written to it. close is told its end, and leave before that
// a client that did not wait for it.
type reader interface {
	Write([]byte)
	leave(now time.Time)
	close() Answer
}

// lines cuts an answer into lines as it is written; one that is no server-sent events is
// one line.
type lines struct {
	events  bool
	line    []byte
	skip    bool // the line is longer than maxKept
	skipped int  // bytes of such lines
}

// write calls each with every line that ends, but for those that are too long.
func (l *lines) write(p []byte, each func(line []byte)) {
	for l.events {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			break
		}
		l.keep(p[:i])
		line, skip := l.line, l.skip
		l.line, l.skip = l.line[:0], false
		if !skip {
			each(line)
		}
		p = p[i+1:]
	}
	l.keep(p)
}

func (l *lines) keep(p []byte) {
	if l.skip || len(l.line)+len(p) > maxKept {
		l.skip = true
		l.skipped += len(p)
		return
	}
	l.line = append(l.line, p...)
}

func newAnswerReader(m *meter, asked request, events bool) *answerReader {
	a := &answerReader{meter: m, asked: asked.model, model: asked.model, size: asked.size, most: asked.mostTokens[0],
		heard: time.Now(), lines: lines{events: events}}
	if asked.cloud != nil {
		a.family = "anthropic."
	}
	a.count(wireUsage{}) // it counts as a request whatever it says
	return a
}

// Write never fails.
func (a *answerReader) Write(p []byte) {
	before := a.skipped
	a.write(p, func(line []byte) {
		line, ok := bytes.CutPrefix(line, []byte("data:"))
		var e wireEvent
		if ok && json.Unmarshal(line, &e) == nil {
			a.event(e)
		}
	})
	a.produced += a.skipped - before
}

func (a *answerReader) event(e wireEvent) {
	switch e.Type {
	case "message_start":
		a.named(e.Message.Model)
		a.count(e.Message.Usage)
	case "content_block_start":
		a.beginBlock(e.Block)
	case "content_block_delta":
		if a.add(e.Delta.Text + e.Delta.Partial); len(e.Delta.Text)+len(e.Delta.Partial)+len(e.Delta.Think) > 0 {
			a.heard = time.Now()
		}
		a.produced += len(e.Delta.Think)
	case "message_delta":
		a.count(e.Usage)
		if e.Delta.Stop != "" {
			a.answer.Stop = e.Delta.Stop
		}
	case "message_stop":
		a.finish()
	}
}

func (a *answerReader) named(model string) {
	if model != "" {
		a.model = a.family + model
	}
}

func (a *answerReader) leave(now time.Time) { a.unseen = now.Sub(a.heard) }

// beginBlock starts a content block. The text that begins it is mostly empty.
func (a *answerReader) beginBlock(b wireBlock) {
	a.keepStructured()
	a.block, a.kind = a.block[:0], b.Type
	if b.Type == "tool_use" {
		a.kind = b.Name
	}
	a.over = b.Type != "text" && a.kind != structuredTool // the judge needs no other content
	a.add(b.Text)
}

func (a *answerReader) add(s string) {
	a.produced += len(s)
	if a.over || len(a.block)+len(s) > maxKept {
		a.over = true
		return
	}
	a.block = append(a.block, s...)
}

// finish notes the answer's end.
func (a *answerReader) finish() {
	a.ended = a.answer.Stop != "" && a.skipped == 0 // of one that was skipped the end is not known
	a.keepStructured()
	if a.kind == "text" && !a.over {
		a.answer.Text = string(a.block)
	}
}

// keepStructured takes over the block, if it is the call of structuredTool. It keeps
// nothing of a block that is too long.
func (a *answerReader) keepStructured() {
	if a.kind == structuredTool {
		a.answer.Structured = nil
		if !a.over {
			a.answer.Structured = bytes.Clone(a.block)
		}
	}
}

// maxSaid bounds what an answer says that it used, far above any: sums of such numbers
// must not become negative, which would be room in a budget.
const maxSaid = 1 << 40

// bytesPerToken is less than the tokens of an answer have.
const bytesPerToken = 3

// modelSpeed is more than models write, in tokens a second. Thinking need not be shown.
const modelSpeed = 200

// close reads what is left when nothing more comes, and returns the answer. One
// that was cut has no Stop; its tokens are spent all the same, and the upstream
// may not have said how many: then its cost is estimated, with four bytes for a
// token that was sent and three for one that came.
func (a *answerReader) close() Answer {
	if !a.events && !a.skip {
		var e wireEvent
		if json.Unmarshal(a.line, &e) == nil && e.Type == "message" {
			a.named(e.Model)
			a.count(e.Usage)
			for _, b := range e.Content {
				a.beginBlock(b)
				if b.Type == "tool_use" {
					a.add(string(b.Input))
				}
			}
			a.answer.Stop = e.Stop
			a.finish()
		}
	}
	if a.ended {
		return a.answer
	}
	estimated := a.counted
	if estimated.Input+estimated.CacheRead+estimated.CacheWrite == 0 {
		estimated.Input = int64(a.size / 4)
	}
	written := int64(a.produced/bytesPerToken) + int64(a.unseen.Seconds()*modelSpeed)
	if a.most > 0 {
		written = min(written, a.most)
	}
	estimated.Output = max(estimated.Output, written)
	a.charge(a.counted, priceOf(a.model).costUSD(estimated))
	return Answer{}
}

// count replaces: a later event repeats the counts, cumulatively.
func (a *answerReader) count(u wireUsage) {
	now := a.counted
	now.Requests = 1
	for _, f := range []struct {
		to   *int64
		from *int64
	}{{&now.Input, u.Input}, {&now.Output, u.Output}, {&now.CacheRead, u.CacheRead}, {&now.CacheWrite, u.CacheWrite}} {
		if f.from != nil && *f.from >= 0 {
			*f.to = min(*f.from, maxSaid)
		}
	}
	if u.Creation != nil {
		now.write5m = min(max(u.Creation.Short, 0), maxSaid)
	}
	if u.Served != nil {
		now.searches = min(max(u.Served.Searches, 0), maxSaid)
	}
	a.charge(now, priceOf(a.model).costUSD(now))
}

func (a *answerReader) charge(now tokens, usd float64) {
	spent := spending.Spent{Model: a.asked, Usage: now.Usage, USD: usd}
	a.meter.change(a.charged, spent)
	a.counted, a.charged = now, spent
}
