package dockerfile

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/parser"

	"github.com/org/claude-sandbox/internal/jsonc"
)

// lineEnd returns the offset after the last byte of the 1-based line n, without the end of
// the line, and of blank lines after the last byte.
func lineEnd(doc *jsonc.Document, n int) int {
	return len(bytes.TrimRight(doc.Src[:doc.LineStart(n+1)], "\r\n"))
}

const byteOrderMark = "\xEF\xBB\xBF"

// place fills in where the node's instruction and its here-documents stand in a text.
func place(i *Instruction, node *parser.Node, doc *jsonc.Document, src string) {
	i.Start = doc.LineStart(node.StartLine)
	for i.Start < len(src) && strings.IndexByte(" \t"+byteOrderMark, src[i.Start]) >= 0 {
		i.Start++
	}
	i.End = max(i.Start, lineEnd(doc, node.EndLine))
	i.HeadEnd = min(i.End, max(i.Start, lineEnd(doc, node.StartLine)))
	i.src = src[i.Start:i.End]

	count := 0
	for _, d := range node.Heredocs {
		count += strings.Count(d.Content, "\n") + 1
	}
	line := node.EndLine - count + 1
	for _, d := range node.Heredocs {
		n := strings.Count(d.Content, "\n")
		held := Document{Name: d.Name, Text: d.Content, Quoted: !d.Expand, Start: doc.LineStart(line), End: doc.LineStart(line + n)}
		line += n + 1
		i.Documents = append(i.Documents, held)
	}
}

// body returns the shell text of an instruction with a line for a line and a
// byte for a byte, so that offsets in it are offsets in the file, and the
// offset where it starts. Comments and empty lines between continued lines,
// which Docker leaves out, become white space.
func body(i *Instruction, flags int, escape rune) (text string, start int) {
	head := i.End
	if len(i.Documents) > 0 {
		head = min(i.Documents[0].Start, i.End)
	}
	head -= i.Start
	at := skipSpace(i.src, len(i.Name), escape)
	for ; flags > 0; flags-- {
		at = skipSpace(i.src, skipWord(i.src, at), escape)
	}
	at, head = min(at, len(i.src)), min(max(head, 0), len(i.src))
	if at >= head || len(i.Documents) == 0 && !strings.Contains(i.src[at:], "\n") {
		return i.src[at:], i.Start + at
	}
	b := []byte(i.src[at:])
	smooth(b[:head-at], byte(escape), len(i.Documents) == 0)
	return string(b), i.Start + at
}

// skipSpace returns the offset of the next word: white space, continued lines
// and the comments between them are passed over.
func skipSpace(s string, at int, escape rune) int {
	for at < len(s) {
		switch c := s[at]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			at++
		case c == byte(escape) && onlySpaceAfter(s, at+1):
			at++
		case c == '#' && startsLine(s, at):
			for at < len(s) && s[at] != '\n' {
				at++
			}
		default:
			return at
		}
	}
	return at
}

func onlySpaceAfter(s string, at int) bool {
	for ; at < len(s); at++ {
		switch s[at] {
		case '\n':
			return true
		case ' ', '\t', '\r':
		default:
			return false
		}
	}
	return false
}

func startsLine(s string, at int) bool {
	for at--; at >= 0; at-- {
		switch s[at] {
		case '\n':
			return true
		case ' ', '\t':
		default:
			return false
		}
	}
	return false
}

func skipWord(s string, at int) int {
	var quote byte
	for ; at < len(s); at++ {
		switch c := s[at]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			return at
		}
	}
	return at
}

// smooth rewrites continued lines in place as a shell reads them. The last
// line of b belongs to the text; ends says whether nothing follows it.
func smooth(b []byte, escape byte, ends bool) {
	for at, first := 0, true; at < len(b); first = false {
		stop := bytes.IndexByte(b[at:], '\n')
		last := stop < 0
		if last {
			stop = len(b) - at
		}
		line := b[at : at+stop]
		trimmed := bytes.TrimLeft(line, " \t\r")
		switch {
		case !first && len(trimmed) > 0 && trimmed[0] == '#':
			blank(line)
			if !last {
				line[len(line)-1] = '\\'
			}
		case !first && len(trimmed) == 0:
			blank(line)
			if !last {
				b[at+stop] = ' '
			}
		default:
			if text := bytes.TrimRight(line, " \t\r"); len(text) > 0 && text[len(text)-1] == escape && !(last && ends) {
				blank(line[len(text)-1:])
				line[len(line)-1] = '\\'
			}
		}
		at += stop + 1
	}
}

func blank(b []byte) {
	for i := range b {
		b[i] = ' '
	}
}

// wholly matches a RUN whose shell text is nothing but here-documents.
var wholly = regexp.MustCompile(`^<<-?\s*["']?[A-Za-z0-9_.-]+["']?\s*$`)

// GitURL matches repositories that ADD clones.
var GitURL = regexp.MustCompile(`^(git@|git://|ssh://)|^https?://[^?#]*\.git([?#]|$)`)

// ArchiveOrProgram matches files that are unpacked or run.
var ArchiveOrProgram = regexp.MustCompile(`(?i)(\.(tar(\.\w+)?|tgz|txz|zip|deb|rpm|apk|gz|xz|bz2|sh|run|whl|jar|py|AppImage)|/bin/[^/]+)$`)
