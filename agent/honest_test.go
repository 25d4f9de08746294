package agent_test

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/credproxy"
	"github.com/org/claude-sandbox/internal/fakeapi"
)

func say(texts ...string) fakeapi.Reply {
	r := fakeapi.Reply{Stop: "end_turn"}
	for _, t := range texts {
		r.Content = append(r.Content, fakeapi.Block{Type: "text", Text: t})
	}
	return r
}

// think ends an answer with a block of thinking.
func think(r fakeapi.Reply) fakeapi.Reply {
	r.Content = append(r.Content, fakeapi.Block{Type: "thinking", Thinking: "hm", Signature: "c2ln"})
	return r
}

func stopped(r fakeapi.Reply, why string) fakeapi.Reply { r.Stop = why; return r }

var calls struct {
	sync.Mutex
	n int
}

func call(name string, input map[string]any) fakeapi.Block {
	calls.Lock()
	defer calls.Unlock()
	calls.n++
	return fakeapi.Block{Type: "tool_use", ID: fmt.Sprintf("toolu_honest_%d", calls.n), Name: name, Input: input}
}

func use(blocks ...fakeapi.Block) fakeapi.Reply {
	return fakeapi.Reply{Content: blocks, Stop: "tool_use"}
}

func bash(command string) fakeapi.Block {
	return call("Bash", map[string]any{"command": command, "description": "a step"})
}

// fromMain reports whether a request is one of Claude's main conversation.
func fromMain(q fakeapi.Request) bool {
	return q.Header.Get("X-Claude-Code-Agent-Id") == "" && strings.Contains(q.Body, `"input_schema"`)
}

// answers gives the main conversation one answer after the other, and everybody
// else side.
func answers(side fakeapi.Reply, main ...fakeapi.Reply) func(fakeapi.Request) *fakeapi.Reply {
	var mu sync.Mutex
	n := 0
	return func(q fakeapi.Request) *fakeapi.Reply {
		if !fromMain(q) {
			return &side
		}
		mu.Lock()
		defer mu.Unlock()
		n++
		return &main[min(n, len(main))-1]
	}
}

// honest is a run that nobody tampers with.
type honest struct {
	replies []fakeapi.Reply
	side    fakeapi.Reply
	reply   func(fakeapi.Request) *fakeapi.Reply
	faults  []fakeapi.Fault
	h       agent.Headless
	key     string
	files   map[string]string
	prompt  string
	want    agent.Conclusion // "" = success
	tools   string           // is in the tools' results
	sent    string           // is in a request that reached the API
}

func picture(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewRGBA(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

const document = "%PDF-1.1\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n" +
	"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"

func (c honest) run(t *testing.T) {
	t.Helper()
	api := &fakeapi.Server{Reply: c.reply, Faults: c.faults}
	if c.reply == nil {
		api.Reply = answers(c.side, c.replies...)
	}
	key := c.key
	if key == "" {
		key = realKey
	}
	turns, budget := c.h.Limits()
	b := newBenchWith(t, api, key, credproxy.Limits{Turns: turns, BudgetUSD: budget})
	for name, text := range c.files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(b.work, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(b.work, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	prompt := c.prompt
	if prompt == "" {
		prompt = "hi"
	}
	r := b.claude(t, c.h, prompt)
	want := c.want
	if want == "" {
		want = agent.Success
	}
	if r.outcome.Conclusion != want {
		t.Errorf("outcome %+v, want %s; code %d\nlast answer %+v\nrefused %q\n%s\n%s", r.outcome, want, r.code, b.proxy.LastAnswer(), b.refused,
			r.stdout[max(0, len(r.stdout)-6000):], r.stderr)
	}
	for _, refused := range b.refused {
		if !strings.Contains(refused, "cut short") { // the script breaks answers
			t.Errorf("the proxy refused %s", refused)
		}
	}
	if !strings.Contains(r.toolResults(), c.tools) {
		t.Errorf("%q is not in the tools' results: %.2000q", c.tools, r.toolResults())
	}
	sent := c.sent == ""
	for _, q := range b.api.Requests() {
		sent = sent || strings.Contains(q.Body, c.sent)
	}
	if !sent {
		t.Errorf("no request holds %s", c.sent)
	}
}
