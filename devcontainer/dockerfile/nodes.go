package dockerfile

import (
	"bytes"
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// nodes reads a file with BuildKit's parser. That parser tries a regular expression at each byte of each line, to see
// whether the line goes on, although most instructions are one text or words between blanks. So the nodes of those are
// made here, and the parser gets the rest. A test compares the nodes with those of the file as it is, without the
// comments above them, which mean something only where one is a "# check=".
func nodes(src []byte) (*parser.Result, error) {
	short := abridge(src)
	if len(short.plain) == 0 {
		return parser.Parse(bytes.NewReader(src))
	}
	result, err := parser.Parse(bytes.NewReader(short.src))
	if err != nil {
		return parser.Parse(bytes.NewReader(src)) // what it says may quote the file
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

// abridge shortens a file. All that follows where a here-document may begin stays as it is.
func abridge(src []byte) abridged {
	out := abridged{src: make([]byte, 0, len(src)), lines: make([]int, 1, 64)}
	if bytes.HasPrefix(src, []byte(byteOrderMark)) || mayDirect(src, "escape") || bytes.Contains(src, []byte("check=")) {
		return out
	}
	short, top := true, true
	for number := 1; len(src) > 0; {
		raw, joined, lines, whole := src, []byte(nil), bytes.Count(src, []byte("\n"))+1, false
		if short {
			raw, joined, lines, whole = cutInstruction(src)
		}
		if bytes.Contains(joined, []byte("<<")) {
			short = false
			continue
		}
		top = top && len(joined) == 0
		keep := len(joined) > 0 || !short || top && bytes.IndexByte(raw, '=') >= 0 // a directive, perhaps
		if node := plainNode(joined); node != nil && whole {
			node.StartLine, node.EndLine = number, number+lines-1
			out.plain = append(out.plain, node)
		} else if keep {
			out.src = append(out.src, raw...)
			for n := range lines {
				out.lines = append(out.lines, number+n)
			}
		}
		src, number = src[len(raw):], number+lines
	}
	return out
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
// quotes, unless they begin with a flag or an array.
var (
	takeText  = []string{"RUN", "CMD", "ENTRYPOINT", "USER", "WORKDIR"}
	takeWords = []string{"COPY", "ADD", "EXPOSE", "VOLUME"}
	takePairs = []string{"ENV", "LABEL", "ARG"}
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
	if first := text[0]; first <= ' ' || first >= utf8.RuneSelf || first == '[' || strings.HasPrefix(text, "--") {
		return nil
	}
	is := func(known string) bool { return strings.EqualFold(name, known) }
	node := &parser.Node{Value: name, Original: line, Flags: []string{}}
	switch {
	case slices.ContainsFunc(takeText, is):
		node.Next = &parser.Node{Value: text}
	case slices.ContainsFunc(takeWords, is):
		chain(node, strings.FieldsFuncSeq(text, isBlank))
	case slices.ContainsFunc(takePairs, is) && !strings.ContainsAny(text, `\'`):
		var parts []string
		for word := range strings.FieldsSeq(text) {
			key, value, ok := strings.Cut(word, "=")
			if !ok || strings.Count(word, `"`)%2 != 0 {
				return nil
			}
			if is("ARG") {
				parts = append(parts, word)
			} else {
				parts = append(parts, key, value, "=")
			}
		}
		chain(node, slices.Values(parts))
	default:
		return nil
	}
	return node
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
