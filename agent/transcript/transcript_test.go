package transcript

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/agent"
)

func shown(events ...agent.Event) string {
	var out strings.Builder
	p := New(&out)
	for _, e := range events {
		p.Event(e)
	}
	return out.String()
}

func TestAConversationAsPeopleReadIt(t *testing.T) {
	many := strings.Repeat("line\n", 20)
	got := shown(
		agent.Init{Version: "2.1.329", Model: "opus"}, agent.Init{Version: "2.1.329", Model: "opus"},
		agent.Typed{Text: "fix\nit"}, agent.Text{Text: "I look.\n\nThen I fix it."},
		agent.ToolUse{ID: "1", Name: "Bash", Argument: "npm test"}, agent.ToolResult{ID: "1", IsError: true, Text: "1 failing\n  at x\n"},
		agent.ToolUse{ID: "2", Name: "TodoWrite"}, agent.ToolResult{ID: "2"},
		agent.ToolUse{ID: "3", Name: "Read", Argument: "a.go"}, agent.ToolResult{ID: "3", Text: many},
		agent.Denial{ToolName: "Bash", Message: "no"},
		agent.APIRetry{Attempt: 1, MaxRetries: 10, Delay: time.Second, Status: 529, Error: "overloaded"},
		agent.Text{Text: "Fixed."}, agent.Result{Text: "Fixed."},
	)
	want := `Claude Code 2.1.329, model opus
> fix
> it
I look.

Then I fix it.
● Bash: npm test
    ✗ 1 failing
      at x
● TodoWrite
● Read: a.go
` + strings.Repeat("    line\n", 8) + `    … 12 more lines
  ✗ Bash was refused: no
  … the model API answered 529 (overloaded): try 1 of 10 in 1s
Fixed.
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := shown(agent.Text{Text: "Half of it."}, agent.Result{Errors: []string{"the limit"}}); got != "Half of it.\nthe limit\n" {
		t.Errorf("%q", got)
	}
}

// Attack: every text of the agent moves the cursor, sets the title or the
// clipboard, or overwrites the line before.
func TestAttackTheAgentsWordsDriveTheTerminal(t *testing.T) {
	evil := "a\x1b]52;c;ZXZpbA==\x07\rb\x1b[2J\u009b31m\u202e"
	got := shown(
		agent.Init{Version: evil, Model: evil}, agent.Text{Text: evil}, agent.ToolUse{ID: evil, Name: evil, Argument: evil},
		agent.ToolResult{ID: evil, Text: evil + "\n" + strings.Repeat("x", 500) + evil}, agent.Denial{ToolName: evil, Message: evil},
		agent.Typed{Text: evil}, agent.APIRetry{Status: 500, Error: evil}, agent.Result{Text: evil + "!", Errors: []string{evil}},
	)
	s := NewSilence(time.Unix(0, 0))
	s.Hear(time.Unix(0, 0), agent.ToolUse{ID: "1", Name: evil, Argument: evil})
	got += s.Line(time.Unix(60, 0))
	if strings.Count(got, `\x1b`) < 10 || strings.ContainsAny(got, "\x1b\a\r\u009b\u202e") {
		t.Errorf("%q", got)
	}
}

func TestSilenceSaysWhatARunWaitsFor(t *testing.T) {
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0) }
	s := NewSilence(at(0))
	for _, c := range []struct {
		second int64
		hear   agent.Event
		want   string
	}{
		{9, nil, ""},
		{10, nil, "… still starting (10s)"},
		{11, nil, ""},
		{21, nil, "… still starting (21s)"},
		{22, agent.Init{}, ""},
		{33, nil, "… waiting for the model (11s)"},
		{34, agent.ToolUse{ID: "1", Name: "Bash", Argument: "npm test"}, ""},
		{34, agent.ToolUse{ID: "2", Name: "Read"}, ""},
		{35, agent.ToolResult{ID: "2"}, ""},
		{45, nil, "… Bash: npm test is at work (10s)"},
		{46, agent.ToolResult{ID: "1"}, ""},
		{56, nil, "… waiting for the model (10s)"},
		{66, nil, "… waiting for the model (20s)"},
		{76, nil, ""},
		{86, nil, "… waiting for the model (40s)"},
	} {
		if c.hear != nil {
			s.Hear(at(c.second), c.hear)
		}
		if got := s.Line(at(c.second)); got != c.want {
			t.Errorf("second %d: %q, want %q", c.second, got, c.want)
		}
	}
}

// Output of the real Claude Code is readable.
func TestPrintShowsRealOutput(t *testing.T) {
	files, err := filepath.Glob("../testdata/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := Print(&out, f); err != nil || out.Len() == 0 {
			t.Errorf("%s: %q %v", file, out.String(), err)
		}
		f.Close()
	}
	gone := errors.New("gone")
	if err := Print(failing{gone}, strings.NewReader(`{"type":"system","subtype":"init"}`)); !errors.Is(err, gone) {
		t.Error(err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
