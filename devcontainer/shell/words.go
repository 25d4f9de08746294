package shell

import (
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// declare makes a command of export, declare, local and their like.
func (w *walker) declare(c *syntax.DeclClause) {
	out := &Command{Start: int(c.Pos().Offset()), End: int(c.End().Offset()), OnFailure: w.outcome, Folder: w.folder,
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
		OnFailure: w.outcome, Folder: w.folder}
	if f, ok := w.defined[words[0].Text]; ok {
		out.OnFailure = Open
		if f.moves {
			w.folder = ""
		}
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
	defer w.apart()()
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
