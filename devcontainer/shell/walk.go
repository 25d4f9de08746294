package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// walker collects the commands of a syntax tree. Each walk returns the commands
// whose standard output is the output of what was walked.
type walker struct {
	src     string
	lookup  Lookup
	scripts int // how many "sh -c" are around
	depth   int
	found   []*Command
	done    *effort
	outcome Outcome             // of the commands that are walked
	strict  bool                // "set -e" stands in front of them
	folder  string              // the Folder of the next command
	moved   int                 // how often it was changed
	loops   bool                // a loop is around
	defined map[string]function // of the text
	shifted bool                // $1 is no longer the first argument of the text, or may not be
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
	if s.Background {
		defer w.apart()()
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
		defer w.apart()()
		return w.stmts(c.Stmts, stdin)
	case *syntax.Block:
		return w.stmts(c.Stmts, stdin)
	case *syntax.CaseClause:
		return w.cases(c, stdin)
	case *syntax.IfClause, *syntax.WhileClause, *syntax.ForClause, *syntax.FuncDecl, *syntax.CoprocClause:
		defer w.perhapsMoves(w.moved)
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
		defer w.apart()()
		first := w.folder
		behind := w.within(Unheard)
		from := w.stmt(c.X, stdin)
		w.outcome, w.folder = behind, first
		return w.stmt(c.Y, from)
	case syntax.OrStmt:
		defer func(behind Outcome) { w.outcome = behind }(w.within(Open))
		moved := w.moved
		out := w.stmt(c.X, stdin)
		after, goes := w.folder, w.moved != moved
		if goes { // whether X, or a part of it, failed is not known
			w.folder = ""
		}
		moved = w.moved
		other := w.stmt(c.Y, stdin)
		ends := slices.ContainsFunc(other, func(c *Command) bool { return c.Is("exit", "return") })
		if w.folder = after; w.moved != moved || goes && !ends {
			w.folder = ""
		}
		return append(out, other...)
	}
	out := w.stmt(c.X, stdin)
	moved := w.moved
	out = append(out, w.stmt(c.Y, stdin)...)
	if w.moved != moved && isTest(c.X) {
		w.folder = ""
	}
	return out
}

// perhaps walks a command that runs others under conditions.
func (w *walker) perhaps(cmd syntax.Command, stdin []*Command) (out []*Command) {
	switch c := cmd.(type) {
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			w.stmts(c.Cond, stdin)
			first := w.folder
			out = append(out, w.stmts(c.Then, stdin)...)
			w.folder = first
		}
	case *syntax.WhileClause:
		w.shifted = true
		defer w.repeats(c)()
		w.stmts(c.Cond, stdin)
		return w.stmts(c.Do, stdin)
	case *syntax.ForClause:
		w.shifted = true
		defer w.repeats(c)()
		if iter, ok := c.Loop.(*syntax.WordIter); ok {
			w.words(iter.Items)
		}
		return w.stmts(c.Do, stdin)
	case *syntax.FuncDecl:
		if w.defined == nil {
			w.defined = map[string]function{}
		}
		behind, first, moved := w.shifted, w.folder, w.moved
		w.shifted, w.folder = true, "" // its own arguments, and wherever it is called
		out = w.stmt(c.Body, nil)
		w.defined[c.Name.Value] = function{moves: w.moved != moved}
		w.shifted, w.folder, w.moved = behind, first, moved
		return out
	case *syntax.CoprocClause:
		defer w.apart()()
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
	defer w.perhapsMoves(w.moved)
	first := w.folder
	for _, item := range c.Items {
		w.folder = first
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
