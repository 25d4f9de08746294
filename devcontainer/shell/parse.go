package shell

import (
	"errors"
	"strings"
	"sync"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds: how far Parse looks into "sh -c" within "sh -c", how deeply nested a
// syntax tree and how deeply nested a text it follows, how many commands a text
// may run, and how many words and bytes of input these may have, copies counted.
const (
	maxScripts  = 4
	maxDepth    = 2000
	maxNested   = 2000
	maxCommands = 4000
	maxWords    = 200_000
	maxInput    = 16 << 20
)

// ErrTooMuch says that a text stands for more than Parse follows.
var ErrTooMuch = errors.New("too many commands or words, or too deeply nested")

// Lookup returns the value of a variable and whether it is known.
type Lookup func(name string) (string, bool)

// Parse returns the commands that src may run, in the order of the text:
// branches, loops, functions, substitutions and background jobs included.
// It returns the one branch of a case that is taken, where its word is known.
// Variables that lookup knows are filled in; lookup may be nil. It is asked for
// "1" to "9" where these are still the arguments of the text. The error says
// that src is not shell text that bash or a POSIX shell would accept, and the
// commands are those of the lines in front, which a shell runs before it sees
// that; it is ErrTooMuch when src may be, and is not followed to its end.
func Parse(src string, lookup Lookup) ([]*Command, error) {
	return parseWith(&bashParsers, src, lookup)
}

// A parser's own buffers are larger than most texts, so those of one text serve for the next.
var (
	bashParsers  = sync.Pool{New: func() any { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }}
	posixParsers = sync.Pool{New: func() any { return syntax.NewParser(syntax.Variant(syntax.LangPOSIX)) }}
)

func parseWith(parsers *sync.Pool, src string, lookup Lookup) ([]*Command, error) {
	parser := parsers.Get().(*syntax.Parser)
	defer parsers.Put(parser)
	return parse(src, lookup, 0, &effort{parser: parser})
}

// Exec returns the commands of a program that is started with its arguments, and not by a shell: it, and what it passes on.
// Their places are 0. The error is ErrTooMuch when they are not followed to their end.
func Exec(words []string) ([]*Command, error) {
	parser := bashParsers.Get().(*syntax.Parser)
	defer bashParsers.Put(parser)
	c := &Command{OnFailure: Ends, Folder: ".", Words: make([]Word, len(words))}
	for n, word := range words {
		c.Words[n] = Word{Text: asText(word), Literal: true}
	}
	w := &walker{done: &effort{parser: parser, words: len(words)}, folder: "."}
	w.unwrap(c)
	if w.done.tooMuch() {
		return nil, ErrTooMuch
	}
	return w.found, nil
}

// ParsePOSIX is Parse as a shell without bash's own grammar reads src, such as dash: "[[" and "source" are programs.
// A *Refusal says what such a shell does not take.
func ParsePOSIX(src string, lookup Lookup) ([]*Command, error) {
	commands, err := parseWith(&posixParsers, src, lookup)
	var lang syntax.LangError
	var broken syntax.ParseError
	switch {
	case errors.As(err, &lang):
		return nil, &Refusal{At: int(lang.Pos.Offset()), Text: lang.Feature, Late: strings.Contains(src[:lang.Pos.Offset()], "${"),
			Background: strings.HasPrefix(src[lang.Pos.Offset():], "&>")}
	case errors.As(err, &broken):
		return nil, &Refusal{At: int(broken.Pos.Offset()), Text: broken.Text}
	}
	return commands, err
}

// Refusal is a part of a text that only bash reads.
type Refusal struct {
	At         int    // offset
	Text       string // what it is, or what is wrong
	Late       bool   // it may be a variable's form, which fails when it is reached
	Background bool   // it is taken, for a command in the background
}

func (r *Refusal) Error() string { return r.Text }

// effort is what one Parse has done so far, in all texts within the text.
type effort struct {
	parser                 *syntax.Parser
	commands, words, input int
	over                   bool
}

// tooMuch reports whether a bound is passed.
func (e *effort) tooMuch() bool {
	e.over = e.over || e.commands > maxCommands || e.words > maxWords || e.input > maxInput
	return e.over
}

// nests reports whether a text opens more groups, substitutions and compound
// commands than the parser, which calls itself for each, should follow.
func nests(src string) bool {
	if len(src) <= maxNested {
		return false
	}
	depth, word := 0, 0
	for i := 0; i <= len(src); i++ {
		c := byte(' ')
		if i < len(src) {
			c = src[i]
		}
		if c >= 'a' && c <= 'z' {
			continue
		}
		switch src[word:i] {
		case "if", "while", "until", "for", "case", "select", "time", "coproc":
			depth++
		case "fi", "done", "esac":
			depth--
		}
		switch c {
		case '(', '{':
			depth++
		case ')', '}':
			depth--
		}
		if depth = max(0, depth); depth > maxNested {
			return true
		}
		word = i + 1
	}
	return false
}

// asText replaces bytes that are no UTF-8, which shells take as any other and the parser does not, each by one byte.
func asText(src string) string {
	if utf8.ValidString(src) {
		return src
	}
	out := []byte(src)
	for i, c := range src {
		if _, size := utf8.DecodeRuneInString(src[i:]); c == utf8.RuneError && size == 1 {
			out[i] = '?'
		}
	}
	return string(out)
}

func parse(src string, lookup Lookup, scripts int, done *effort) (commands []*Command, err error) {
	src = asText(src)
	if nests(src) {
		return nil, ErrTooMuch
	}
	if lookup == nil {
		lookup = func(string) (string, bool) { return "", false }
	}
	file, err := done.parser.Parse(strings.NewReader(src), "")
	if err != nil {
		file = &syntax.File{Stmts: done.inFront(src)}
	}
	w := &walker{src: src, lookup: lookup, scripts: scripts, done: done, outcome: Ends, folder: ".", shifted: scripts > 0}
	w.stmts(file.Stmts, nil)
	if done.tooMuch() {
		return nil, ErrTooMuch
	}
	return w.found, err
}

// inFront returns the statements on whole lines in front of the first one that the parser does not take.
func (e *effort) inFront(src string) (list []*syntax.Stmt) {
	for s, err := range e.parser.StmtsSeq(strings.NewReader(src)) {
		if err != nil {
			break
		}
		list = append(list, s)
	}
	for n := len(list); n > 0; n-- {
		rest := strings.TrimLeft(src[min(int(list[n-1].End().Offset()), len(src)):], " \t\r;&")
		if strings.HasPrefix(rest, "\n") || strings.HasPrefix(rest, "#") {
			return list[:n]
		}
	}
	return nil
}
