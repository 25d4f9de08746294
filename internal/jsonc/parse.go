package jsonc

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"github.com/org/claude-sandbox/internal/diag"
)

// The rules that Parse reports.
const (
	RuleSyntax        = "SBX101"
	RuleDuplicate     = "SBX102"
	RuleTrailingComma = "SBX103"
	RuleBOM           = "SBX104"
	RuleEmpty         = "SBX105"
	RuleControl       = "SBX106"
)

// MaxSize and MaxDepth bound what Parse reads: settings are written by hand,
// and a parser that recurses must not be led into the ground.
const (
	MaxSize  = 1 << 20 // bytes
	MaxDepth = 200     // nested objects and arrays

	// maxPointers bounds the pointers of all values together: each repeats the names above it.
	maxPointers = 32 << 20 // bytes
)

var bom = []byte("\xef\xbb\xbf")

// Parse reads src. The document is nil when src is not well formed; then the
// only finding is an error that says where and why. A document that is
// well formed may still come with findings: duplicate names (error), a byte
// order mark (warning), trailing commas (note). file is only quoted.
func Parse(file string, src []byte) (*Document, []diag.Finding) {
	d := newDocument(file, src)
	skip := 0
	if bytes.HasPrefix(src, bom) {
		skip = len(bom)
	}
	if len(src) > MaxSize {
		return nil, []diag.Finding{d.Finding(0, 0, syntaxFinding(fmt.Sprintf("the file is larger than %d bytes", MaxSize), ""))}
	}
	if at := notUTF8(src); at >= 0 {
		return nil, []diag.Finding{d.Finding(at, at+1, syntaxFinding("the text is not UTF-8", "save the file as UTF-8"))}
	}
	if at := tooDeep(src[skip:]); at >= 0 {
		return nil, []diag.Finding{d.Finding(skip+at, skip+at+1, syntaxFinding(fmt.Sprintf("nested deeper than %d levels", MaxDepth), ""))}
	}

	if at := loneReturn(src); at >= 0 {
		return nil, []diag.Finding{d.Finding(at, at+1,
			syntaxFinding("a carriage return alone ends this comment for some tools, and not for others", "end lines with a line feed"))}
	}

	// The parser wants a line comment to end with a line feed; a last line
	// without one is fine for everybody else.
	text := append(bytes.Clone(src[skip:]), '\n')
	value, err := hujson.Parse(text)
	if err != nil {
		return nil, []diag.Finding{d.explain(skip, text, err)}
	}
	b := builder{doc: d, skip: skip}
	if d.Root = b.node(value, ""); b.pointers > maxPointers {
		return nil, []diag.Finding{d.Finding(skip, skip+1, syntaxFinding("too many values stand below too long names", "shorten the names"))}
	}
	if skip > 0 {
		b.report(0, skip, diag.Finding{Rule: RuleBOM, Severity: diag.SeverityWarning,
			Message: "the file starts with a byte order mark",
			Hint:    "save it as UTF-8 without BOM; strict JSON parsers refuse the mark"})
	}
	diag.Sort(b.findings)
	return d, b.findings
}

func syntaxFinding(message, hint string) diag.Finding {
	return diag.Finding{Rule: RuleSyntax, Severity: diag.SeverityError, Message: message, Hint: hint}
}

// builder turns the parser's tree into Nodes.
type builder struct {
	doc      *Document
	skip     int // bytes of byte order mark in front
	findings []diag.Finding
	pointers int // bytes of them so far
}

func (b *builder) report(start, end int, f diag.Finding) {
	b.findings = append(b.findings, b.doc.Finding(start, end, f))
}

func (b *builder) node(v hujson.Value, pointer string) *Node {
	n := &Node{Start: v.StartOffset + b.skip, End: v.EndOffset + b.skip, Pointer: pointer}
	if b.pointers += len(pointer); b.pointers > maxPointers {
		return n
	}
	switch t := v.Value.(type) {
	case *hujson.Object:
		n.Kind = Object
		b.members(n, t)
		if k := len(t.Members); k > 0 {
			b.trailingComma(t.Members[k-1].Value)
		}
	case *hujson.Array:
		n.Kind = Array
		for i, e := range t.Elements {
			if b.pointers > maxPointers {
				return n
			}
			n.Elements = append(n.Elements, b.node(e, Child(pointer, strconv.Itoa(i))))
		}
		if k := len(t.Elements); k > 0 {
			b.trailingComma(t.Elements[k-1])
		}
	case hujson.Literal:
		switch t.Kind() {
		case '"':
			n.Kind, n.Text = String, decoded(t)
		case 't', 'f':
			n.Kind, n.Text = Bool, string(t)
		case 'n':
			n.Kind = Null
		default:
			n.Kind, n.Text = Number, string(t)
		}
	}
	return n
}

// decoded is the value of a string literal. Most have no escape and are what they hold.
func decoded(t hujson.Literal) string {
	if bytes.IndexByte(t, '\\') < 0 {
		return string(t[1 : len(t)-1])
	}
	return t.String()
}

func (b *builder) members(n *Node, obj *hujson.Object) {
	first := map[string]int{} // name -> line of its first use
	for _, m := range obj.Members {
		if b.pointers > maxPointers {
			return
		}
		name := decoded(m.Name.Value.(hujson.Literal))
		member := Member{Name: name, NameStart: m.Name.StartOffset + b.skip, NameEnd: m.Name.EndOffset + b.skip}
		pointer := Child(n.Pointer, name)
		member.Value = b.node(m.Value, pointer)
		n.Members = append(n.Members, member)
		line, _ := b.doc.Position(member.NameStart)
		if seen, ok := first[name]; ok {
			b.report(member.NameStart, member.NameEnd, diag.Finding{Rule: RuleDuplicate, Severity: diag.SeverityError,
				Pointer: pointer, Message: fmt.Sprintf("%q is given twice, first on line %d", name, seen),
				Hint: "keep one; some readers take the first and some the last"})
			continue
		}
		first[name] = line
	}
}

// trailingComma notes a comma behind the last value of an object or array. The
// parser keeps text behind that value, if only empty text, exactly when a
// comma follows.
func (b *builder) trailingComma(last hujson.Value) {
	if last.AfterExtra == nil {
		return
	}
	comma := last.EndOffset + len(last.AfterExtra) + b.skip
	b.report(comma, comma+1, diag.Finding{Rule: RuleTrailingComma, Severity: diag.SeverityNote,
		Message: "trailing comma",
		Hint:    "remove it; the dev container schema does not allow trailing commas, though most readers do"})
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
	return min(newDocument("", text).LineStart(line)+column-1, len(text)), m[3]
}

// explain turns the parser's error into a finding at the right byte, in words that
// name the usual slips.
func (d *Document) explain(skip int, text []byte, err error) diag.Finding {
	offset, message := errorPlace(text, err)
	rest := text[min(offset, len(text)):]
	at := min(offset+skip, len(d.Src))
	end := min(at+1, len(d.Src))
	switch {
	case strings.Contains(message, "unexpected EOF"):
		if strings.HasPrefix(message, "parsing value") && at == len(d.Src) && onlyExtra(text) {
			return d.Finding(0, 0, diag.Finding{Rule: RuleEmpty, Severity: diag.SeverityError,
				Message: "the file is empty", Hint: "it must hold one JSON object"})
		}
		return d.Finding(at, at, syntaxFinding("the file ends too early",
			"a closing bracket, quote or */ is missing; tolerant readers take what is there for the whole file"))
	case bytes.HasPrefix(rest, []byte(`"`)) && strings.HasPrefix(message, "invalid literal"):
		return d.badString(at, rest)
	case strings.HasPrefix(message, "invalid literal"):
		word := strings.TrimPrefix(message, "invalid literal: ")
		if name := strings.TrimLeft(string(rest[min(len(word), len(rest)):]), " \t"); strings.HasPrefix(name, ":") {
			return d.Finding(at, at+len(word), syntaxFinding(fmt.Sprintf("the name %s is not in quotes", Abbreviate(word)),
				"write "+Quote(Abbreviate(word))+"; tolerant readers, the reference dev container CLI among them, drop the member without a word"))
		}
		return d.Finding(at, at+len(word), syntaxFinding(fmt.Sprintf("%s is not a JSON value", Abbreviate(word)),
			"put names and text in double quotes; numbers are decimal"))
	case bytes.HasPrefix(rest, []byte("'")):
		return d.Finding(at, end, syntaxFinding("text in single quotes",
			"JSON wants double quotes; tolerant readers drop the member without a word"))
	case bytes.HasPrefix(rest, []byte(",")) && strings.Contains(message, "at start of value"):
		return d.Finding(at, end, syntaxFinding("a comma with nothing in front of it", "remove it, or write the value that is missing"))
	case bytes.HasPrefix(rest, []byte("#")):
		return d.Finding(at, end, syntaxFinding("# starts no comment here", "comments are // to the end of the line or /* … */"))
	case strings.Contains(message, "after top-level value"):
		return d.Finding(at, end, syntaxFinding("text after the end of the value",
			"the file must hold one JSON object and nothing else; tolerant readers ignore the rest"))
	case strings.Contains(message, "after object value"), strings.Contains(message, "after array value"):
		return d.Finding(at, end, syntaxFinding(message, "a comma is missing, or a bracket is closed by the wrong one"))
	}
	return d.Finding(at, end, syntaxFinding(message, ""))
}

// badString says what is wrong inside the string literal that starts at at.
func (d *Document) badString(at int, rest []byte) diag.Finding {
	for i := 1; i < len(rest) && rest[i] != '"'; i++ {
		switch {
		case rest[i] < ' ':
			return d.Finding(at+i, at+i+1, diag.Finding{Rule: RuleControl, Severity: diag.SeverityError,
				Message: fmt.Sprintf("control character %#02x in a string", rest[i]),
				Hint:    `write \t, \n or \u00XX; a string cannot span lines`})
		case rest[i] == '\\':
			if !strings.ContainsRune(`"\/bfnrtu`, rune(rest[i+1])) {
				return d.Finding(at+i, at+i+2, syntaxFinding(fmt.Sprintf(`\%c is no escape`, rest[i+1]), `write \\ for a backslash`))
			}
			i++
		}
	}
	return d.Finding(at, at+1, syntaxFinding("malformed string", `check its \u escapes`))
}

// Abbreviate cuts a text for a message to 40 characters.
func Abbreviate(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}

// onlyExtra reports whether text holds only white space and comments.
func onlyExtra(text []byte) bool { return hujson.Extra(text).IsValid() }

// notUTF8 returns the offset of the first byte that is not UTF-8, or -1.
func notUTF8(src []byte) int {
	for i := 0; i < len(src); {
		r, size := utf8.DecodeRune(src[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}
