package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/internal/shellword"
	"github.com/org/claude-sandbox/session"
)

// arguments are run's words that are no flags.
type arguments struct {
	dir    string
	prompt string   // "" = none
	claude []string // Claude's own arguments
}

// readRunArguments tells run's arguments apart. atDash is the number of those
// before "--", less than 0 when there is none.
//
// Before it a folder may stand, and then a prompt. A single word is the folder that
// it names; otherwise it is the prompt if it has a blank in it and nothing of its
// name exists. A word that could be a misspelt folder or a prompt is an error. After
// "--" the first word is the prompt, unless it begins with "-".
func readRunArguments(args []string, atDash int) (given arguments, err error) {
	if atDash >= 0 {
		given.claude = args[atDash:]
		args = args[:atDash]
	}
	if slices.Contains(args, "") || len(given.claude) > 0 && given.claude[0] == "" {
		return given, noFolder("")
	}
	after := len(given.claude) > 0 && !strings.HasPrefix(given.claude[0], "-")
	if after {
		given.prompt, given.claude = given.claude[0], given.claude[1:]
	}
	switch {
	case len(args) == 0:
		return given, nil
	case len(args) > 2 || len(args) == 2 && (after || filekind.IsFolder(args[1]) || !filekind.IsFolder(args[0])):
		return given, exitcode.With(exitcode.Usage, diag.WithHint(errors.New("run takes one folder and one prompt, in quotes"),
			"sbx-devc run DIR 'PROMPT'; Claude's own arguments come after --"))
	case len(args) == 2:
		given.dir, given.prompt = args[0], args[1]
	case filekind.IsFolder(args[0]):
		given.dir = args[0]
	case !isPrompt(args[0]):
		return given, noFolder(args[0])
	case after:
		return given, exitcode.With(exitcode.Usage, errors.New("the prompt is given before -- and after it: leave one out"))
	default:
		given.prompt = args[0]
	}
	return given, nil
}

// isPrompt reports whether a word can only be a prompt.
func isPrompt(word string) bool {
	_, err := os.Lstat(word)
	return err != nil && strings.ContainsAny(strings.TrimSpace(word), " \t\n")
}

// noFolder is the error of a word that is neither a folder nor clearly a prompt.
func noFolder(word string) error {
	if strings.TrimSpace(word) == "" {
		return exitcode.With(exitcode.NoInput, diag.WithHint(session.ErrEmptyPrompt, "give it as an argument: sbx-devc run 'fix the tests'"))
	}
	if info, err := os.Stat(word); err == nil && !info.IsDir() {
		return exitcode.With(exitcode.NoInput, diag.WithHint(fmt.Errorf("%s is no folder", word),
			"name the project's folder; --prompt-file %s takes the prompt from there", shellword.Quote(word)))
	}
	hint := "name the project's folder"
	if !strings.ContainsRune(word, filepath.Separator) {
		hint += "; a prompt of one word comes after --: sbx-devc run -- " + shellword.Quote(word)
	}
	return exitcode.With(exitcode.NoInput, diag.WithHint(fmt.Errorf("the folder %s does not exist", word), "%s", hint))
}
