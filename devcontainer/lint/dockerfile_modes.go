package lint

import (
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

var (
	octal    = lazyregexp.New(`^[0-7]{3,4}$`)
	symbolic = lazyregexp.New(`^[ugoa]*([+=][rwxXst]+)(,[ugoa]*[-+=][rwxXst]*)*$`)
)

// setuidModes reports programs that run with their owner's rights.
func setuidModes(v *rule.View) (out []rule.Finding) {
	for _, m := range modes(v) {
		if setsUID(m.text) {
			out = append(out, v.AtDockerfile(m.start, m.end, m.text+" makes it run with its owner's rights for every user who starts it",
				"leave the bit out; do as root in the Dockerfile what needs root"))
		}
	}
	return out
}

// writableModes reports what everybody may write to.
func writableModes(v *rule.View) (out []rule.Finding) {
	for _, m := range modes(v) {
		if !setsUID(m.text) && worldWritable(m.text) {
			out = append(out, v.AtDockerfile(m.start, m.end, m.text+" lets every user change it",
				"give it to the one user that needs it: chown, or chmod u+rwX"))
		}
	}
	return out
}

// fileMode is a mode that a step gives to files.
type fileMode struct {
	text       string // "4755", "u+s"
	start, end int    // in the Dockerfile
}

func modes(v *rule.View) (out []fileMode) {
	each(v.Build.History(), func(_ *dockerfile.Instruction, cmd *shell.Command) {
		var w shell.Word
		ok, directory := false, false
		switch {
		case cmd.Is("chmod"):
			words := cmd.Operands()
			if ok = len(words) > 1; ok {
				w = words[0]
				directory = !slices.ContainsFunc(words[1:], func(t shell.Word) bool {
					return !strings.HasPrefix(t.Text, "/tmp") && !strings.HasPrefix(t.Text, "/var/tmp")
				})
			}
		case cmd.Is("install", "mkdir"):
			w, ok = cmd.Value("-m", "--mode")
			directory = cmd.Is("mkdir")
		}
		if ok && !directory {
			out = append(out, fileMode{w.Text, w.Start, w.End})
		}
	})
	for _, i := range v.Build.History() {
		mode := ""
		switch cmd := i.Command.(type) {
		case *instructions.CopyCommand:
			mode = cmd.Chmod
		case *instructions.AddCommand:
			mode = cmd.Chmod
		}
		if mode != "" {
			start, end := i.Find("--chmod=" + mode)
			out = append(out, fileMode{mode, start, end})
		}
	}
	return out
}

func setsUID(mode string) bool {
	if octal.MatchString(mode) {
		return len(mode) == 4 && (mode[0]-'0')&4 != 0
	}
	who, what, ok := strings.Cut(mode, "+")
	return ok && symbolic.MatchString(mode) && strings.Contains(what, "s") && (who == "" || strings.ContainsAny(who, "ua"))
}

// worldWritable leaves out folders like /tmp, whose sticky bit keeps their
// files apart.
func worldWritable(mode string) bool {
	if octal.MatchString(mode) {
		sticky := len(mode) == 4 && (mode[0]-'0')&1 != 0
		return !sticky && (mode[len(mode)-1]-'0')&2 != 0
	}
	if !symbolic.MatchString(mode) {
		return false
	}
	for clause := range strings.SplitSeq(mode, ",") {
		at := strings.IndexAny(clause, "+=")
		if at >= 0 && strings.Contains(clause[at:], "w") && strings.ContainsAny(clause[:at], "oa") {
			return true
		}
	}
	return false
}
