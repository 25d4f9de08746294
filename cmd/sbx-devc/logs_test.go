package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/imagebuild"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/test/enginetest"
	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/session/runs"
)

const (
	loggedDenied  = `{"ts":"2026-01-02T03:04:05Z","verdict":"deny","layer":"dns","name":"evil.example","reason":"no entry","count":3}` + "\n"
	loggedAllowed = `{"ts":"2026-01-02T03:04:06Z","verdict":"allow","layer":"dns","name":"ok.example","reason":"listed"}` + "\n"
)

// loggingContainer is a container with our init and an audit log.
func loggingContainer(t *testing.T, name string, labels map[string]string) {
	t.Helper()
	e := enginetest.Connect(t)
	enginetest.Carried(t)
	binary, _, err := imagebuild.CarriedInit(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	id, err := e.Create(t.Context(), engine.Spec{
		Name: name, Image: "debian:bookworm-slim", Labels: labels,
		Process: engine.Process{Entrypoint: []string{"sleep", "300"}}, Link: engine.Link{Network: "none"},
	})
	if err != nil {
		testenv.Missing(t, "the image debian:bookworm-slim", err.Error())
	}
	t.Cleanup(func() { _ = e.Remove(context.Background(), id) })
	err = e.CopyIn(t.Context(), id, []engine.File{
		{Path: runplan.InitPath, Mode: 0o755, Data: binary},
		{Path: "/run/sbx", Mode: 0o755},
		{Path: "/run/sbx/audit.jsonl", Mode: 0o644, Data: []byte(loggedDenied + "not a record\x1b[2J\n" + loggedAllowed)},
	})
	if err == nil {
		err = e.Start(t.Context(), id)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestLogsOfALiveRunAndOfADevContainer(t *testing.T) {
	home, project, id := t.TempDir(), t.TempDir(), runs.NewID()
	loggingContainer(t, runplan.FirewallContainer(id), map[string]string{runplan.LabelRun: id})
	loggingContainer(t, "sbx-test-logs-"+id, map[string]string{runplan.LabelFolder: project})
	if err := os.MkdirAll(filepath.Join(home, "sbx-devc", "runs", id), 0o700); err != nil {
		t.Fatal(err)
	}
	command := func(ctx context.Context, stdout io.Writer, args ...string) int {
		a := &app{stdin: strings.NewReader(""), stdout: stdout, stderr: t.Output(), getenv: func(name string) string {
			return map[string]string{"XDG_STATE_HOME": home}[name]
		}}
		return a.main(ctx, args)
	}
	logs := func(ctx context.Context, stdout io.Writer, args ...string) int {
		return command(ctx, stdout, append([]string{"logs", "--net"}, args...)...)
	}
	for name, args := range map[string][]string{"the newest run": {"--all"}, "a run": {id}, "a project": {project}} {
		var out bytes.Buffer
		if code := logs(t.Context(), &out, args...); code != 0 {
			t.Errorf("%s: exit code %d", name, code)
		}
		if got := strings.Count(out.String(), "\n"); got != 2 || !strings.Contains(out.String(), "evil.example: no entry (3 times)") ||
			strings.Contains(out.String(), "\x1b") {
			t.Errorf("%s:\n%s", name, out.String())
		}
		out.Reset()
		if code := logs(t.Context(), &out, append(args, "--denied", "--json")...); code != 0 || out.String() != loggedDenied {
			t.Errorf("%s: exit code %d:\n%s", name, code, out.String())
		}
	}
	// Without a name it is the dev container of this folder, which had no run.
	t.Chdir(project)
	for _, args := range [][]string{{"logs", "--net"}, {"report"}} {
		var out bytes.Buffer
		if code := command(t.Context(), &out, args...); code != 0 || !strings.Contains(out.String(), "evil.example") {
			t.Errorf("%s in the project: exit code %d:\n%s", args[0], code, out.String())
		}
	}
	// The same log, summed up and learned from, under the project's policy.
	if err := os.MkdirAll(filepath.Join(project, ".devcontainer"), 0o755); err != nil {
		t.Fatal(err)
	}
	settings := filepath.Join(project, ".devcontainer", "sandbox.jsonc")
	for text, offered := range map[string]bool{`{}`: true, `{"network": {"deny": ["*.example"]}}`: false} {
		if err := os.WriteFile(settings, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"report", project}, {"policy", "learn", "--file", settings, "--include", "denied", project}} {
			var out bytes.Buffer
			if code := command(t.Context(), &out, args...); code != 0 || strings.Contains(out.String(), `"evil.example"`) != offered {
				t.Errorf("%s: %s: exit code %d:\n%s", text, args[0], code, out.String())
			}
		}
	}
	// Followed until somebody interrupts.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	read, write := io.Pipe()
	ended := make(chan int, 1)
	go func() { ended <- logs(ctx, write, "-f", project) }()
	lines := bufio.NewReader(read)
	for range 2 {
		if _, err := lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if code := <-ended; code != 0 {
		t.Errorf("interrupted: exit code %d", code)
	}
	// Logs that are not there.
	for name, args := range map[string][]string{"a project without a dev container": {t.TempDir()},
		"no such run": {"20260102-030405-abcdef"}} {
		if code := logs(t.Context(), io.Discard, args...); code != exitNoInput {
			t.Errorf("%s: exit code %d", name, code)
		}
	}
}
