package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
)

// A cancelled job must not read like a registry that fails.
func TestInterruptionIsSaidAndHasItsExitCode(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cli.Interrupted{By: syscall.SIGTERM})
	var people bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: io.Discard, stderr: &people, getenv: func(string) string { return "" }}
	for _, args := range [][]string{{"image", "inspect", "localhost:1/x:y"}, {"validate", t.TempDir()}} {
		people.Reset()
		code := a.main(ctx, args)
		if want := "sbx-devc: error: interrupted: terminated\n"; code != 143 || people.String() != want {
			t.Errorf("%s: exit code %d, %q, want 143, %q", args, code, people.String(), want)
		}
	}
}

// runOn runs a command with that standard output.
func runOn(t *testing.T, stdout io.Writer, args ...string) (code int, people string) {
	t.Helper()
	var out bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: stdout, stderr: &out, getenv: homeAlone(t)}
	code = a.main(t.Context(), args)
	return code, out.String()
}
