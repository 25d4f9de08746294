package run

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/session"
	"github.com/org/claude-sandbox/session/runs"
)

// promptFlags say what Claude is asked, and in which conversation.
type promptFlags struct {
	print  bool
	text   string // given as an argument
	file   string
	goOn   bool   // with the project's newest conversation
	resume string // the conversation to go on with
}

func (o *promptFlags) Title() string { return "The task" }

func (o *promptFlags) Register(f *pflag.FlagSet) {
	f.BoolVarP(&o.print, "print", "p", false, "run headless, also on a terminal: one prompt in, one answer out")
	f.StringVar(&o.file, "prompt-file", "", "read the prompt from this file instead of standard input")
	f.BoolVarP(&o.goOn, "continue", "c", false, "go on with the newest conversation of a run in this project, on a terminal or with a prompt")
	f.StringVarP(&o.resume, "resume", "r", "", "go on with the conversation of this run, or of this session of Claude's")
}

func (o *promptFlags) check(*pflag.FlagSet) error {
	switch {
	case o.text != "" && o.file != "":
		return errors.New("the prompt is given as an argument and with --prompt-file: leave one out")
	case o.goOn && o.resume != "":
		return errors.New("--continue and --resume exclude each other")
	}
	return nil
}

// plan adds nothing: the prompt and the conversation are read when the plan is made.
func (o *promptFlags) plan(*runplan.Options) {}

// stdinPatience bounds the wait for text on standard input that may never come
// there, as in a job of a service: the argument is a prompt already.
const stdinPatience = 3 * time.Second

// readPrompt reads the prompt from where it is. The text of a pipe or file is added
// to an argument, as claude does.
func readPrompt(a *cli.App, o promptFlags, project string) (string, error) {
	if o.file != "" {
		text, err := session.ReadPromptFile(o.file, project)
		if errors.Is(err, session.ErrEmptyPrompt) {
			err = diag.WithHint(fmt.Errorf("%w: %s has no word in it", err, o.file), "write the task into it, or give it as an argument")
		}
		return text, err
	}
	switch {
	case o.text != "" && cli.IsTerminal(a.Stdin):
		return o.text, nil
	case o.text != "":
		text, err := session.ReadMore(a.Stdin, o.text, stdinPatience)
		if errors.Is(err, session.ErrNoInput) {
			fmt.Fprintf(a.Stderr, "sbx-devc: note: nothing came on standard input within %s; the prompt is the argument alone\n", stdinPatience)
			err = nil
		}
		return text, err
	case cli.IsTerminal(a.Stdin):
		return promptOr("", errors.New("there is no prompt"))
	}
	return promptOr(session.ReadPrompt(a.Stdin))
}

// promptOr adds the ways to give a prompt to the error that there is none.
func promptOr(text string, err error) (string, error) {
	if err != nil {
		err = diag.OrHint(err, "give it as an argument, on standard input or with --prompt-file: sbx-devc run 'fix the tests'")
	}
	return text, err
}

// earlierConversation is the one that the flags ask to go on with.
func earlierConversation(a *cli.App, dir string, o promptFlags) (runs.Earlier, error) {
	if !o.goOn && o.resume == "" {
		return runs.Earlier{}, nil
	}
	project, err := filepath.Abs(dir)
	if err != nil {
		return runs.Earlier{}, exitcode.With(exitcode.Internal, err)
	}
	return projects.Runs(a).Conversation(projects.Real(project), o.resume)
}

// maxTitle bounds the words by which a list of runs knows one again, in runes.
const maxTitle = 80

// firstWords is the beginning of a prompt, on one line.
func firstWords(prompt string) string {
	words := []rune(strings.Join(strings.Fields(prompt[:min(len(prompt), 4*maxTitle)]), " "))
	if len(words) > maxTitle {
		words = append(words[:maxTitle-1], '…')
	}
	return string(words)
}
