package shell

import (
	"path"
	"slices"
	"strings"
)

// Word is one word of a command after quotes are removed.
type Word struct {
	Text    string     // expansions that are not known stay as written: "$HOME/x"
	Literal bool       // whether Text is what the program gets
	Start   int        // offset of the first byte in the parsed text
	End     int        // offset after the last byte
	Subs    []*Command // commands whose output is part of the word: $(…), <(…)
}

// Assign is NAME=value in front of a command, or after export.
type Assign struct {
	Name string
	Word // the value; its position is the whole assignment's
}

// Command is one simple command.
type Command struct {
	Words   []Word     // the program and its arguments; never empty
	Assigns []Assign   // variables set for it alone
	Start   int        // offset of its first byte in the parsed text
	End     int        // offset after its last byte
	From    []*Command // what it reads through a pipe
	Input   string     // what a here-document or here-string gives it
	Files   []Word     // where its output goes
	// User is the user that sudo or su names; "" when it runs as whoever runs
	// the text.
	User string
	// Wrapped is the program that runs it ("sudo", "env", "sh -c"); "" for none.
	Wrapped string
	// Folder is where it runs, by the cd in front of it that hold for it: a path from the folder in which the text
	// starts, "." for that folder, an absolute path, or "" when that is not known.
	Folder string
	// OnFailure says what becomes of the text when the command fails.
	OnFailure Outcome
	name      string // what Name returns
	operands  []Word // what Operands returns, once a rule asked: no place changes after that
}

// Outcome says what becomes of a text when one of its commands fails.
type Outcome int

// The outcomes. A command whose failure Ends the text also ends it where it is not reached:
// something in front of && failed.
const (
	Open    Outcome = iota // it may not run at all, or the text asks whether it fails
	Unheard                // it runs, and the text goes on: in front of ; or |, or in $(…)
	Ends                   // the text fails
)

// Name returns the program without its folder: "curl" of "/usr/bin/curl".
func (c *Command) Name() string { return c.name }

func programName(word string) string {
	if word != "" && strings.IndexByte(word, '/') < 0 {
		return word
	}
	return path.Base(word)
}

// Is reports whether the program is one of names.
func (c *Command) Is(names ...string) bool { return slices.Contains(names, c.Name()) }

// Args returns the words after the program.
func (c *Command) Args() []Word { return c.Words[1:] }

// Flag returns the first argument that is one of flags: a short one ("-k")
// also inside a group ("-fsSLk"), a long one ("--insecure") also with "=value".
func (c *Command) Flag(flags ...string) (Word, bool) {
	for _, w := range c.Args() {
		if w.Text == "--" {
			break
		}
		if slices.ContainsFunc(flags, func(flag string) bool { return matches(w.Text, flag) }) {
			return w, true
		}
	}
	return Word{}, false
}

func matches(word, flag string) bool {
	if long, ok := strings.CutPrefix(flag, "--"); ok {
		name, _, _ := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		return strings.HasPrefix(word, "--") && name == long
	}
	return len(word) > 1 && word[0] == '-' && word[1] != '-' && strings.Contains(word[1:], flag[1:])
}

// Value returns what follows the first of flags, in its own word or behind "=".
func (c *Command) Value(flags ...string) (Word, bool) {
	args := c.Args()
	for i, w := range args {
		for _, flag := range flags {
			if w.Text == flag && i+1 < len(args) {
				return args[i+1], true
			}
			if rest, ok := strings.CutPrefix(w.Text, flag); ok && strings.HasPrefix(rest, "=") {
				w.Text = rest[1:]
				return w, true
			}
		}
	}
	return Word{}, false
}

// Operands returns the arguments that are no options. An option's separate
// value counts as an operand: which options take one only the program knows.
// Callers do not change them.
func (c *Command) Operands() []Word {
	if c.operands == nil {
		c.operands = slices.Clip(withoutOptions(c.Args()))
	}
	return c.operands
}

func withoutOptions(args []Word) []Word {
	option := slices.IndexFunc(args, func(w Word) bool { return len(w.Text) > 1 && w.Text[0] == '-' })
	if option < 0 {
		return args
	}
	out := append(make([]Word, 0, len(args)-1), args[:option]...)
	for i, w := range args[option:] {
		if w.Text == "--" {
			return append(out, args[option+i+1:]...)
		}
		if len(w.Text) < 2 || w.Text[0] != '-' {
			out = append(out, w)
		}
	}
	return out
}

// Sources returns every command that c reads from through pipes, near and far,
// each once.
func (c *Command) Sources() []*Command {
	var out []*Command
	seen := map[*Command]bool{}
	next := c.From
	for len(next) > 0 {
		from := next[0]
		next = next[1:]
		if !seen[from] {
			seen[from] = true
			out = append(out, from)
			next = append(next[:len(next):len(next)], from.From...)
		}
	}
	return out
}

// Downloaders are programs that fetch files.
var Downloaders = []string{"curl", "wget", "aria2c", "http", "fetch", "lwp-download"}
