package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// mountReport takes the first line of the agent's container's output, in which its
// first process tells what is mounted there (sbx-init reap --mounts). The rest goes on
// to next. No program of the agent's exists when the line is written.
type mountReport struct {
	next io.Writer
	line []byte
	told chan surroundings // receives what the line says, and is closed at the end
	done bool
}

// maxMountReport bounds the line, in bytes; a mount takes some 200.
const maxMountReport = 4 << 20

func (m *mountReport) Write(p []byte) (int, error) {
	if m.done {
		return m.next.Write(p)
	}
	end := bytes.IndexByte(p, '\n')
	if end < 0 && len(m.line)+len(p) <= maxMountReport {
		m.line = append(m.line, p...)
		return len(p), nil
	}
	m.done = true
	var report surroundings
	if end >= 0 && json.Unmarshal(append(m.line, p[:end]...), &report) == nil {
		m.told <- report
	}
	n, err := m.next.Write(p[end+1:])
	return end + 1 + n, err
}

// errNotTold reports a container that ended, or says nothing about its mounts.
var errNotTold = errors.New("the container's mounts are not known")

// awaitTold waits for what a container tells.
func awaitTold(ctx context.Context, told <-chan surroundings) (at surroundings, err error) {
	timeout := time.NewTimer(readyTimeout)
	defer timeout.Stop()
	select {
	case at, ok := <-told:
		if ok {
			return at, nil
		}
		return at, fmt.Errorf("%w: %w: its output ended", ErrNoStart, errNotTold)
	case <-timeout.C:
		return at, fmt.Errorf("%w: %w: nothing was told within %s", ErrNoStart, errNotTold, readyTimeout)
	case <-ctx.Done():
		return at, fmt.Errorf("%w: %w: %w", ErrNoStart, errNotTold, context.Cause(ctx))
	}
}

// compareMounts compares what a container tells with the plan. folder is the run's.
func compareMounts(p *runplan.Plan, at surroundings, folder string) error {
	return cmp.Or(checkShared(p, at, folder), p.Project.Compare(at.Mounts))
}

// ended is a channel that holds the exit that was taken from another.
func ended(exit engine.Exit) <-chan engine.Exit {
	c := make(chan engine.Exit, 1)
	c <- exit
	return c
}
