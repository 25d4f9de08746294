package diag

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/visible"
)

// Severity ranks a finding.
type Severity string

// The severities, from worst to mildest.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
	SeverityNote    Severity = "note"
)

// AtLeast reports whether s is as bad as limit or worse.
func (s Severity) AtLeast(limit Severity) bool { return s.rank() <= limit.rank() }

func (s Severity) rank() int {
	switch s {
	case SeverityError:
		return 0
	case SeverityWarning:
		return 1
	}
	return 2
}

// Finding is one problem at one place. Its JSON form is a contract
// (schemaVersion 1).
type Finding struct {
	Rule      string   `json:"rule"`      // stable id such as "SBX402"
	Severity  Severity `json:"severity"`  // error, warning or note
	File      string   `json:"file"`      // as the user named it; "-" for standard input
	Line      int      `json:"line"`      // 1-based
	Column    int      `json:"column"`    // 1-based, in bytes
	EndLine   int      `json:"endLine"`   // line of the last byte
	EndColumn int      `json:"endColumn"` // column after the last byte
	Pointer   string   `json:"pointer"`   // RFC 6901 pointer into the file; "" for the whole file
	Message   string   `json:"message"`   // what is wrong; lower case, no full stop
	Hint      string   `json:"hint"`      // how to correct it; may be empty
}

// maxMessage bounds what a finding says: a name of somebody's file can be very long, and stand in very many findings.
const maxMessage = 1000

// Short returns what a finding says without its middle, if it is too long.
func Short(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessage/2], "") + "…" + strings.ToValidUTF8(text[len(text)-maxMessage/2:], "")
}

// Sort orders findings as Compare does.
func Sort(findings []Finding) { slices.SortStableFunc(findings, Compare) }

// Compare orders findings by file, position and rule.
func Compare(a, b Finding) int {
	return cmp.Or(
		cmp.Compare(a.File, b.File),
		cmp.Compare(a.Line, b.Line),
		cmp.Compare(a.Column, b.Column),
		cmp.Compare(a.Rule, b.Rule),
		cmp.Compare(a.Message, b.Message),
	)
}

// Worst returns the number of findings at limit or worse.
func Worst(findings []Finding, limit Severity) int {
	n := 0
	for _, f := range findings {
		if f.Severity.AtLeast(limit) {
			n++
		}
	}
	return n
}

// Problem is why something could not be checked.
type Problem struct {
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	File    string `json:"-"` // the file or folder, as findings name it; "" = not known
}

// text is the whole of a problem for a person.
func (p Problem) text() string {
	if p.Hint == "" {
		return Unmasked(p.Message)
	}
	return Unmasked(p.Message) + "\nhint: " + Unmasked(p.Hint)
}

// WriteJSON prints findings in the versioned JSON form, with what could not be
// checked.
func WriteJSON(w io.Writer, findings []Finding, errors []Problem) error {
	if findings == nil {
		findings = []Finding{} // an empty list, never null
	}
	return visible.WriteJSON(w, struct {
		SchemaVersion int       `json:"schemaVersion"`
		Findings      []Finding `json:"findings"`
		Errors        []Problem `json:"errors,omitempty"`
	}{1, findings, errors}, "  ")
}

// hinted is an error with advice for the user.
type hinted struct {
	err  error
	hint string
}

func (e *hinted) Error() string { return e.err.Error() }
func (e *hinted) Unwrap() error { return e.err }

// WithHint attaches to err one sentence of advice. The command line
// prints it on a "hint:" line. WithHint(nil, …) is nil.
func WithHint(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &hinted{err, fmt.Sprintf(format, args...)}
}

// OrHint is WithHint for an error without a hint; any other stays as it is.
func OrHint(err error, format string, args ...any) error {
	if err == nil || HintOf(err) != "" {
		return err
	}
	return WithHint(err, format, args...)
}

// HintOf returns the hint nearest to the surface of err, or "".
func HintOf(err error) string {
	var h *hinted
	if errors.As(err, &h) {
		return h.hint
	}
	return ""
}

// WriteError prints err for a person, in one line, and its hint in another:
// "PROGRAM: error: …" and "PROGRAM: hint: …".
func WriteError(w io.Writer, program string, err error) {
	fmt.Fprintf(w, "%s: error: %s\n", program, visible.Folded(err.Error()))
	if hint := HintOf(err); hint != "" {
		fmt.Fprintf(w, "%s: hint: %s\n", program, visible.Folded(hint))
	}
}

// FirstError is the first finding that is an error, with its place, nil when none
// is: for those who need a file rather than check it.
func FirstError(findings []Finding) error {
	for _, f := range findings {
		if f.Severity != SeverityError {
			continue
		}
		err := fmt.Errorf("%s:%d:%d: %s", f.File, f.Line, f.Column, f.Message)
		if f.Hint != "" {
			err = WithHint(err, "%s", f.Hint)
		}
		return err
	}
	return nil
}
