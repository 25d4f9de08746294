package shell

import (
	"path"
	"slices"
	"strings"
)

// wrappers run the rest of their words as a command. valued are their options
// that take the next word.
var wrappers = map[string][]string{
	"sudo": {"-u", "-g", "-h", "-p", "-C", "-T", "-r", "-t", "-D", "-R", "--user", "--group", "--chdir"}, "doas": {"-u", "-C"},
	"env": {"-u", "-C", "-S", "--unset", "--chdir"}, "exec": {"-a"}, "command": nil, "nohup": nil, "setsid": nil, "time": {"-o", "-f"},
	"nice": {"-n"}, "ionice": {"-c", "-n"}, "timeout": {"-s", "-k", "--signal", "--kill-after"}, "stdbuf": {"-i", "-o", "-e"}, "chronic": nil,
	"xargs": {"-n", "-P", "-I", "-d", "-L", "-s", "-a", "-E", "--max-args", "--max-procs", "--delimiter", "--replace"},
	"gosu":  nil, "su-exec": nil, "setpriv": nil, "unshare": nil, "chroot": nil, "tini": nil, "dumb-init": nil, "builtin": nil,
	"noglob": nil, "eatmydata": nil,
}

// leading is how many operands stand in front of the wrapped command.
var leading = map[string]int{"timeout": 1, "gosu": 1, "su-exec": 1, "chroot": 1}

// Shells are the programs that run what "-c", a file or their input says.
var Shells = []string{"sh", "bash", "dash", "ash", "zsh", "ksh", "busybox", "fish"}

// unwrap records c, and the command that c only passes on: what sudo, env, su
// and sh -c run in the end. It returns the commands whose output is c's.
func (w *walker) unwrap(c *Command) []*Command {
	c.name = programName(c.Words[0].Text)
	w.found = append(w.found, c)
	w.done.commands++
	w.done.words += len(c.Words)
	if w.depth > maxDepth || w.done.tooMuch() {
		w.done.over = true
		return []*Command{c}
	}
	w.depth++
	defer func() { w.depth-- }()
	name := c.Name()
	if c.Wrapped == "" || c.Wrapped == "builtin" || c.Wrapped == "command" {
		if to, moves := c.Goes(); moves {
			w.folder, w.moved = to, w.moved+1
		}
	}
	if valued, ok := wrappers[name]; ok {
		if inner := behind(c, name, valued); inner != nil {
			return append([]*Command{c}, w.unwrap(inner)...)
		}
		return []*Command{c}
	}
	script, user, ok := scriptOf(c)
	if !ok {
		return []*Command{c}
	}
	inner, err := []*Command(nil), ErrTooMuch
	if w.scripts < maxScripts {
		inner, err = parse(script.Text, w.lookup, w.scripts+1, w.done)
	}
	if err == ErrTooMuch { // what is not followed is said, wherever it stands
		w.done.over = true
		return []*Command{c}
	}
	for _, in := range inner {
		w.adopt(in, c, script, user)
	}
	w.found = append(w.found, inner...)
	if name == "eval" && slices.ContainsFunc(inner, func(in *Command) bool { _, moves := in.Goes(); return moves }) {
		w.folder = ""
	}
	return append([]*Command{c}, inner...)
}

// adopt places a command of a quoted script at the words that hold the script.
func (w *walker) adopt(in, around *Command, script Word, user string) {
	shift := -1 // of the script inside the quotes, when it is there byte by byte
	if at := script.Start + 1; at+len(script.Text) < len(w.src) && w.src[at:at+len(script.Text)] == script.Text {
		shift = at
	}
	move := func(start, end *int) {
		if shift < 0 {
			*start, *end = script.Start, script.End
		} else {
			*start, *end = *start+shift, *end+shift
		}
	}
	move(&in.Start, &in.End)
	for i := range in.Words {
		move(&in.Words[i].Start, &in.Words[i].End)
	}
	for i := range in.Assigns {
		move(&in.Assigns[i].Start, &in.Assigns[i].End)
	}
	for i := range in.Files {
		move(&in.Files[i].Start, &in.Files[i].End)
	}
	if in.User == "" {
		in.User = around.User
	}
	if user != "" {
		in.User = user
	}
	if in.Wrapped == "" {
		in.Wrapped = around.Name()
	}
	if in.From == nil {
		in.From = around.From
	}
	in.OnFailure = min(in.OnFailure, around.OnFailure)
	in.Folder = from(around.Folder, in.Folder)
	if around.Is("su", "runuser") && !path.IsAbs(in.Folder) && slices.ContainsFunc(around.Words, startsAtHome) {
		in.Folder = ""
	}
}

// behind returns the command that a wrapper runs, or nil.
func behind(c *Command, name string, valued []string) *Command {
	inner := &Command{From: c.From, Input: c.Input, Start: c.Start, End: c.End, User: c.User, Wrapped: name,
		Assigns: slices.Clone(c.Assigns), OnFailure: c.OnFailure, Folder: c.Folder}
	if _, asks := c.Flag("-v", "-V"); name == "xargs" || name == "chroot" || name == "command" && asks {
		inner.OnFailure = Open
	}
	if name == "sudo" || name == "doas" {
		inner.User = "root"
	}
	skip := leading[name]
	args := c.Args()
	for i := 0; i < len(args); i++ {
		word := args[i].Text
		switch {
		case word == "--":
			continue
		case len(word) > 1 && word[0] == '-':
			if startsElsewhere(name, word) {
				inner.Folder = ""
			}
			if name == "sudo" && word[1] != '-' && word[len(word)-1] == 'u' { // -Hu
				word = "-u"
			}
			if !slices.Contains(valued, word) || i+1 == len(args) {
				continue
			}
			i++
			if name == "sudo" && (word == "-u" || word == "--user") {
				inner.User = args[i].Text
			}
		case (name == "sudo" || name == "env") && isAssignment(word):
			key, value, _ := strings.Cut(word, "=")
			assigned := args[i]
			assigned.Text = value
			inner.Assigns = append(inner.Assigns, Assign{key, assigned})
		case skip > 0:
			if name == "gosu" || name == "su-exec" {
				inner.User = word
			}
			skip--
		default:
			inner.Words = slices.Clone(args[i:]) // positions are moved command by command
			return inner
		}
	}
	return nil
}

func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && !strings.ContainsAny(name, "/-.$ ")
}

// scriptOf returns the text that a shell, su or eval was given to run.
func scriptOf(c *Command) (script Word, user string, ok bool) {
	args := c.Args()
	switch {
	case c.Is("eval"):
		if len(args) == 1 {
			return args[0], "", true
		}
	case c.Is("su", "runuser"):
		user = "root"
		for i := 0; i < len(args); i++ {
			word := args[i].Text
			switch {
			case word == "-c" || word == "--command":
				if i+1 < len(args) {
					script, ok = args[i+1], true
					i++
				}
			case word == "-s" || word == "--shell" || word == "-g" || word == "--group":
				i++
			case word == "-u" || word == "--user":
				if i+1 < len(args) {
					user = args[i+1].Text
					i++
				}
			case !strings.HasPrefix(word, "-"):
				user = word
			}
		}
		return script, user, ok
	case c.Is(Shells...):
		for i, a := range args {
			if len(a.Text) > 1 && a.Text[0] == '-' && a.Text[1] != '-' && strings.HasSuffix(a.Text, "c") && i+1 < len(args) {
				return args[i+1], "", true
			}
			if a.Text == "" || a.Text[0] != '-' {
				break
			}
		}
	}
	return Word{}, "", false
}
