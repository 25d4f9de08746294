package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
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

// brokenPipe is standard output whose reader has gone.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// Output that is lost is no success and no clean check, whichever command lost
// it; a reader that has seen enough is not spoken of.
func TestLostOutputIsNoSuccess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /dev/full")
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	project := t.TempDir()
	if code, people := runOn(t, io.Discard, "init", project, "--no-detect"); code != 0 {
		t.Fatal(people)
	}
	if err := os.Remove(filepath.Join(project, ".devcontainer", "Dockerfile")); err != nil {
		t.Fatal(err)
	}
	settings := filepath.Join(project, ".devcontainer", "sandbox.jsonc")
	for _, c := range []struct {
		args []string
		code int
	}{
		{[]string{"--help"}, exitCantWrite},
		{[]string{"help", "validate"}, exitCantWrite},
		{[]string{"run", "--help"}, exitCantWrite},
		{[]string{"run", project, "--dry-run", "x"}, exitCantWrite},
		{[]string{"action", "run", "--help"}, exitCantWrite},
		{[]string{"version"}, exitCantWrite},
		{[]string{"version", "--json"}, exitCantWrite},
		{[]string{"completion", "bash"}, exitCantWrite},
		{[]string{"templates", "list"}, exitCantWrite},
		{[]string{"policy", "check", "api.anthropic.com", "--file", settings}, exitNoCheck},
		{[]string{"policy", "check", "evil.example", "--file", settings}, exitNoCheck},
		{[]string{"policy", "explain", "evil.example", "--file", settings}, exitNoCheck},
		{[]string{"validate", project}, exitNoCheck},
		{[]string{"validate", "--format", "json", project}, exitNoCheck},
		{[]string{"effective", "--offline", project}, exitNoCheck},
		{[]string{"lock", project}, exitNoCheck},
		{[]string{"lock", "--check", project}, exitNoCheck},
		{[]string{"drift", project}, exitNoCheck},
		{[]string{"update", "--check", project}, exitNoCheck},
		{[]string{"rules"}, exitNoCheck},
		{[]string{"explain", "SBX101"}, exitNoCheck},
	} {
		code, people := runOn(t, full, c.args...)
		if code != c.code || !strings.Contains(people, "error: writing standard output: ") || !strings.Contains(people, "hint: the disk") {
			t.Errorf("%s: exit code %d, want %d\n%s", c.args, code, c.code, people)
		}
		if code, people = runOn(t, brokenPipe{}, c.args...); code != 141 || strings.Contains(people, "pipe") {
			t.Errorf("%s into a pipe without a reader: exit code %d\n%s", c.args, code, people)
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
