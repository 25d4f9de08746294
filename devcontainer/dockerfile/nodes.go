package dockerfile

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// nodes reads a file with BuildKit's parser. That parser tries a regular expression at each byte of each line, to see
// whether the line goes on, although the text of a RUN means nothing to it, and such texts are most of a file. So the
// parser gets a letter in the place of each, and the text is put into the node that the parser makes. A test compares
// the nodes with those of the file as it is.
func nodes(src []byte) (*parser.Result, error) {
	short := abridge(src)
	result, err := parser.Parse(bytes.NewReader(short.src))
	if err != nil {
		return parser.Parse(bytes.NewReader(src)) // what it says may quote the file
	}
	for _, node := range result.AST.Children {
		r, ok := short.runs[node.StartLine]
		node.StartLine, node.EndLine = short.lines[node.StartLine], short.lines[node.EndLine]
		if ok {
			node.Original, node.Next.Value, node.EndLine = r.line, r.text, node.StartLine+r.lines-1
		}
		result.AST.EndLine = node.EndLine
	}
	result.AST.StartLine = result.AST.Children[0].StartLine
	for _, w := range result.Warnings {
		w.Location.Start.Line, w.Location.End.Line = short.lines[w.Location.Start.Line], short.lines[w.Location.End.Line]
	}
	return result, nil
}

// abridged is a file with a letter in the place of the text of each RUN that is plain.
type abridged struct {
	src   []byte
	lines []int       // where its lines stand in the whole file, from 1
	runs  map[int]run // by their line
}

// run is a RUN whose text the parser does not get.
type run struct {
	line  string // the whole instruction in one line
	name  string // as it is written
	text  string // behind the name
	lines int
}

// abridge shortens a file. A RUN with flags, an array or a blank line inside stays as it is, and so does all that
// follows where a here-document may begin.
func abridge(src []byte) abridged {
	out := abridged{src: make([]byte, 0, len(src)), lines: make([]int, 1, 64), runs: map[int]run{}}
	plainFile := !bytes.HasPrefix(src, []byte(byteOrderMark)) && !mayDirect(src, "escape")
	for number := 1; len(src) > 0; {
		raw, joined, lines, plain := src, []byte(nil), bytes.Count(src, []byte("\n"))+1, false
		if plainFile {
			raw, joined, lines, plain = cutInstruction(src)
		}
		if bytes.Contains(joined, []byte("<<")) {
			plainFile = false
			continue
		}
		if r, ok := plainRun(joined); ok && plain {
			r.lines = lines
			out.runs[len(out.lines)] = r
			out.src = append(append(out.src, r.name...), " x\n"...)
			out.lines = append(out.lines, number)
		} else {
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

// plainRun reads an instruction in one line; ok says that it is a RUN that gives a shell a text, without flags.
func plainRun(joined []byte) (r run, ok bool) {
	const blanks = "\t\v\f\r "
	words := bytes.TrimSpace(joined)
	if len(words) < 5 || !bytes.EqualFold(words[:3], []byte("RUN")) || strings.IndexByte(blanks, words[3]) < 0 {
		return r, false
	}
	r.line = string(joined)
	line := strings.TrimSpace(r.line)
	r.name, r.text = line[:3], strings.TrimLeft(line[3:], blanks)
	first := r.text[0]
	return r, ' ' < first && first < utf8.RuneSelf && first != '[' && !strings.HasPrefix(r.text, "--")
}
