package runs

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/org/claude-sandbox/firewall/credential"
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

// maxStatus bounds what is read of a firewall's status, in bytes.
const maxStatus = 1 << 20

// keysThere returns what the keys did that the firewall of a dev container holds; none where
// it does not say, as one that is older.
func (log Log) keysThere(ctx context.Context) []credential.Use {
	e, err := engine.Connect(ctx)
	if err != nil {
		return nil
	}
	defer e.Close()
	for _, id := range log.firewalls {
		stream, err := e.Exec(ctx, id, engine.ExecSpec{Command: []string{runplan.InitPath, "status", "--json"}, User: "0:0", WorkingDir: "/"})
		if err != nil {
			continue
		}
		out := &excerpt.Head{Most: maxStatus}
		err = stream.Copy(out, io.Discard)
		stream.Close()
		var status struct {
			Keys []credential.Use `json:"keys"`
		}
		if err != nil || json.Unmarshal([]byte(out.String()), &status) != nil {
			return nil
		}
		return status.Keys
	}
	return nil
}
