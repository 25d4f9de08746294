package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// screen is a program on a real terminal.
type screen struct {
	t      *testing.T
	tmux   string
	socket string
}

func newTerminal(t *testing.T, columns, lines int, command string) *screen {
	t.Helper()
	tt := &screen{t: t, tmux: testenv.Program(t, "tmux"), socket: filepath.Join(t.TempDir(), "tmux")}
	tt.run("new-session", "-d", "-x", fmt.Sprint(columns), "-y", fmt.Sprint(lines), command)
	t.Cleanup(func() { exec.Command(tt.tmux, "-S", tt.socket, "kill-server").Run() }) //nolint:errcheck // it may have ended
	return tt
}

func (tt *screen) run(args ...string) string {
	tt.t.Helper()
	cmd := exec.Command(tt.tmux, append([]string{"-S", tt.socket, "-f", "/dev/null"}, args...)...)
	cmd.Env = append(os.Environ(), "TERM=xterm", "CI=", "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	if err != nil {
		tt.t.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return string(out)
}

// expect waits for text on the screen, which it returns, and then presses keys.
func (tt *screen) expect(text string, keys ...string) (shown string) {
	tt.t.Helper()
	deadline := time.Now().Add(2 * time.Minute) // a machine may be busy with other tests
	for ; ; time.Sleep(20 * time.Millisecond) {
		shown = tt.run("capture-pane", "-p", "-J")
		if strings.Contains(shown, text) {
			break
		}
		if time.Now().After(deadline) {
			tt.t.Fatalf("the screen does not show %q:\n%s", text, shown)
		}
	}
	tt.press(keys...)
	return shown
}

func (tt *screen) press(keys ...string) {
	tt.t.Helper()
	for _, key := range keys {
		tt.run("send-keys", key)
	}
}

// askedProject is a project whose files name a host, and the command that asks
// about it.
func askedProject(t *testing.T, environment string) (dir, command string) {
	t.Helper()
	testenv.Slow(t)
	dir = t.TempDir()
	for name, text := range map[string]string{"package.json": "{}", ".npmrc": "registry=https://npm.corp.example/\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	program, err := exec.LookPath("sbx-devc")
	if err != nil {
		t.Fatal(err)
	}
	return dir, fmt.Sprintf("CI= %s %s init %s; echo exit=$?; cat", environment, program, dir)
}

// The lines at whose end init waits.
const (
	atTemplate = "Template: a number from 1 to 11, or Enter for claude-node:"
	atPresets  = "Presets to add to anthropic, github, npm, vscode: numbers turn on or off, Enter goes on:"
	atHosts    = "The project's files name them: numbers turn on or off, Enter goes on:"
	atWorkflow = "Add a GitHub workflow? [y/N]"
	atLast     = "Write the dev container? [Y/n]"
)

// TestInitAsks goes through init's questions: a host that the repository names
// is allowed when somebody checks it, and not by going on. The subject of a question
// is on the screen, also on a small one.
func TestInitAsks(t *testing.T) {
	for _, tt := range []struct {
		name           string
		columns, lines int
		check          bool // the host
		want           string
	}{
		{"GoingOnAllowsNoHost", 100, 40, false, `"allow": [],`},
		{"CheckingAllowsTheHost", 100, 40, true, `"allow": ["npm.corp.example"],`},
		{"SmallTerminal", 30, 12, true, `"allow": ["npm.corp.example"],`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, command := askedProject(t, "")
			term := newTerminal(t, tt.columns, tt.lines, command)
			term.expect(atTemplate, "Enter")
			term.expect(atPresets, "Enter")
			term.expect("[ ]  1  npm.corp.example")
			if tt.check {
				term.expect(atHosts, "1", "Enter")
				term.expect("[x]  1  npm.corp.example")
			}
			term.expect(atHosts, "Enter")
			term.expect(atWorkflow, "Enter")
			term.expect("preset  npm: ")
			if tt.check && tt.lines > 20 { // of a small screen the first lines have gone up
				term.expect("host    npm.corp.example")
			}
			term.expect(atLast, "Enter")
			term.expect("exit=0")
			text, err := os.ReadFile(filepath.Join(dir, ".devcontainer", "sandbox.jsonc"))
			if err != nil || !strings.Contains(string(text), tt.want) {
				t.Errorf("%v: want %s in\n%s", err, tt.want, text)
			}
			if _, err := os.Stat(filepath.Join(dir, ".github")); err == nil {
				t.Error("a workflow was written unasked")
			}
			dockerfile, err := os.ReadFile(filepath.Join(dir, ".devcontainer", "Dockerfile"))
			if err != nil || !strings.Contains(string(dockerfile), "FROM node:22") {
				t.Errorf("the proposed template was not taken: %v", err)
			}
		})
	}
}

// TestInitWritesNothingUnlessItIsAgreed: Ctrl-C at a question, the end of the
// input, and no at the last.
func TestInitWritesNothingUnlessItIsAgreed(t *testing.T) {
	questions := []string{atTemplate, atPresets, atHosts, atWorkflow, atLast}
	for _, tt := range []struct {
		name     string
		question int
		keys     []string
		exit     string
	}{
		{"CtrlCAtTheFirst", 0, []string{"C-c"}, "exit=130"}, {"CtrlCAtTheHosts", 2, []string{"C-c"}, "exit=130"},
		{"CtrlCAtTheLast", 4, []string{"C-c"}, "exit=130"}, {"EndAtTheFirst", 0, []string{"C-d"}, "exit=77"},
		{"EndAtTheLast", 4, []string{"C-d"}, "exit=77"}, {"No", 4, []string{"n", "Enter"}, "exit=77"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, command := askedProject(t, "")
			term := newTerminal(t, 80, 70, command)
			for _, q := range questions[:tt.question] {
				term.expect(q, "Enter")
			}
			term.expect(questions[tt.question], tt.keys...)
			term.expect(tt.exit)
			nothingWritten(t, dir)
		})
	}
}

func nothingWritten(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("there is %v (%v), want what was there before", entries, err)
	}
}

// TestInitAsksAgain: an answer that is none is asked for again, on every kind of
// terminal.
func TestInitAsksAgain(t *testing.T) {
	for _, environment := range []string{"", "TERM=dumb", "NO_COLOR=1"} {
		dir, command := askedProject(t, environment)
		term := newTerminal(t, 80, 90, command)
		term.expect(atTemplate, "99", "Enter")
		term.expect(`"99" is not a number from 1 to 11`, "x", "Enter")
		term.expect(`"x" is not a number from 1 to 11`, "2", "Enter")
		const atPresets = "Presets to add to anthropic, github, vscode: numbers turn on or off, Enter goes on:" // of the template claude
		term.expect(atPresets, "0", "Enter")
		term.expect(`"0" is not a number`, "Enter")
		term.expect(atHosts, "7", "Enter")
		term.expect(`"7" is not a number from 1 to 1`, "Enter")
		term.expect(atWorkflow, "maybe", "Enter")
		term.expect(`"maybe" is neither y nor n`, "n", "Enter")
		term.expect(atLast, "y", "Enter")
		term.expect("exit=0")
		if _, err := os.Stat(filepath.Join(dir, ".devcontainer", "Dockerfile")); err != nil {
			t.Error(err)
		}
	}
}

// TestInitAsksFirstWhereADevContainerExists: the first question is what becomes
// of it, and none of the answers is an overwriting that was not asked for.
func TestInitAsksFirstWhereADevContainerExists(t *testing.T) {
	const mine = "{\n  // mine\n  \"image\": \"debian:13\", \"remoteUser\": \"dev\"\n}\n"
	for _, tt := range []struct {
		name   string
		keys   []string
		screen []string // what comes then, each answered with Enter
		exit   string
		want   string // in the configuration afterwards
	}{
		{"Extend", []string{"1", "Enter"}, []string{atHosts, "Put the firewall into this dev container? [Y/n]"}, "exit=0", `"./firewall"`},
		{"Replace", []string{"2", "Enter"}, []string{atTemplate, atPresets, atHosts, atWorkflow, atLast}, "exit=0", `"workspaceMount"`},
		{"Stop", []string{"3", "Enter"}, nil, "exit=77", mine},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, command := askedProject(t, "")
			config := filepath.Join(dir, ".devcontainer", "devcontainer.json")
			if err := os.Mkdir(filepath.Dir(config), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(config, []byte(mine), 0o644); err != nil {
				t.Fatal(err)
			}
			term := newTerminal(t, 100, 40, command)
			term.expect("There is a dev container", tt.keys...)
			for _, question := range tt.screen {
				term.expect(question, "Enter")
			}
			term.expect(tt.exit)
			text, err := os.ReadFile(config)
			if err != nil || !strings.Contains(string(text), tt.want) || strings.Contains(string(text), "npm.corp.example") {
				t.Errorf("%v: want %s in\n%s", err, tt.want, text)
			}
		})
	}
}

// In a repository's subfolder the first question is which of both is meant: git does
// not work in a container of a part of a repository.
func TestInitAsksWhetherTheRepositoryIsMeant(t *testing.T) {
	for key, written := range map[string]string{"1": ".", "2": "part"} {
		t.Run(written, func(t *testing.T) {
			dir, command := askedProject(t, "")
			if out, err := exec.Command(testenv.Program(t, "git"), "init", "-q", dir).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if err := os.Mkdir(filepath.Join(dir, "part"), 0o755); err != nil {
				t.Fatal(err)
			}
			command = "cd " + dir + "/part; " + strings.Replace(command, " init "+dir, " init", 1)
			term := newTerminal(t, 100, 40, command)
			term.expect("This is a part of the repository "+dir, key, "Enter")
			if key == "1" {
				for _, question := range []string{atTemplate, atPresets, atHosts, atWorkflow} {
					term.expect(question, "Enter")
				}
			} else {
				for _, question := range []string{"Template: a number from 1 to 11", "Presets to add to", atWorkflow} {
					term.expect(question, "Enter")
				}
			}
			term.expect(atLast, "Enter")
			term.expect("exit=0")
			for _, folder := range []string{".", "part"} {
				_, err := os.Stat(filepath.Join(dir, folder, ".devcontainer", "devcontainer.json"))
				if (err == nil) != (folder == written) {
					t.Errorf("in %s: %v", folder, err)
				}
			}
		})
	}
}
