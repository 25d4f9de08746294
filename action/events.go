package action

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/internal/redact"
)

// events prints what the agent does, one line each, and counts its tools. It
// is safe for concurrent use with Write, which takes what the sandbox says.
type events struct {
	mu     sync.Mutex
	out    io.Writer
	clean  *redact.Redactor
	begun  []byte // a line of the sandbox's own that has not ended
	full   bool   // print what tools answer
	model  string
	claude string   // its version
	steps  []string // what the agent did, a line each
	more   int      // steps that are not kept
	failed map[string]int
	tools  []toolCount
	calls  map[string]int // tool call -> index in tools
	retry  int

	rules    []string // of the input allowed_tools
	misnamed []string // warnings about them
}

// toolCount counts the calls of one tool.
type toolCount struct {
	name          string
	calls, failed int
}

// maxTools and maxCalls bound what a hostile agent can make us remember.
const (
	maxTools = 100
	maxCalls = 10_000
)

// maxShown bounds what is printed of a tool's answer, in bytes.
const maxShown = 8 << 10

// Bounds of the steps that the summary shows.
const (
	maxSteps = 150
	maxStep  = 160 // characters
)

// maxBegun bounds a line that does not end, in bytes.
const maxBegun = 64 << 10

// newEvents returns events that print to out what clean leaves of them. A
// secret goes before anything is cut to its length: half of one would not be
// found any more.
func newEvents(out io.Writer, clean *redact.Redactor) *events {
	return &events{out: out, clean: clean, calls: map[string]int{}, failed: map[string]int{}}
}

// hear prints one event. Everything in it was written by the agent.
func (e *events) hear(event agent.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch event := event.(type) {
	case agent.Init:
		e.model, e.claude = event.Model, event.Version
		e.misnamed = misnamed(e.rules, event.Tools)
		e.print(fmt.Sprintf("Claude Code %s, model %s", event.Version, event.Model))
	case agent.Text:
		e.print(event.Text)
	case agent.ToolUse:
		e.count(event)
		line := fmt.Sprintf("%s: %s", e.line(event.Name, 60), e.line(event.Argument, 200))
		if len(e.steps) < maxSteps {
			e.failed[event.ID] = len(e.steps)
			e.steps = append(e.steps, NeutralLine(line, maxStep))
		} else {
			e.more++
		}
		e.print(line)
	case agent.ToolResult:
		if event.IsError {
			if i, ok := e.calls[event.ID]; ok {
				e.tools[i].failed++
			}
			if i, ok := e.failed[event.ID]; ok {
				e.steps[i] += " — failed"
				delete(e.failed, event.ID)
			}
			e.print("  failed: " + e.line(event.Text, 300))
		}
		if e.full {
			e.print(truncate(e.clean.String(event.Text), maxShown))
		}
	case agent.APIRetry:
		e.retry++
		e.print(e.line(event.String(), 300))
	}
}

// line is NeutralLine without secrets.
func (e *events) line(text string, limit int) string { return NeutralLine(e.clean.String(text), limit) }

// Write prints lines of the sandbox itself. They may quote the agent or a tool,
// so they are made neutral too. A line is printed when it has ended: in two
// pieces a secret would not be found.
func (e *events) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.begun = append(e.begun, p...)
	whole := bytes.LastIndexByte(e.begun, '\n') + 1
	if whole == 0 && len(e.begun) > maxBegun {
		whole = len(e.begun)
	}
	if whole > 0 {
		e.print(string(e.begun[:whole]))
		e.begun = append(e.begun[:0], e.begun[whole:]...)
	}
	return len(p), nil
}

// flush prints a line that has begun.
func (e *events) flush() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.begun) > 0 {
		e.print(string(e.begun))
		e.begun = nil
	}
}

// mute ends the printing.
func (e *events) mute() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.out = io.Discard
}

// print is best effort: a log that cannot be written must not end the run.
func (e *events) print(text string) { _, _ = io.WriteString(e.out, Neutral(text)) }

func (e *events) count(use agent.ToolUse) {
	i := slices.IndexFunc(e.tools, func(t toolCount) bool { return t.name == use.Name })
	if i < 0 {
		if len(e.tools) == maxTools {
			return
		}
		i = len(e.tools)
		e.tools = append(e.tools, toolCount{name: use.Name})
	}
	e.tools[i].calls++
	if len(e.calls) < maxCalls {
		e.calls[use.ID] = i
	}
}

// shown are the steps that are kept, and how many are not.
func (e *events) shown() (steps []string, more int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.steps), e.more
}

// toolLine sums up the tools, such as "Bash 3 (1 failed), Read 2".
func (e *events) toolLine() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var parts []string
	for _, t := range e.tools {
		part := fmt.Sprintf("%s %d", NeutralLine(t.name, 60), t.calls)
		if t.failed > 0 {
			part += fmt.Sprintf(" (%d failed)", t.failed)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

// misnamed says which rules name a tool in other letters than Claude Code, so that they allow
// nothing. Other unknown names may be tools that it has under some conditions only.
func misnamed(rules, tools []string) (warnings []string) {
	for _, rule := range rules {
		name, _, _ := strings.Cut(rule, "(")
		i := slices.IndexFunc(tools, func(tool string) bool { return strings.EqualFold(tool, name) })
		if i >= 0 && !slices.Contains(tools, name) {
			warnings = append(warnings, fmt.Sprintf("allowed_tools has %s, and Claude Code's tool is %s: the rule allows nothing", name, tools[i]))
		}
	}
	return warnings
}

// warnings are about what the agent said of itself.
func (e *events) warnings() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.misnamed
}
