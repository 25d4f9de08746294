package transcript

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/internal/visible"
)

// Bounds of what is shown of a tool's answer: the transcript has all of it.
const (
	maxResultLines = 8
	maxResultLine  = 400 // bytes
)

// Printer writes events as lines for people. It is not safe for concurrent use.
type Printer struct {
	out  io.Writer
	said string // the assistant's last text
	err  error
	init bool
}

// New returns a Printer that writes to out, each event at once.
func New(out io.Writer) *Printer { return &Printer{out: out} }

// Event shows one event. It ignores those that a reader can do without.
func (p *Printer) Event(ev agent.Event) {
	switch e := ev.(type) {
	case agent.Init:
		if !p.init { // claude repeats it after a task in the background
			p.write(fmt.Sprintf("Claude Code %s, model %s", e.Version, e.Model), "")
		}
		p.init = true
	case agent.Typed:
		p.write(e.Text, "> ")
	case agent.Text:
		p.said = e.Text
		p.write(e.Text, "")
	case agent.ToolUse:
		p.write(strings.TrimSuffix("● "+e.Name+": "+e.Argument, ": "), "")
	case agent.ToolResult:
		p.result(e)
	case agent.Denial:
		p.write("✗ "+e.ToolName+" was refused: "+e.Message, "  ")
	case agent.APIRetry:
		p.write("… "+e.String(), "  ")
	case agent.Result:
		if text := strings.Join(append([]string{e.Text}, e.Errors...), "\n"); strings.TrimSpace(text) != strings.TrimSpace(p.said) {
			p.write(text, "")
		}
	}
}

// Err is the first error of writing, or nil.
func (p *Printer) Err() error { return p.err }

// result shows the beginning of a tool's answer.
func (p *Printer) result(e agent.ToolResult) {
	lines := strings.Split(strings.TrimSpace(e.Text), "\n")
	more := len(lines) - maxResultLines
	if more > 1 { // the note would take the place of one line
		lines = append(lines[:maxResultLines], fmt.Sprintf("… %d more lines", more))
	}
	for i, line := range lines {
		if len(line) > maxResultLine {
			end := maxResultLine
			for end > 0 && !utf8.RuneStart(line[end]) {
				end--
			}
			lines[i] = line[:end] + "…"
		}
	}
	if e.IsError {
		lines[0] = "✗ " + lines[0]
	}
	p.write(strings.Join(lines, "\n"), "    ")
}

// write shows the lines of text in one piece, each behind indent.
func (p *Printer) write(text, indent string) {
	text = strings.TrimSpace(text)
	if text == "" || p.err != nil {
		return
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(strings.TrimRight(indent+visible.Line(strings.TrimRight(line, "\r\n")), " ") + "\n")
	}
	_, p.err = io.WriteString(p.out, out.String())
}

// Print shows the whole stream-json output that is in r. It errs when r cannot be
// read or out cannot be written.
func Print(out io.Writer, r io.Reader) error {
	p := New(out)
	s := agent.NewScanner(io.Discard, p.Event)
	if _, err := io.Copy(s, r); err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	return p.Err()
}
