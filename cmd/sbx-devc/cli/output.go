package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/visible"
)

// results is standard output. It remembers whether something was lost, which
// not every command asks after each line. It is safe for concurrent use as far
// as to is.
type results struct {
	to     io.Writer
	mu     sync.Mutex
	failed error // of the first write that failed
}

func (r *results) Write(p []byte) (int, error) {
	n, err := r.to.Write(p)
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.failed == nil {
			r.failed = err
		}
	}
	return n, err
}

// Fd makes a terminal behind it one.
func (r *results) Fd() uintptr {
	if f, ok := r.to.(interface{ Fd() uintptr }); ok {
		return f.Fd()
	}
	return ^uintptr(0)
}

// lost returns why something was lost, or nil.
func (r *results) lost() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// wantsJSON reports whether a command line asks for JSON. It looks at the words
// alone, because they may be why no flag could be read.
func wantsJSON(args []string) bool {
	for i, arg := range args {
		switch {
		case arg == "--":
			return false
		case arg == "--json", arg == "--format=json", arg == "--format" && i+1 < len(args) && args[i+1] == "json":
			return true
		}
	}
	return false
}

// answerError is the answer in JSON of a command that has none: one object on
// one line, without the keys that a result would have.
func answerError(to io.Writer, err error) {
	_ = visible.WriteJSON(to, struct { // a stream that cannot be written has been spoken of
		SchemaVersion int            `json:"schemaVersion"`
		Errors        []diag.Problem `json:"errors"`
	}{1, []diag.Problem{Problem(err)}}, "")
}

// Problem is an error as JSON shows it.
func Problem(err error) diag.Problem {
	err = WithHint(err)
	return diag.Problem{Message: err.Error(), Hint: diag.HintOf(err)}
}

// Shown is where text of a repository's or the agent's goes: on a terminal its
// control characters are shown as text, a pipe or file gets every byte as it is.
func Shown(w io.Writer) io.Writer {
	if IsTerminal(w) {
		return visible.NewWriter(w, "")
	}
	return w
}

// PrintJSON writes v as JSON for programs that people read along with.
func PrintJSON(w io.Writer, v any) error {
	return visible.WriteJSON(w, v, "  ")
}

// UnknownValue is the error of a flag whose value is none of the accepted ones.
func UnknownValue(flag, value string, accepted ...string) error {
	return diag.WithHint(fmt.Errorf("unknown --%s %q", flag, value), "accepted: %s", strings.Join(accepted, ", "))
}

// Say shows lines for people.
func (a *App) Say(lines []string) {
	for _, line := range lines {
		fmt.Fprintf(a.Stderr, "sbx-devc: %s\n", line)
	}
}

// SayLine prints a line for people, in which the agent's words stay one line.
func (a *App) SayLine(format string, args ...any) {
	fmt.Fprintln(a.Stderr, "sbx-devc: "+visible.Line(fmt.Sprintf(format, args...)))
}

// silentEngine is how long an engine may say nothing before the person hears of it.
const silentEngine = 2 * time.Second

// AwaitEngine begins to wait for answers of the container engine, which the person hears of
// when it takes long. The caller calls stop when they are there.
func (a *App) AwaitEngine() (stop func() bool) {
	return time.AfterFunc(silentEngine, func() { a.SayLine("waiting for the container engine to answer") }).Stop
}
