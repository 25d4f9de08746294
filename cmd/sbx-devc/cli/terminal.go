package cli

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/term"

	"github.com/org/claude-sandbox/internal/ask"
	"github.com/org/claude-sandbox/internal/exitcode"
)

// IsTerminal reports whether somebody sits at the other end of a stream.
func IsTerminal(stream any) bool {
	f, ok := stream.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}

// Questions returns the person's terminal; nil when no person can answer. Both ends
// must be a terminal, and it is none of a CI job.
func (a *App) Questions() *ask.Terminal {
	if a.Getenv("CI") != "" || !IsTerminal(a.Stdin) || !IsTerminal(a.Stderr) {
		return nil
	}
	return ask.New(a.Stdin, Shown(a.Stderr))
}

// Unanswered is how the command ends when a question got no answer.
func Unanswered(err error) error {
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, ask.ErrEnded):
		return exitcode.With(exitcode.Refused, ErrNothingWritten)
	}
	return exitcode.With(exitcode.Internal, fmt.Errorf("asking: %w", err))
}

var ErrNothingWritten = errors.New("nothing was written")
