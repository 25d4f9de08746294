package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/terminal"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// ExecOptions is a further program in the agent's container of a run.
type ExecOptions struct {
	Command []string
	Environ []string // the caller's, of which the terminal's variables are passed on
	Env     []string // NAME=value, further ones
	Dir     string   // in the container, absolute; "" = where the agent begins
	// Terminal gives it a person's terminal; nil = it has the three streams.
	Terminal       Terminal
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Exec runs a program in the agent's container of the run id and returns its exit code.
// It is the agent's user, with the agent's mounts and network, without any privilege, and
// it ends with the run, and with ctx or this process at the latest.
func Exec(ctx context.Context, e *engine.Engine, id string, o ExecOptions) (code int, err error) {
	command := []string{runplan.AgentInit, "attend"}
	if o.Terminal != nil {
		command = append(command, "--terminal")
	}
	spec := engine.ExecSpec{
		Command: append(append(command, "--"), o.Command...), Env: append(runplan.TerminalVariables(o.Environ), o.Env...),
		WorkingDir: o.Dir, Stdin: true,
	}
	stream, err := e.Exec(ctx, runplan.AgentContainer(id), spec)
	if err != nil {
		return 0, gone(id, err)
	}
	defer context.AfterFunc(ctx, func() { _ = stream.Close() })()
	remote := terminal.NewRemote(stream)
	if o.Terminal != nil {
		o.Terminal.Begin()
		defer o.Terminal.End()
		o.Stdin, o.Stdout = o.Terminal, o.Terminal
		ended := make(chan struct{})
		defer close(ended)
		go func() {
			for {
				select {
				case size := <-o.Terminal.Sizes():
					_ = remote.Resize(size) // a program that is gone is noticed below
				case <-ended:
					return
				}
			}
		}()
	}
	go func() {
		_, _ = io.Copy(remote, o.Stdin)
		_ = remote.CloseInput()
	}()
	if err := stream.Copy(o.Stdout, o.Stderr); err != nil {
		return 0, err
	}
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	code, err = e.ExecExit(ctx, stream)
	return code, gone(id, err)
}

// gone says of an agent that the engine no longer has, and so no exit code of what ran
// beside it, that it has ended; other errors stay.
func gone(id string, err error) error {
	if errors.Is(err, engine.ErrNotFound) || errors.Is(err, engine.ErrConflict) {
		return diag.WithHint(fmt.Errorf("the agent of the run %s %w", id, ErrNotRunning), "'sbx-devc status %s' says how", id)
	}
	return err
}

// ErrNotRunning reports an agent that has ended, or never began.
var ErrNotRunning = errors.New("has ended")
