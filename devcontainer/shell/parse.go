package shell

import (
	"errors"
	"slices"
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
	w := &walker{src: src, lookup: lookup, scripts: scripts, done: done, outcome: Ends, shifted: scripts > 0}
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

// walker collects the commands of a syntax tree. Each walk returns the commands
// whose standard output is the output of what was walked.
type walker struct {
	src     string
	lookup  Lookup
	scripts int // how many "sh -c" are around
	depth   int
	found   []*Command
	done    *effort
	outcome Outcome         // of the commands that are walked
	strict  bool            // "set -e" stands in front of them
	defined map[string]bool // functions of the text
	shifted bool            // $1 is no longer the first argument of the text, or may not be
}

// within begins a part of the text whose failure means at most that. It returns the outcome to go on with behind it.
func (w *walker) within(most Outcome) (behind Outcome) {
	behind = w.outcome
	w.outcome = min(behind, most)
	return behind
}

func (w *walker) stmts(list []*syntax.Stmt, stdin []*Command) []*Command {
	var out []*Command
	for n, s := range list {
		most := Ends
		if binary, ok := s.Cmd.(*syntax.BinaryCmd); n < len(list)-1 && (!w.strict || ok && binary.Op == syntax.AndStmt) {
			most = Unheard
		}
		first := len(w.found)
		behind := w.within(most)
		out = append(out, w.stmt(s, stdin)...)
		w.outcome = behind
		w.strict = w.strict || slices.ContainsFunc(w.found[first:], setsStrict)
	}
	return out
}

// setsArguments reports whether a command is one of those that give a text other arguments.
func setsArguments(words []Word) bool {
	switch words[0].Text {
	case "shift", ".", "source":
		return true
	case "set":
		return slices.ContainsFunc(words, func(w Word) bool { return w.Text == "--" }) ||
			len(words) > 1 && !strings.HasPrefix(words[1].Text, "-") && !strings.HasPrefix(words[1].Text, "+")
	}
	return false
}

// setsStrict reports whether a command is "set -e", in one of its forms.
func setsStrict(c *Command) bool {
	if c.Words[0].Text != "set" {
		return false
	}
	_, short := c.Flag("-e")
	return short || len(c.Words) > 2 && c.Words[2].Text == "errexit"
}

func (w *walker) stmt(s *syntax.Stmt, stdin []*Command) []*Command {
	if w.depth > maxDepth {
		w.done.over = true
	}
	if s == nil || w.done.tooMuch() {
		return nil
	}
	w.depth++
	defer func() { w.depth-- }()
	first := len(w.found)
	most := Ends
	if s.Negated || s.Background {
		most = Open
	}
	behind := w.within(most)
	out := w.command(s.Cmd, stdin)
	w.outcome = behind
	w.redirect(s.Redirs, w.found[first:])
	return out
}

// redirect gives the redirections of a statement to the commands in it. Those
// of a group or a loop hold for each command inside.
func (w *walker) redirect(redirs []*syntax.Redirect, commands []*Command) {
	for _, r := range redirs {
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
			body := r.Hdoc
			if r.Op == syntax.WordHdoc {
				body = r.Word
			}
			text := w.word(body).Text
			for _, c := range commands {
				if w.done.input += len(c.Input) + len(text); w.done.tooMuch() {
					return
				}
				c.Input += text
			}
		case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
			if r.N != nil && r.N.Value != "1" {
				continue
			}
			file := w.word(r.Word)
			for _, c := range commands {
				c.Files = append(c.Files, file)
			}
		default:
			// A substitution in any other redirection runs, too: "sh < <(curl …)".
			subs := w.word(r.Word).Subs
			if r.Op == syntax.RdrIn {
				for _, c := range commands {
					if w.done.words += len(subs); w.done.tooMuch() {
						return
					}
					c.From = append(c.From, subs...)
				}
			}
		}
	}
}

func (w *walker) command(cmd syntax.Command, stdin []*Command) []*Command {
	switch c := cmd.(type) {
	case *syntax.CallExpr:
		return w.call(c, stdin)
	case *syntax.BinaryCmd:
		return w.binary(c, stdin)
	case *syntax.Subshell:
		return w.stmts(c.Stmts, stdin)
	case *syntax.Block:
		return w.stmts(c.Stmts, stdin)
	case *syntax.CaseClause:
		return w.cases(c, stdin)
	case *syntax.IfClause, *syntax.WhileClause, *syntax.ForClause, *syntax.FuncDecl, *syntax.CoprocClause:
		defer func(behind Outcome) { w.outcome = behind }(w.within(Open))
		return w.perhaps(c, stdin)
	case *syntax.TimeClause:
		return w.stmt(c.Stmt, stdin)
	case *syntax.DeclClause:
		w.declare(c)
	case nil:
	default:
		// Tests and arithmetic run nothing but what they substitute.
		syntax.Walk(c, func(n syntax.Node) bool {
			if word, ok := n.(*syntax.Word); ok {
				w.word(word)
				return false
			}
			return true
		})
	}
	return nil
}

// binary walks two commands that a pipe, && or || joins.
func (w *walker) binary(c *syntax.BinaryCmd, stdin []*Command) []*Command {
	switch c.Op {
	case syntax.Pipe, syntax.PipeAll:
		behind := w.within(Unheard)
		from := w.stmt(c.X, stdin)
		w.outcome = behind
		return w.stmt(c.Y, from)
	case syntax.OrStmt:
		defer func(behind Outcome) { w.outcome = behind }(w.within(Open))
		return append(w.stmt(c.X, stdin), w.stmt(c.Y, stdin)...)
	}
	return append(w.stmt(c.X, stdin), w.stmt(c.Y, stdin)...)
}

// perhaps walks a command that runs others under conditions.
func (w *walker) perhaps(cmd syntax.Command, stdin []*Command) (out []*Command) {
	switch c := cmd.(type) {
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			w.stmts(c.Cond, stdin)
			out = append(out, w.stmts(c.Then, stdin)...)
		}
	case *syntax.WhileClause:
		w.shifted = true
		w.stmts(c.Cond, stdin)
		return w.stmts(c.Do, stdin)
	case *syntax.ForClause:
		w.shifted = true
		if iter, ok := c.Loop.(*syntax.WordIter); ok {
			w.words(iter.Items)
		}
		return w.stmts(c.Do, stdin)
	case *syntax.FuncDecl:
		if w.defined == nil {
			w.defined = map[string]bool{}
		}
		w.defined[c.Name.Value] = true
		defer func(behind bool) { w.shifted = behind }(w.shifted)
		w.shifted = true // its own arguments
		return w.stmt(c.Body, nil)
	case *syntax.CoprocClause:
		return w.stmt(c.Stmt, stdin)
	}
	return out
}

// cases walks the branch of a case that is taken, or all where that is not known.
func (w *walker) cases(c *syntax.CaseClause, stdin []*Command) (out []*Command) {
	behind := w.within(Open)
	defer func() { w.outcome = behind }()
	if taken, known := branch(c, w.word(c.Word)); known {
		w.outcome = behind
		return w.stmts(taken, stdin)
	}
	for _, item := range c.Items {
		out = append(out, w.stmts(item.Stmts, stdin)...)
	}
	return out
}

// branch returns what a case runs, where its word and its patterns are known.
func branch(c *syntax.CaseClause, word Word) (taken []*syntax.Stmt, known bool) {
	if !word.Literal {
		return nil, false
	}
	for _, item := range c.Items {
		for _, p := range item.Patterns {
			pattern := p.Lit()
			switch {
			case item.Op != syntax.Break || pattern != "*" && (pattern == "" || strings.ContainsAny(pattern, `*?[\`)):
				return nil, false
			case pattern == "*" || pattern == word.Text:
				return item.Stmts, true
			}
		}
	}
	return nil, true
}

// declare makes a command of export, declare, local and their like.
func (w *walker) declare(c *syntax.DeclClause) {
	out := &Command{Start: int(c.Pos().Offset()), End: int(c.End().Offset()), OnFailure: w.outcome,
		Words: []Word{{Text: c.Variant.Value, Literal: true, Start: int(c.Variant.Pos().Offset()), End: int(c.Variant.End().Offset())}}}
	out.name = out.Words[0].Text
	w.found = append(w.found, out)
	for _, a := range c.Args {
		out.Assigns = append(out.Assigns, w.assign(a)...)
	}
}

func (w *walker) assign(a *syntax.Assign) []Assign {
	if a.Name == nil {
		if a.Value != nil {
			w.word(a.Value)
		}
		return nil
	}
	out := Assign{Name: a.Name.Value, Word: Word{Literal: true}}
	if a.Value != nil {
		out.Word = w.word(a.Value)
	}
	if a.Array != nil {
		for _, e := range a.Array.Elems {
			w.word(e.Value)
		}
	}
	out.Start, out.End = int(a.Pos().Offset()), int(a.End().Offset())
	return []Assign{out}
}

func (w *walker) call(c *syntax.CallExpr, stdin []*Command) []*Command {
	var assigns []Assign
	for _, a := range c.Assigns {
		assigns = append(assigns, w.assign(a)...)
	}
	words := w.words(c.Args)
	if len(words) == 0 {
		return nil
	}
	out := &Command{Words: words, Assigns: assigns, From: stdin, Start: int(c.Pos().Offset()), End: int(c.End().Offset()),
		OnFailure: w.outcome}
	if w.defined[words[0].Text] {
		out.OnFailure = Open
	}
	w.shifted = w.shifted || setsArguments(words)
	return w.unwrap(out)
}

func (w *walker) words(list []*syntax.Word) []Word {
	out := make([]Word, 0, len(list))
	for _, word := range list {
		if w.done.words++; w.done.tooMuch() {
			break
		}
		out = append(out, w.word(word))
	}
	return out
}

func (w *walker) word(word *syntax.Word) Word {
	if word == nil {
		return Word{}
	}
	out := Word{Literal: true, Start: int(word.Pos().Offset()), End: int(word.End().Offset())}
	if len(word.Parts) == 1 {
		if only, ok := word.Parts[0].(*syntax.Lit); ok {
			out.Text = unescape(only.Value, false)
			return out
		}
	}
	var b strings.Builder
	for _, p := range word.Parts {
		w.part(p, &b, &out, false)
	}
	out.Text = b.String()
	return out
}

func (w *walker) part(p syntax.WordPart, b *strings.Builder, out *Word, quoted bool) {
	switch p := p.(type) {
	case *syntax.Lit:
		b.WriteString(unescape(p.Value, quoted))
	case *syntax.SglQuoted:
		b.WriteString(p.Value)
	case *syntax.DblQuoted:
		for _, inner := range p.Parts {
			w.part(inner, b, out, true)
		}
	case *syntax.ParamExp:
		w.parameter(p, b, out)
	case *syntax.CmdSubst:
		w.substitution(p.Stmts, out)
		w.raw(p, b, out)
	case *syntax.ProcSubst:
		w.substitution(p.Stmts, out)
		w.raw(p, b, out)
	default:
		w.raw(p, b, out)
	}
}

func (w *walker) substitution(list []*syntax.Stmt, out *Word) {
	behind := w.within(Unheard)
	out.Subs = append(out.Subs, w.stmts(list, nil)...)
	w.outcome = behind
}

// parameter fills in ${NAME} and ${NAME:-default} when that is known.
func (w *walker) parameter(p *syntax.ParamExp, b *strings.Builder, out *Word) {
	prefixed := p.Excl || p.Length || p.Width // ${!NAME}, ${#NAME}, ${%NAME}
	inPart := p.Index != nil || p.Slice != nil || p.Repl != nil
	plain := p.Param != nil && !prefixed && !inPart
	if plain {
		value, known := w.lookup(p.Param.Value)
		argument := p.Param.Value >= "1" && p.Param.Value <= "9"
		known = known && !(argument && w.shifted)
		if p.Exp == nil && known && (value != "" || !argument) {
			b.WriteString(value)
			return
		}
		if p.Exp != nil && p.Exp.Word != nil && (p.Exp.Op == syntax.DefaultUnsetOrNull || p.Exp.Op == syntax.DefaultUnset) {
			fallback := w.word(p.Exp.Word)
			out.Subs = append(out.Subs, fallback.Subs...)
			switch {
			case known && value != "":
				b.WriteString(value)
				return
			case known && p.Exp.Op == syntax.DefaultUnsetOrNull:
				b.WriteString(fallback.Text)
				out.Literal = out.Literal && fallback.Literal
				return
			}
		}
	}
	w.raw(p, b, out)
}

func (w *walker) raw(n syntax.Node, b *strings.Builder, out *Word) {
	out.Literal = false
	if w.done.input += int(n.End().Offset()) - int(n.Pos().Offset()); w.done.tooMuch() {
		return
	}
	if from, to := int(n.Pos().Offset()), int(n.End().Offset()); from <= to && to <= len(w.src) {
		b.WriteString(w.src[from:to])
	}
}

// unescape removes backslashes as the shell does: all of them outside of
// quotes, those in front of $ ` " \ and a line's end inside double quotes.
func unescape(s string, quoted bool) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		next := s[i+1]
		if quoted && !strings.ContainsRune("$`\"\\\n", rune(next)) {
			b.WriteByte('\\')
			continue
		}
		i++
		if next != '\n' {
			_, size := utf8.DecodeRuneInString(s[i:])
			b.WriteString(s[i : i+size])
			i += size - 1
		}
	}
	return b.String()
}
