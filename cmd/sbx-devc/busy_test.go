package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/filelock"
	"github.com/org/claude-sandbox/session/amend"
	"github.com/org/claude-sandbox/session/runs"
)

// A command that finds another one at work on the same file waits a while, and then says so
// and changes nothing.
func TestAnotherCommandWrites(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		lock func(settings, state string) string
	}{
		"trust": {[]string{"trust", "--yes"}, func(settings, _ string) string { return filepath.Join(settings, "sbx-devc", "trust.lock") }},
		"allow": {[]string{"allow", "docs.example.com", "--project"}, func(_, state string) string {
			return amend.LockFile(runs.HomeOf(func(name string) string { return map[string]string{"XDG_STATE_HOME": state}[name] }, func(string) {}))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings, state, project := t.TempDir(), t.TempDir(), t.TempDir()
			const text = `{"network": {"allow": ["a.example"]}}` + "\n"
			writeFiles(t, project, map[string]string{".devcontainer/sandbox.jsonc": text})
			lock := c.lock(settings, state)
			writeFiles(t, filepath.Dir(lock), map[string]string{filepath.Base(lock): ""})
			held, err := filelock.Wait(t.Context(), lock)
			if err != nil {
				t.Fatal(err)
			}
			defer held.Close()
			env := map[string]string{"XDG_CONFIG_HOME": settings, "XDG_STATE_HOME": state, "HOME": t.TempDir()}
			_, said, code := imageRun(t, env, append(c.args, project)...)
			if code != exitLocked || !strings.Contains(said, "hint: ") {
				t.Errorf("exit %d: %s", code, said)
			}
			if after := readFile(t, filepath.Join(project, ".devcontainer/sandbox.jsonc")); after != text {
				t.Errorf("the file is %s", after)
			}
		})
	}
}

// tellTale ends what a command waits for when it says some words.
type tellTale struct {
	bytes.Buffer
	words string
	end   func()
}

func (w *tellTale) Write(p []byte) (int, error) {
	n, err := w.Buffer.Write(p)
	if strings.Contains(w.String(), w.words) {
		w.end()
	}
	return n, err
}

// An engine that is alive and stuck keeps no command silent.
func TestAStuckEngineKeepsNoCommandSilent(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "engine")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("API-Version", "1.41")
		if r.URL.Path != "/_ping" {
			<-r.Context().Done()
		}
	})}
	go server.Serve(listener) //nolint:errcheck // it is closed
	t.Cleanup(func() { server.Close() })
	t.Setenv("DOCKER_HOST", "unix://"+socket)
	project := t.TempDir()
	env := map[string]string{"XDG_CONFIG_HOME": t.TempDir(), "XDG_STATE_HOME": t.TempDir(), "HOME": t.TempDir(),
		"DOCKER_HOST": "unix://" + socket}
	for _, args := range [][]string{{"clean", project}, {"doctor"}, {"allow", "docs.example.com", "--project", project}} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		said := &tellTale{words: "sbx-devc: waiting for the container engine to answer\n", end: cancel}
		a := &app{stdin: strings.NewReader(""), stdout: io.Discard, stderr: said, getenv: func(name string) string { return env[name] }}
		a.main(ctx, args)
		if !strings.Contains(said.String(), said.words) {
			t.Errorf("%q says %s", args, said)
		}
		cancel()
	}
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
