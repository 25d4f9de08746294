package credproxy

import (
	"bytes"
	"encoding/json"
	"io"
	"time"

	"github.com/org/claude-sandbox/credproxy/spending"
)

// unsaidTokens is what an answer is counted as that does not say what it used, where its
// request has no limit: more than models write at once.
const unsaidTokens = 128_000

// chatReader counts an answer of a provider as it passes.
type chatReader struct {
	lines
	meter *meter
	asked request

	answered string // the model's name in the answer
	in, out  *int64 // as the provider says
	ended    bool
	produced int64 // bytes
	charged  spending.Spent
}

// wireChat is an answer, or a part of one that is streamed.
type wireChat struct {
	Model string `json:"model"`
	Usage *struct {
		Prompt     *int64 `json:"prompt_tokens"`
		Completion *int64 `json:"completion_tokens"`
	} `json:"usage"`
	Choices []json.RawMessage `json:"choices"`
}

func newChatReader(m *meter, asked request, events bool) *chatReader {
	c := &chatReader{meter: m, asked: asked, lines: lines{events: events}}
	c.charge(spending.Usage{Requests: 1}) // it counts as a request whatever it says
	return c
}

// leave changes nothing: what the provider did not say is counted by an upper bound.
func (c *chatReader) leave(time.Time) {}

// Write never fails.
func (c *chatReader) Write(p []byte) {
	c.produced += int64(len(p))
	c.write(p, func(line []byte) {
		data, ok := bytes.CutPrefix(line, []byte("data:"))
		switch data = bytes.TrimSpace(data); {
		case !ok:
		case string(data) == "[DONE]":
			c.ended = true
		default:
			c.read(data)
		}
	})
}

func (c *chatReader) read(text []byte) (ok bool) {
	var w wireChat
	if json.Unmarshal(text, &w) != nil {
		return false
	}
	if w.Model != "" {
		c.answered = w.Model
	}
	if u := w.Usage; u != nil {
		for _, f := range []struct {
			to   **int64
			from *int64
		}{{&c.in, u.Prompt}, {&c.out, u.Completion}} {
			if f.from != nil && *f.from >= 0 {
				said := min(*f.from, maxSaid)
				*f.to = &said
			}
		}
	}
	return true
}

// close counts what is known when nothing more comes. Numbers that the provider did not give
// are counted by an upper bound: a token is at least a byte of the request, and an answer has
// no more tokens than the request's limit.
func (c *chatReader) close() Answer {
	if !c.events {
		c.ended = !c.skip && c.read(c.line)
	}
	used := spending.Usage{Requests: 1, Input: int64(c.asked.size) + c.asked.extra, Output: c.asked.mostOutput(c.produced)}
	if c.ended && c.in != nil {
		used.Input = *c.in
	}
	if c.ended && c.out != nil {
		used.Output = *c.out
	}
	c.charge(used)
	return Answer{}
}

func (c *chatReader) charge(u spending.Usage) {
	now := spending.Spent{Model: c.asked.model, Usage: u, USD: c.asked.provider.costUSD(c.asked.named, c.answered, u)}
	c.meter.change(c.charged, now)
	c.charged = now
}

// mostOutput is the most tokens that an answer of so many bytes can have cost.
func (q request) mostOutput(produced int64) int64 {
	if q.embeddings {
		return 0
	}
	limit := max(q.mostTokens[0], q.mostTokens[1])
	if limit == 0 {
		limit = max(unsaidTokens, produced)
	}
	return limit * q.choices
}

// usageFilter takes the event out of a stream that says what was used, which the client
// did not ask for and may not understand: it has no choice.
type usageFilter struct {
	to      io.Writer
	pending []byte // a line that has not ended
	dropped bool   // the last line; the empty one behind it goes with it
	whole   bool   // the line is longer than maxKept, and passes in pieces
}

func (f *usageFilter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			if f.pending = append(f.pending, p...); len(f.pending) > maxKept {
				f.whole = true
				return n, f.flush()
			}
			return n, nil
		}
		f.pending = append(f.pending, p[:i+1]...)
		p = p[i+1:]
		if !f.whole && f.isUsage() {
			f.pending, f.dropped = f.pending[:0], true
			continue
		}
		if f.dropped && len(bytes.TrimSpace(f.pending)) == 0 {
			f.pending = f.pending[:0]
		}
		f.dropped, f.whole = false, false
		if err := f.flush(); err != nil {
			return 0, err
		}
	}
	return n, nil
}

func (f *usageFilter) isUsage() bool {
	data, ok := bytes.CutPrefix(f.pending, []byte("data:"))
	var w wireChat
	return ok && json.Unmarshal(data, &w) == nil && w.Usage != nil && w.Choices != nil && len(w.Choices) == 0
}

func (f *usageFilter) flush() error {
	if len(f.pending) == 0 {
		return nil
	}
	_, err := f.to.Write(f.pending)
	f.pending = f.pending[:0]
	return err
}
