package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
)

// Unwatched is standard output of which a command may lose something and yet succeed.
func (a *App) Unwatched() io.Writer {
	if r, ok := a.Stdout.(*results); ok {
		return r.to
	}
	return a.Stdout
}

// Main runs the command line args with the commands that root makes, and returns the
// exit code.
func Main(ctx context.Context, a *App, root func(*App) *cobra.Command, args []string) int {
	out := &results{to: a.Stdout}
	own := *a
	own.Stdout, own.Args = out, args
	commands := root(&own)
	commands.SetArgs(args)
	cmd, err := commands.ExecuteContextC(ctx)
	err = ofGoneFolder(err, usageCode(cmd))
	var exit *exitcode.Error
	var file *fs.PathError
	var by Interrupted
	lost := out.lost()
	said := errors.As(err, &exit) && exit.Err != nil
	if said && !errors.Is(err, lost) {
		lost = nil // there is something more important to say
	}
	switch {
	case errors.Is(lost, syscall.EPIPE):
		return exitcode.OfLost(lost) // whoever reads has seen enough, as head does: no failure to speak of
	case lost != nil && !(said && exit.Code == exitcode.CantWrite): // the command says more about it
		exit = &exitcode.Error{Code: exitcode.OfLost(lost), Err: fmt.Errorf("writing standard output: %w", lost)}
		if usageCode(cmd) == exitcode.CheckUsage {
			exit.Code = exitcode.NoCheck
		}
	case err == nil:
		return exitcode.OK
	case errors.Is(err, context.Canceled) && errors.As(context.Cause(ctx), &by):
		exit = &exitcode.Error{Code: by.code(), Err: by}
	case errors.As(err, &exit):
	case errors.As(err, &file):
		exit = &exitcode.Error{Code: exitcode.Internal, Err: err}
	default:
		// An unknown command or flag, a wrong number of arguments, a flag's value.
		exit = &exitcode.Error{Code: usageCode(cmd), Err: usageError(cmd, args, err)}
	}
	if exit.Err != nil {
		a.PrintError(exit.Err)
		if wantsJSON(args) {
			answerError(a.Stdout, exit.Err)
		}
	}
	return exit.Code
}

// PrintError is the one place that shows an error to a person.
func (a *App) PrintError(err error) {
	if isOfGoneFolder(err) {
		err = errGone
	}
	diag.WriteError(a.Stderr, "sbx-devc", WithHint(err))
}

// WithHint says a missing path in plain words, and adds the hint that the operating
// system's errors leave open.
func WithHint(err error) error {
	if hint := hintForPath(err); hint != "" {
		return diag.OrHint(inWords(err), "%s", hint)
	}
	return err
}

// AnnotationChecker marks commands whose exit codes are those of a check.
const AnnotationChecker = "checker"

func usageCode(cmd *cobra.Command) int {
	for c := cmd; c != nil; c = c.Parent() {
		if _, ok := c.Annotations[AnnotationChecker]; ok {
			return exitcode.CheckUsage
		}
	}
	return exitcode.Usage
}

// Interrupted is why a command was given up.
type Interrupted struct{ By os.Signal }

func (i Interrupted) Error() string { return "interrupted: " + i.By.String() }

// Is makes whoever asks for the end of the context find it.
func (i Interrupted) Is(target error) bool { return target == context.Canceled }

// code is 128 and the signal's number, as shells have it.
func (i Interrupted) code() int {
	n, _ := i.By.(syscall.Signal)
	return exitcode.Signal + int(n)
}
