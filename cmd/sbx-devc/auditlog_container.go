package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/sandbox"
)

// containerTail has sbx-init print the log in the first of the containers that
// runs, as nobody: everybody may read it.
func containerTail(ctx context.Context, log auditLog, follow bool, show func([]byte) error) error {
	e, err := engine.Connect(ctx)
	if err != nil {
		return runError(err)
	}
	defer e.Close()
	command := []string{sandbox.InitPath, "log", "--json"}
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
		return exitWith(exitNoInput, diag.WithHint(fmt.Errorf("asking the container of %s for its audit log: %w", log.title, err), "it does not run"))
	}
	defer stream.Close()
	stop := context.AfterFunc(ctx, func() { stream.Close() })
	defer stop()
	var said firstWords
	out, in := io.Pipe()
	defer out.Close()
	go func() { in.CloseWithError(stream.Copy(in, &said)) }()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if err := show(lines.Bytes()); err != nil {
			return exitWith(exitInternal, err)
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	if err := lines.Err(); err != nil {
		return exitWith(exitInternal, fmt.Errorf("reading the audit log in the container of %s: %w", log.title, err))
	}
	if code, err := e.ExecExit(ctx, stream); err == nil && code != 0 {
		return exitWith(exitNoInput, fmt.Errorf("the container of %s has no audit log: %s", log.title, visible.ASCII(strings.TrimSpace(string(said)))))
	}
	return nil
}

// firstWords keeps the beginning of what is written to it: the container's image
// may be the project's, and write without end.
type firstWords []byte

func (w *firstWords) Write(p []byte) (int, error) {
	*w = append(*w, p[:min(len(p), 1000-len(*w))]...)
	return len(p), nil
}
