package dockerfile

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// nodes reads a file with BuildKit's parser. That parser tries a regular expression at each byte of each line, to see
// whether the line goes on, although most instructions are one text, an array, or words between blanks. So the nodes of
// those are made here, and the parser gets the rest, if there is any. A test compares the nodes with those of the file as
// it is, without the comments above them, which mean something only where one is a "# check=".
func nodes(src []byte) (*parser.Result, error) {
	short := abridge(src)
	if len(short.plain) == 0 {
		return parser.Parse(bytes.NewReader(src))
	}
	result := &parser.Result{AST: &parser.Node{}, EscapeToken: parser.DefaultEscapeToken, Warnings: []parser.Warning{}}
	if short.rest() {
		var err error
		if result, err = parser.Parse(bytes.NewReader(short.src)); err != nil {
			return parser.Parse(bytes.NewReader(src)) // what it says may quote the file
		}
	}
	for _, node := range result.AST.Children {
		node.StartLine, node.EndLine = short.lines[node.StartLine], short.lines[node.EndLine]
		node.PrevComment = nil
	}
	for _, w := range result.Warnings {
		w.Location.Start.Line, w.Location.End.Line = short.lines[w.Location.Start.Line], short.lines[w.Location.End.Line]
	}
	all := append(result.AST.Children, short.plain...)
	slices.SortFunc(all, func(a, b *parser.Node) int { return a.StartLine - b.StartLine })
	result.AST.Children, result.AST.StartLine, result.AST.EndLine = all, all[0].StartLine, all[len(all)-1].EndLine
	return result, nil
}

// abridged is a file without the instructions that are plain, and without the comments and blank lines between instructions.
type abridged struct {
	src   []byte
	lines []int // where its lines stand in the whole file, from 1
	plain []*parser.Node
}

// rest reports whether more is left for the parser than one comment, in which it sees nothing.
func (a *abridged) rest() bool {
	return len(a.lines) > 2 || len(a.src) > maxLine || len(a.src) > 0 && a.src[0] != '#'
}

// abridge shortens a file. All that follows where a here-document may begin stays as it is.
func abridge(src []byte) abridged {
	out := abridged{lines: make([]int, 1, 8)}
	if bytes.HasPrefix(src, []byte(byteOrderMark)) || mayDirect(src, "escape") || bytes.Contains(src, []byte("check=")) {
		return out
	}
	short, top := true, true
	for number := 1; len(src) > 0; {
		if !short {
			out.keep(src, number, bytes.Count(src, []byte("\n"))+1)
			break
		}
		raw, joined, lines, whole := cutInstruction(src)
		if bytes.Contains(joined, []byte("<<")) {
			short = false
			continue
		}
		top = top && len(joined) == 0
		keep := !whole || len(joined) > 0 || top && bytes.IndexByte(raw, '=') >= 0 // a directive, perhaps
		if node := plainNode(joined); node != nil && whole {
			node.StartLine, node.EndLine = number, number+lines-1
			out.plain = append(out.plain, node)
		} else if keep {
			out.keep(raw, number, lines)
		}
		src, number = src[len(raw):], number+lines
	}
	return out
}

// keep appends lines of the whole file, which begin at a number there.
func (a *abridged) keep(raw []byte, number, lines int) {
	a.src = append(a.src, raw...)
	for n := range lines {
		a.lines = append(a.lines, number+n)
	}
}

// maxLine is less than the bytes of the longest line that the parser takes.
const maxLine = 32 << 10

// cutInstruction returns the lines of the first instruction of a file, or its first comment or blank line, and the
// instruction in one line as the parser joins it. plain says that it ends, with no blank or very long line inside.
func cutInstruction(src []byte) (raw, joined []byte, lines int, plain bool) {
	at, goesOn, plain := 0, true, true
	for ; goesOn && at < len(src); lines++ {
		line := src[at:]
		if end := bytes.IndexByte(line, '\n'); end >= 0 {
			line = line[:end+1]
		}
		at += len(line)
		text := bytes.TrimRight(line, "\r\n")
		bare := bytes.TrimLeftFunc(text, unicode.IsSpace)
		comment := len(bare) > 0 && bare[0] == '#'
		switch {
		case lines == 0 && comment:
			goesOn = false
		case lines == 0:
			joined, goesOn = continued(bare)
			joined = slices.Clip(joined) // src stays as it is
		case comment:
		case len(bare) == 0:
			plain = false
		default:
			text, goesOn = continued(text)
			joined = append(joined, text...)
		}
		plain = plain && len(line) < maxLine
	}
	return src[:at], joined, lines, plain && !goesOn
}

// continued reports whether a line goes on in the next one, and returns it without what says so.
func continued(line []byte) (text []byte, goesOn bool) {
	text = bytes.TrimRight(line, " \t")
	if n := len(text) - 1; n >= 0 && text[n] == '\\' && (n == 0 || text[n-1] != '\\') {
		return text[:n], true
	}
	return line, false
}

// The parser reads the arguments of these instructions as one text, as words, and as words NAME=VALUE, which may have
// quotes, after their flags. Some may be an array of JSON.
var (
	takeText  = []string{"RUN", "CMD", "ENTRYPOINT", "USER", "WORKDIR", "SHELL", "STOPSIGNAL", "MAINTAINER"}
	takeWords = []string{"FROM", "COPY", "ADD", "EXPOSE", "VOLUME"}
	takePairs = []string{"ENV", "LABEL", "ARG"}
	takeArray = []string{"RUN", "CMD", "ENTRYPOINT", "SHELL", "COPY", "ADD", "VOLUME"}
)

// plainNode is the parser's node of an instruction in one line, without its lines; nil for one that only the parser reads.
func plainNode(joined []byte) *parser.Node {
	line := string(joined)
	words := strings.TrimSpace(line)
	end := strings.IndexFunc(words, isBlank)
	if end < 0 {
		return nil
	}
	name, text := words[:end], strings.TrimLeftFunc(words[end:], isBlank)
	flags, text := cutFlags(text)
	if text == "" || text[0] <= ' ' || text[0] >= utf8.RuneSelf || strings.HasPrefix(text, "--") {
		return nil
	}
	is := func(known string) bool { return strings.EqualFold(name, known) }
	node := &parser.Node{Value: name, Original: line, Flags: flags}
	switch {
	case text[0] == '[':
		words, ok := array(text)
		if !ok || !slices.ContainsFunc(takeArray, is) {
			return nil
		}
		node.Attributes = map[string]bool{"json": true}
		chain(node, slices.Values(words))
	case slices.ContainsFunc(takeText, is):
		node.Next = &parser.Node{Value: text}
	case slices.ContainsFunc(takeWords, is):
		chain(node, strings.FieldsFuncSeq(text, isBlank))
	case slices.ContainsFunc(takePairs, is):
		words, ok := quotedWords(text)
		if !ok {
			return nil
		}
		if !is("ARG") {
			words, ok = namesAndValues(text, words)
		}
		if !ok {
			return nil
		}
		chain(node, slices.Values(words))
	default:
		return nil
	}
	return node
}

// cutFlags returns the flags in front of an instruction's arguments, as far as they have no quotes and the like.
func cutFlags(text string) (flags []string, rest string) {
	flags, rest = []string{}, text
	for strings.HasPrefix(rest, "--") {
		end := strings.IndexFunc(rest, func(c rune) bool { return c <= ' ' || c >= utf8.RuneSelf || strings.ContainsRune("\"'\\", c) })
		if end <= len("--") || rest[end] != ' ' {
			return flags, rest
		}
		flags, rest = append(flags, rest[:end]), strings.TrimLeft(rest[end:], " ")
	}
	return flags, rest
}

// quotedWords cuts a text at its blanks, but for those in quotes and behind backslashes, all of which stay.
func quotedWords(text string) (words []string, ok bool) {
	if !utf8.ValidString(text) || strings.HasSuffix(text, `\`) {
		return nil, false
	}
	begin, quote, escaped := -1, rune(0), false
	for at, c := range text {
		if begin >= 0 && quote == 0 && !escaped && unicode.IsSpace(c) {
			words, begin = append(words, text[begin:at]), -1
			continue
		}
		if begin < 0 && !unicode.IsSpace(c) {
			begin = at
		}
		switch {
		case escaped:
			escaped = false
		case c == '\\' && quote != '\'':
			escaped = true
		case c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		}
	}
	if begin >= 0 {
		words = append(words, text[begin:])
	}
	return words, true
}

// namesAndValues are the name, the value and what is between them of each word NAME=VALUE; or of the whole text, which may be one
// pair without "=".
func namesAndValues(text string, words []string) (parts []string, ok bool) {
	if !strings.Contains(words[0], "=") {
		end := strings.IndexFunc(text, isBlank)
		if end < 0 {
			return nil, false
		}
		return []string{text[:end], strings.TrimLeftFunc(text[end:], isBlank), ""}, true
	}
	for _, word := range words {
		key, value, ok := strings.Cut(word, "=")
		if !ok {
			return nil, false
		}
		parts = append(parts, key, value, "=")
	}
	return parts, true
}

// array reads an array of JSON with nothing but strings in it.
func array(text string) (words []string, ok bool) {
	var elements []any // null is no string
	if json.Unmarshal([]byte(text), &elements) != nil {
		return nil, false
	}
	for _, element := range elements {
		word, ok := element.(string)
		if !ok {
			return nil, false
		}
		words = append(words, word)
	}
	return words, true
}

// chain hangs words behind a node.
func chain(node *parser.Node, words iter.Seq[string]) {
	for word := range words {
		node.Next = &parser.Node{Value: word}
		node = node.Next
	}
}

// isBlank reports whether words end at a character.
func isBlank(c rune) bool { return strings.ContainsRune("\t\v\f\r ", c) }
