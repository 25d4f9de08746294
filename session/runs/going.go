package runs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/sandbox"
)

// Going finds the run that goes on and that name means, an id or a name; "" means the
// only one of the project, or the only one at all. It errs when there is none, or more
// than one.
func (h Home) Going(project, name string) (Run, error) {
	if name != "" {
		r, err := h.Named(name)
		switch {
		case err != nil:
			return Run{}, err
		case !r.GoesOn():
			return Run{}, exitcode.With(exitcode.NoInput, diag.WithHint(fmt.Errorf("the run %s has ended", r.ID), "'sbx-devc ls' lists the runs"))
		}
		return r, nil
	}
	for _, of := range []string{project, ""} {
		going := slices.DeleteFunc(h.List(of), func(r Run) bool { return !r.GoesOn() })
		switch {
		case len(going) == 1:
			return going[0], nil
		case len(going) > 1:
			var ids []string
			for _, r := range going {
				ids = append(ids, r.ID)
			}
			err := fmt.Errorf("%d runs go on: name one", len(going))
			return Run{}, exitcode.With(exitcode.Usage, diag.WithHint(err, "%s", strings.Join(ids, ", ")))
		}
	}
	return Run{}, exitcode.With(exitcode.NoInput, diag.WithHint(errors.New("no run goes on"), "start one with 'sbx-devc run'"))
}

// Until something is said of a start, and until its reader has gone.
const (
	silentStart   = 2 * time.Second
	startPatience = 5 * time.Minute
)

// AwaitAgent returns when the agent of a run that goes on has begun: before that the
// firewall is not verified. It errs when the run ends without, or does not come that far
// within minutes.
func (r Run) AwaitAgent(ctx context.Context) error {
	h := r.home
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	slow := time.AfterFunc(silentStart, func() { h.note(fmt.Sprintf("the run %s is starting: waiting for it", r.ID)) })
	defer slow.Stop()
	for {
		begun, goesOn := sandbox.Begun(h.Live(), r.ID)
		switch {
		case begun:
			return nil
		case !goesOn:
			err := fmt.Errorf("the run %s ended before its agent began", r.ID)
			return exitcode.With(exitcode.NoInput, diag.WithHint(err, "sbx-devc status %s", r.ID))
		case !pause(ctx):
			if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
				err := fmt.Errorf("the run %s has not started within %s", r.ID, startPatience)
				return exitcode.With(exitcode.NoInput, diag.WithHint(err, "'sbx-devc stop %s' ends it", r.ID))
			}
			return context.Cause(ctx)
		}
	}
}

// stopPatience bounds the wait for a run's orderly end: its agent's, the look at what it
// left, and the removal of its containers.
const stopPatience = 3 * time.Minute

// Stop asks the program of the run to end it, as its first Ctrl-C does, and returns when
// the run has ended.
func (r Run) Stop(ctx context.Context) error {
	pid, ok := sandbox.Supervisor(r.home.Live(), r.ID)
	if !ok {
		return nil
	}
	process, err := os.FindProcess(pid)
	if err == nil {
		err = process.Signal(os.Interrupt)
	}
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return exitcode.With(exitcode.Internal, fmt.Errorf("telling the program of the run %s, process %d, to end it: %w", r.ID, pid, err))
	}
	ctx, cancel := context.WithTimeout(ctx, stopPatience)
	defer cancel()
	for r.home.goesOn(r.ID) {
		if !pause(ctx) {
			return exitcode.With(exitcode.Internal, fmt.Errorf("the run %s has not ended: %w", r.ID, context.Cause(ctx)))
		}
	}
	return nil
}

// socketSuffix ends the name of the socket at which a run's terminal is joined.
const socketSuffix = ".sock"

// Socket is where the terminal of the run can be joined while it goes on.
func (r Run) Socket() string { return r.home.Socket(r.ID) }

// Socket is that of the run with this id, which may be starting.
func (h Home) Socket(id string) string { return filepath.Join(h.Live(), id+socketSuffix) }
