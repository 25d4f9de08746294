package jsonc

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/org/claude-sandbox/internal/diag"
)

// maxErrors bounds the errors of one text. A text with more has another format.
const maxErrors = 20

// explainAll returns the errors of a text, the first one being err. After an
// error with exactly one possible repair, in its own place, it reads the rest as
// repaired. The first error that could mean several things is the last one
// reported, because later ones would be guesses. Nothing else is taken from a
// repaired text.
func (d *Document) explainAll(skip int, text []byte, err error) []diag.Finding {
	var found []diag.Finding
	repaired, grown := text, 0 // grown: by how much repaired is longer, up to the error
	end := -1                  // of the last repaired place, in text
	for err != nil && len(found) < maxErrors {
		at, message := errorPlace(repaired, err)
		if end >= 0 && bytes.IndexByte(text[end:max(end, min(at-grown, len(text)-1))], '\n') < 0 { // the last line end is ours
			break // one line with two errors may be one mistake that is not what it seemed
		}
		found = append(found, d.explain(skip, text, at-grown, message))
		e, ok := repair(repaired, at, message)
		if !ok {
			break
		}
		end = e.End - grown
		grown += len(e.Text) - (e.End - e.Start)
		repaired = append(append(append([]byte{}, repaired[:e.Start]...), e.Text...), repaired[e.End:]...)
		_, err = hujson.Parse(bytes.Clone(repaired))
	}
	return found
}

var hujsonError = regexp.MustCompile(`(?s)^hujson: line (\d+), column (\d+): (.*)$`)

// errorPlace splits the parser's error into the offset and what is wrong there.
func errorPlace(text []byte, err error) (at int, message string) {
	m := hujsonError.FindStringSubmatch(err.Error())
	if m == nil {
		return 0, err.Error()
	}
	line, _ := strconv.Atoi(m[1])
	column, _ := strconv.Atoi(m[2])
	return min(newDocument("", text).lines[line-1]+column-1, len(text)), m[3]
}

// The text that must follow an error for its repair to be the only one.
var (
	otherName    = regexp.MustCompile(`^(?:'([^'"\\\x00-\x1f]*)'|([A-Za-z_$][\w$.-]*))[ \t]*:[^/]`) // no address
	nameAndColon = regexp.MustCompile(`^"(?:[^"\\\n]|\\.)*"[ \t]*:`)
	element      = regexp.MustCompile(`^"(?:[^"\\\n]|\\.)*"[ \t]*(?:[,\]\r\n]|//)`)
	singleQuoted = regexp.MustCompile(`^'([^'"\\\x00-\x1f]*)'[ \t]*(?:[:,}\]\r\n]|//|/\*)`)
	afterWord    = regexp.MustCompile(`^[ \t]*(?:[,}\]]+[ \t]*(?:[\r\n]|//)|\r?\n[ \t]*[}\]])`)
	colon        = regexp.MustCompile(`^[ \t]*:[^/]`) // and no address
	secondComma  = regexp.MustCompile(`^,[ \t]*(?:[\r\n]|//)`)
	hashComment  = regexp.MustCompile(`^#+[ \t]*[A-Za-z][^\[\]{}"'\n]*\n`)
)

// repair returns the one edit that corrects the error at an offset of a text that is
// well formed up to there; not ok where there could be two.
func repair(text []byte, at int, message string) (e Edit, ok bool) {
	rest, last := text[at:], significant(text[:at])
	if last < 0 || len(rest) == 0 {
		return e, false
	}
	before := text[last]
	word, isLiteral := strings.CutPrefix(message, "invalid literal: ")
	switch {
	case isLiteral && rest[0] == '"':
		return repairString(rest, at)
	case isLiteral && colon.Match(rest[len(word):]) && (before == '{' || before == ','):
		return Edit{at, at + len(word), Quote(word)}, true
	case isLiteral:
		return Edit{at, at + len(word), "null"}, before == ':' && afterWord.Match(rest[len(word):]) && settled(lineOf(text, at))
	case rest[0] == '#':
		apart := strings.ContainsRune(" \t\n", rune(text[at-1]))
		return Edit{at, at + 1, "//"}, before != ':' && apart && hashComment.Match(rest)
	case strings.Contains(message, "after object value") && otherName.Match(rest):
		m := otherName.FindSubmatch(rest)
		written, name := len(m[1])+2, m[1]
		if len(m[2]) > 0 {
			written, name = len(m[2]), m[2]
		}
		return Edit{at, at + written, "," + Quote(string(name))}, siblings(text, last, at)
	case strings.Contains(message, "after object value"):
		return Edit{at, at, ","}, nameAndColon.Match(rest) && siblings(text, last, at)
	case strings.Contains(message, "after array value"):
		return Edit{at, at, ","}, element.Match(rest) && siblings(text, last, at)
	case !strings.Contains(message, "at start of value"):
		return e, false
	case rest[0] == '\'':
		if m := singleQuoted.FindSubmatch(rest); m != nil {
			return Edit{at, at + len(m[1]) + 2, `"` + string(m[1]) + `"`}, true
		}
	case rest[0] == ',' && before == ',':
		line := lineOf(text, at)
		return Edit{at, at + 1, ""}, secondComma.Match(rest) && settled(line)
	}
	return e, false
}

// siblings reports whether what ends at last and what begins at at look like
// neighbours between which a comma is missing, and not like two levels of which
// one has lost its bracket, or has one too many: they begin on lines of one
// indentation or share one.
func siblings(text []byte, last, at int) bool {
	line, next := lineOf(text, last), lineOf(text, at)
	ends := text[last] == '}' || text[last] == ']'
	if bytes.IndexByte(text[last:at], '\n') < 0 {
		return !ends
	}
	indent := func(line []byte) int { return len(line) - len(bytes.TrimLeft(line, " \t")) }
	return indent(line) == indent(next) && (!ends || settled(line))
}

// settled reports whether a line closes what it opens and no more, but for one
// bracket of another line that it begins with: then its brackets are where they
// seem to be.
func settled(line []byte) bool {
	line = bytes.TrimLeft(line, " \t")
	code := line
	if code[0] == '}' || code[0] == ']' {
		code = code[1:]
	}
	return !bytes.HasPrefix(line, []byte(",")) && bytes.Count(code, []byte("{")) == bytes.Count(code, []byte("}")) &&
		bytes.Count(code, []byte("[")) == bytes.Count(code, []byte("]"))
}

// lineOf returns the line of an offset up to its end.
func lineOf(text []byte, offset int) []byte {
	start := bytes.LastIndexByte(text[:offset], '\n') + 1
	line, _, _ := bytes.Cut(text[start:], []byte("\n"))
	return line
}

// repairString takes a string that is wrong inside for an empty one, unless it
// spans lines: then its end is missing, in an unknown place.
func repairString(rest []byte, at int) (e Edit, ok bool) {
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	line, _, _ = bytes.Cut(line, []byte("\r"))
	end, ok := endOfString(line, 0)
	return Edit{at, at + end, `""`}, ok
}

// significant returns the offset of the last byte of a well-formed beginning
// that is neither white space nor part of a comment; -1 when there is none. Of a
// string it is the quote.
func significant(text []byte) (last int) {
	last = -1
	for t := range tokens(text, 0) {
		if t.kind == quoted || t.kind == other {
			last = t.end - 1
		}
	}
	return last
}
