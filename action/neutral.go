package action

import (
	"regexp"
	"strings"
	"unicode"
)

// linePrefix stands before every line of agent text in the log. The runner
// takes "::" for a command only at the beginning of a line.
const linePrefix = "| "

// lineBreaks end a line for some reader of a log, as a line feed does.
const lineBreaks = "\r\v\f\u0085\u2028\u2029"

// terminalSequence matches the escape sequences of ECMA-48: CSI, and strings
// such as OSC up to their end.
var terminalSequence = regexp.MustCompile("\x1b\\[[0-?]*[ -/]*[@-~]|\x1b[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)?|\u009b[0-?]*[ -/]*[@-~]")

// Neutral returns text as lines that GitHub's runner prints and does not
// execute, each ending in "\n". The runner reads two forms of commands:
// "::name::" at the beginning of a line, which the prefix prevents, and the
// older "##[name]" anywhere in a line, which is broken up by a space.
func Neutral(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(lines(text), "\n") {
		b.WriteString(linePrefix)
		b.WriteString(strings.TrimRight(line, " \t"))
		b.WriteByte('\n')
	}
	return b.String()
}

// NeutralLine is Neutral for text that has to stay on one line, such as a
// command in a list: without the prefix and the line end, and no longer than
// limit runes.
func NeutralLine(text string, limit int) string {
	runes := []rune(strings.Join(strings.Fields(lines(text)), " "))
	if len(runes) > limit {
		runes = append(runes[:max(limit-1, 0)], '…')
	}
	return strings.TrimLeft(string(runes), ":")
}

// lines returns text with "\n" as its only line end, without terminal
// sequences, without characters that have no width or turn the reading
// direction, and with every "#[" parted.
//
// Characters without width go because the runner looks for its prefix with a
// comparison that may skip them: "##\u200b[" would be found as "##[".
func lines(text string) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	text = terminalSequence.ReplaceAllString(text, "")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.TrimSuffix(text, "\n")
	var b strings.Builder
	b.Grow(len(text))
	last := rune(0) // the last rune written that is no combining mark
	for _, r := range text {
		switch {
		case strings.ContainsRune(lineBreaks, r):
			r = '\n'
		case r == '\n' || r == '\t':
		case unicode.In(r, unicode.C, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
			continue // control, format, private, unassigned, ignorable
		case unicode.Is(unicode.M, r):
			b.WriteRune(r)
			continue
		}
		if r == '[' && last == '#' {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
		last = r
	}
	return b.String()
}
