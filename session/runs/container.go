package runs

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/excerpt"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// tailContainer has sbx-init print the log in the first of the containers that
// runs, as the user nobody: every user may read it.
func (log Log) tailContainer(ctx context.Context, follow bool, show func([]byte) error) error {
	e, err := engine.Connect(ctx)
	if err != nil {
		return engineError(err)
	}
	defer e.Close()
	command := []string{runplan.InitPath, "log", "--json"}
	if follow {
		command = append(command, "-f")
	}
	var stream *engine.Stream
	for _, id := range log.containers {
		if stream, err = e.Exec(ctx, id, engine.ExecSpec{Command: command, User: "65534:65534", WorkingDir: "/"}); err == nil {
			break
		}
	}
	if err != nil {
		return exitcode.With(exitcode.NoInput, diag.WithHint(fmt.Errorf("asking the container of %s for its audit log: %w", log.Title, err),
			"it does not run"))
	}
	defer stream.Close()
	stop := context.AfterFunc(ctx, func() { stream.Close() })
	defer stop()
	said := &excerpt.Head{Most: 1000} // its image may be the project's, and write without end
	out, in := io.Pipe()
	defer out.Close()
	go func() { in.CloseWithError(stream.Copy(in, said)) }()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if err := show(lines.Bytes()); err != nil {
			return exitcode.With(exitcode.Internal, err)
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	if err := lines.Err(); err != nil {
		return exitcode.With(exitcode.Internal, fmt.Errorf("reading the audit log in the container of %s: %w", log.Title, err))
	}
	if code, err := e.ExecExit(ctx, stream); err == nil && code != 0 {
		return exitcode.With(exitcode.NoInput, fmt.Errorf("the container of %s has no audit log: %s", log.Title,
			visible.ASCII(strings.TrimSpace(said.String()))))
	}
	return nil
}

// engineError gives a failure of the engine its exit code.
func engineError(err error) error { return exitcode.With(sandbox.ExitCode(err), err) }
