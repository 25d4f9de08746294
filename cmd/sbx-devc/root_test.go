package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// A full disk behind standard output is no mistake on the command line.
func TestUnwritableOutputIsNoWrongUsage(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /dev/full")
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	var people bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: full, stderr: &people, getenv: os.Getenv}
	code := a.main(t.Context(), []string{"image", "tags", "--ref", "refs/heads/main", "--commit", "0123456789abcdef0123456789abcdef01234567"})
	if code != exitInternal || !strings.Contains(people.String(), "no space left") || strings.Contains(people.String(), "--help") {
		t.Errorf("exit code %d, %s", code, people.String())
	}
}

// A cancelled job must not read like a registry that fails.
func TestInterruptionIsSaidAndHasItsExitCode(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(interrupted{syscall.SIGTERM})
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
