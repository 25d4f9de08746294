package main

import (
	"bytes"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/fakeapi"
	"github.com/org/claude-sandbox/internal/test/enginetest"
	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/templates/lock"
)

// TestAttackARepositorysFilesDriveTheTerminal: commands that show what a file
// of the repository holds show its escapes as text.
func TestAttackARepositorysFilesDriveTheTerminal(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, ".devcontainer", "devcontainer.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	text := "{\n  \"image\": \"debian:12\", /* \x1b]52;c;b3duZWQ=\a\x1b[2J */\n  remoteUser: \"dev\", \"securityOpt\": " +
		"[\"seccomp=unconfined\"], \"runArgs\": [\"--privileged\"],\n}\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	locked := lockedWithEscapes(t)
	keys := filepath.Join(t.TempDir(), "devcontainer.json")
	if err := os.WriteFile(keys,
		[]byte("{\"image\": \"debian:12\", \"x\\u001b]52;c;b3duZWQ=\\u0007\": 1, \"containerEnv\": {\"A\\u001b[2J\": \"1\"}}"),
		0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"init", dir, "--dry-run", "--force"}, {"fix", "--diff", file}, {"validate", dir}, {"effective", dir}, {"effective", "--offline", keys},
		{"lock", locked}, {"lock", "--check", locked}, {"drift", locked}, {"update", "--check", locked}, {"image", "pull", "--dir", locked},
	} {
		master, terminal := testenv.Terminal(t)
		a := &app{stdin: strings.NewReader(""), stdout: terminal, stderr: terminal, getenv: func(string) string { return "" }}
		read := make(chan []byte)
		go func() {
			out, _ := io.ReadAll(master) // EIO when the terminal is closed
			read <- out
		}()
		a.main(t.Context(), args)
		terminal.Close()
		out := <-read
		if len(out) == 0 || bytes.ContainsAny(out, "\x1b\a") {
			t.Errorf("%s shows %q", args[0], out)
		}
	}
}

// TestAttackJSONDrivesTheTerminal: JSON may hold control characters above ASCII as they
// are, and the agent chooses the name of its conversation.
func TestAttackJSONDrivesTheTerminal(t *testing.T) {
	state := t.TempDir()
	run := filepath.Join(state, "sbx-devc", "runs", "20260102-150405-ab12cd")
	if err := os.MkdirAll(run, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(run, "summary.json"),
		[]byte(`{"folder": "/x", "sessionId": "a\u009b2J\u202eb"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	master, terminal := testenv.Terminal(t)
	a := &app{stdin: strings.NewReader(""), stdout: terminal, stderr: terminal, getenv: func(name string) string {
		return map[string]string{"XDG_STATE_HOME": state}[name]
	}}
	read := make(chan []byte)
	go func() {
		out, _ := io.ReadAll(master) // EIO when the terminal is closed
		read <- out
	}()
	a.main(t.Context(), []string{"ls", "--all", "--json"})
	terminal.Close()
	if out := string(<-read); !strings.Contains(out, "2J") || strings.ContainsAny(out, "\u009b\u202e") {
		t.Errorf("it shows %q", out)
	}
}

// A person who gives - by mistake is told so, instead of a program that waits.
func TestATerminalIsNoFile(t *testing.T) {
	for _, command := range []string{"validate", "fix"} {
		_, terminal := testenv.Terminal(t)
		var out, said bytes.Buffer
		a := &app{stdin: terminal, stdout: &out, stderr: &said, getenv: func(string) string { return "" }}
		code := a.main(t.Context(), []string{command, "-"})
		terminal.Close()
		if code != exitNoCheck || !strings.Contains(said.String(), "standard input is a terminal") ||
			!strings.Contains(said.String(), "hint: ") || out.Len() > 0 {
			t.Errorf("%s ends with %d and says %q %q", command, code, out.String(), said.String())
		}
	}
}

// lockedWithEscapes returns a dev container whose lock has escapes wherever it
// has text of its own.
func lockedWithEscapes(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	var said bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: io.Discard, stderr: &said, getenv: func(string) string { return "" }}
	if code := a.main(t.Context(), []string{"init", dir, "--template", "claude"}); code != 0 {
		t.Fatalf("init ends with %d: %s", code, &said)
	}
	name := filepath.Join(dir, filepath.FromSlash(lock.Path))
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	l, err := lock.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	const escapes = "\x1b]52;c;b3duZWQ=\a\x1b[2J"
	l.Options["x"+escapes] = "y"
	l.Template.Digest += escapes
	l.Claude.Version += escapes
	l.SbxInit.Image += escapes
	l.Images = []lock.Image{{Reference: "a" + escapes}}
	if err := os.WriteFile(name, l.Encode(), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Attack: what the model says and what a tool prints drives the terminal on which
// the run shows the agent's work.
func TestAttackTheAgentsWorkDrivesTheTerminal(t *testing.T) {
	enginetest.Connect(t)
	enginetest.Carried(t)
	const evil = "\x1b]52;c;ZXZpbA==\a\x1b[2Jgone\u202e"
	api := httptest.NewServer(&fakeapi.Server{APIKey: "sk-ant-key-of-this-test", Script: fakeapi.Script{
		Turns: []fakeapi.Turn{{Text: "first " + evil, Bash: []string{`printf '\033]52;c;ZXZpbA==\007\033[2Jgone'`}}}, Final: "last " + evil,
	}})
	t.Cleanup(api.Close)
	project := t.TempDir()
	if os.Geteuid() == 0 { // the agent never is root
		if err := os.Chown(project, 1000, 1000); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"ANTHROPIC_API_KEY": "sk-ant-key-of-this-test", "SBX_DEVC_UPSTREAM": api.URL, "XDG_STATE_HOME": t.TempDir()}
	master, terminal := testenv.Terminal(t)
	a := &app{stdin: strings.NewReader(""), stdout: terminal, stderr: terminal,
		getenv: func(name string) string { return env[name] }, self: builtProgram(t)}
	read := make(chan []byte)
	go func() {
		out, _ := io.ReadAll(master) // EIO when the terminal is closed
		read <- out
	}()
	code := a.main(t.Context(), []string{"run", project, "do it"})
	terminal.Close()
	out := <-read
	for _, want := range []string{"Claude Code 2", "● Bash: printf", `    \x1b]52;c;ZXZpbA==\a\x1b[2Jgone`, `last \x1b]52`} {
		if !bytes.Contains(out, []byte(want)) {
			t.Errorf("the terminal does not show %q", want)
		}
	}
	if code != exitOK || bytes.ContainsAny(out, "\x1b\a\u202e") {
		t.Errorf("ends with %d and shows %q", code, out)
	}
}
