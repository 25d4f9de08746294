package dockerfile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/budget"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// Script reads a script that root runs while an image is built, such as that of a Feature:
// as a file with one stage, of an image that is not known, and one RUN. A script in another
// language is Unread.
func Script(name string, src []byte) *File {
	f := &File{Doc: jsonc.Text(name, src), Args: map[string]string{}, work: budget.New(maxWork)}
	s := &Stage{From: &Instruction{Name: "FROM"}, User: "root", Args: map[string]string{}, Env: map[string]string{}, work: f.work}
	s.From.Stage = s
	first, _, _ := strings.Cut(string(src), "\n")
	i := &Instruction{Name: "RUN", End: len(src), HeadEnd: len(first), Stage: s, User: "root", src: string(src), line: 1}
	s.Instructions = []*Instruction{i}
	f.Stages = []*Stage{s}
	program := Interpreter(src)
	switch {
	case len(src) > MaxSize:
		f.rest = fmt.Sprintf("the script is larger than %d bytes", MaxSize)
	case !isText(src):
		f.rest = "the script is not UTF-8 text"
	}
	if f.rest != "" || program != "" && !isShell(program) {
		i.Unread = true
		return f
	}
	commands, err := shell.Parse(i.src, nil)
	i.Commands, i.Unread = commands, err != nil
	if errors.Is(err, shell.ErrTooMuch) {
		f.rest = "the script has too many commands or words, or is too deeply nested"
	}
	return f
}

// Interpreter returns the program that a script's first line names, "" when it names none:
// "bash" of "#!/usr/bin/env bash".
func Interpreter(src []byte) string {
	first, _, _ := strings.Cut(string(src), "\n")
	words := strings.Fields(strings.TrimPrefix(first, "#!"))
	if !strings.HasPrefix(first, "#!") || len(words) == 0 {
		return ""
	}
	program := words[0]
	if strings.HasSuffix(program, "/env") {
		for _, w := range words[1:] {
			if !strings.HasPrefix(w, "-") && !strings.Contains(w, "=") {
				program = w
				break
			}
		}
	}
	return program[strings.LastIndex(program, "/")+1:]
}
