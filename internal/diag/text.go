package diag

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Sources returns the text of a file that findings name, or nil when it is not
// known.
type Sources func(file string) []byte

// WriteText prints findings as "file:line:col: severity: message [RULE]" with
// the hint on an indented line of its own.
func WriteText(w io.Writer, findings []Finding) error {
	return WriteExcerpts(w, findings, func(string) []byte { return nil })
}

// WriteExcerpts prints findings like WriteText and shows below each the line
// that it is about, with what is wrong underlined. Text from files is
// shown with control characters made visible, so that it can neither drive a
// terminal nor hide itself.
func WriteExcerpts(w io.Writer, findings []Finding, sources Sources) error {
	var b strings.Builder
	lines := map[string][]string{}
	for _, f := range findings {
		if _, ok := lines[f.File]; !ok {
			lines[f.File] = strings.Split(strings.TrimPrefix(string(sources(f.File)), "\ufeff"), "\n")
		}
		fmt.Fprintf(&b, "%s:%d:%d: %s: %s [%s]\n", Unmasked(f.File), f.Line, f.Column, f.Severity, Unmasked(f.Message), f.Rule)
		if of := lines[f.File]; f.Line >= 1 && f.Line <= len(of) {
			excerpt(&b, of[f.Line-1], f)
		}
		if f.Hint != "" {
			fmt.Fprintf(&b, "    hint: %s\n", Unmasked(f.Hint))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Excerpts are cut to a window around the finding: a file can be one line of a
// megabyte.
const (
	windowBefore = 60 // bytes
	windowLength = 160
)

func excerpt(b *strings.Builder, line string, f Finding) {
	line = strings.TrimRight(line, "\r")
	if line == "" {
		return
	}
	start := min(max(f.Column-1, 0), len(line))
	end := len(line)
	if f.EndLine == f.Line {
		end = min(max(f.EndColumn-1, start), len(line))
	}
	from, to := 0, len(line)
	if start > windowBefore && len(line) > windowLength {
		from = boundary(line, start-windowBefore)
	}
	if to-from > windowLength {
		to = boundary(line, from+windowLength)
	}
	end = min(end, to)
	left, right := "", ""
	if from > 0 {
		left = "…"
	}
	if to < len(line) {
		right = "…"
	}
	before, _ := display(line[from:start])
	marked, width := display(line[start:end])
	after, _ := display(line[end:to])
	gutter := fmt.Sprintf("%5d | ", f.Line)
	fmt.Fprintf(b, "%s%s%s%s%s%s\n", gutter, left, before, marked, after, right)
	fmt.Fprintf(b, "%s| %s%s^%s\n", strings.Repeat(" ", 6), strings.Repeat(" ", len([]rune(left))), blank(before),
		strings.Repeat("~", max(width-1, 0)))
}

// boundary moves i back to where a character starts.
func boundary(s string, i int) int {
	for i > 0 && i < len(s) && !utf8.RuneStart(s[i]) {
		i--
	}
	return min(i, len(s))
}

// blank replaces what is shown by white space of the same width; tabs stay, so
// that both lines reach the same column whatever a tab means.
func blank(shown string) string {
	var b strings.Builder
	for _, r := range shown {
		if r == '\t' {
			b.WriteRune(r)
			continue
		}
		b.WriteString(strings.Repeat(" ", columnsOf(r)))
	}
	return b.String()
}

// display makes a part of a line fit to be shown and says how many columns it
// takes; a tab counts for one.
func display(s string) (shown string, columns int) {
	var b strings.Builder
	for _, r := range s {
		part := string(r)
		if r != '\t' {
			part = Unmasked(part)
		}
		b.WriteString(part)
		for _, p := range part {
			columns += columnsOf(p)
		}
	}
	return b.String(), columns
}

// Unmasked writes control characters and those that change the direction or
// take no place as <U+XXXX>.
func Unmasked(s string) string {
	if !strings.ContainsFunc(s, hidden) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			fmt.Fprintf(&b, "<U+%04X>", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func hidden(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
}

// columnsOf is how many columns of a terminal a character takes (Unicode TR 11).
func columnsOf(r rune) int {
	switch kind := width.LookupRune(r).Kind(); {
	case unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Me, r):
		return 0
	case kind == width.EastAsianWide || kind == width.EastAsianFullwidth:
		return 2
	}
	return 1
}
