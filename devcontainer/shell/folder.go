package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// function is what is known of a function of a text.
type function struct {
	moves bool // it changes the folder
}

// apart begins a part of the text that runs in a process of its own, whose cd ends with it. The function that it returns ends the part.
func (w *walker) apart() (end func()) {
	folder, moved := w.folder, w.moved
	return func() { w.folder, w.moved = folder, moved }
}

// perhapsMoves ends a part of the text that may not run. moved is what w.moved was in front of it.
func (w *walker) perhapsMoves(moved int) {
	if w.moved != moved {
		w.folder = ""
	}
}

// repeats begins a loop: where it changes the folder, its second round starts elsewhere. It returns what ends it.
func (w *walker) repeats(loop syntax.Node) (end func()) {
	if w.loops { // the outer one has said it
		return func() {}
	}
	w.loops = true
	syntax.Walk(loop, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Subshell, *syntax.CmdSubst, *syntax.ProcSubst:
			return false
		case *syntax.CallExpr:
			if len(n.Args) > 0 && slices.Contains(movers, n.Args[0].Lit()) {
				w.folder = ""
			}
		}
		return true
	})
	return func() { w.loops = false }
}

// movers are the commands that change the folder of the shell that runs them.
var movers = []string{"cd", "pushd", "popd"}

// Goes returns the Folder of what comes behind cd, pushd and popd; moves is false for all other commands.
func (c *Command) Goes() (to string, moves bool) {
	if !slices.Contains(movers, c.Words[0].Text) {
		return "", false
	}
	words := withoutOptions(c.Args()) // the parser asks, and places of words are not final
	if len(words) != 1 || !words[0].Literal || words[0].Text == "-" || strings.ContainsAny(words[0].Text, "$~*?[+") || c.Is("popd") {
		return "", true
	}
	return from(c.Folder, words[0].Text), true
}

// from is a folder that is named from another one.
func from(folder, name string) string {
	switch {
	case name != "" && path.IsAbs(name):
		return path.Clean(name)
	case folder == "" || name == "":
		return ""
	}
	return path.Join(folder, name)
}

// isTest reports whether a statement only asks something.
func isTest(s *syntax.Stmt) bool {
	switch c := s.Cmd.(type) {
	case *syntax.TestClause, *syntax.ArithmCmd:
		return true
	case *syntax.CallExpr:
		return s.Negated || len(c.Args) > 0 && slices.Contains([]string{"[", "test", "command", "which"}, c.Args[0].Lit())
	case *syntax.BinaryCmd:
		return isTest(c.X) || isTest(c.Y)
	}
	return s.Negated
}

// startsElsewhere reports whether an option of a wrapper makes it run its command in another folder.
func startsElsewhere(wrapper, option string) bool {
	switch {
	case wrapper == "sudo" && !strings.HasPrefix(option, "--"):
		return option == "-D" || strings.Contains(option, "i")
	case wrapper == "env" && option == "-C":
		return true
	}
	return strings.HasPrefix(option, "--chdir") || option == "--login"
}

// startsAtHome reports whether a word of su asks for a shell as a login starts it, in the user's own folder.
func startsAtHome(w Word) bool { return w.Text == "-" || w.Text == "-l" || w.Text == "--login" }
