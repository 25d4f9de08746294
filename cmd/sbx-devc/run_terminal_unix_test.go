//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/fakeapi"
	"github.com/org/claude-sandbox/sandbox"
)

// onScreen starts a run on a terminal of its own, in a shell that goes on after it.
func onScreen(t *testing.T, script fakeapi.Script, args string) (*screen, *programRun) {
	t.Helper()
	api := httptest.NewServer(&fakeapi.Server{APIKey: "sk-ant-key-of-this-test", Script: script})
	t.Cleanup(api.Close)
	r := runProgram(t, []string{"SBX_DEVC_UPSTREAM=" + api.URL})
	rc := filepath.Join(t.TempDir(), "rc")
	text := "PS1='host$ '\ncd " + r.Dir + "\n"
	for _, v := range r.Env[len(os.Environ()):] {
		name, value, _ := strings.Cut(v, "=")
		text += fmt.Sprintf("export %s='%s'\n", name, value)
	}
	text += fmt.Sprintf("sbx() { %s \"$@\"; }\n", r.Path)
	if err := os.WriteFile(rc, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, id := range r.containers(t, "-a") {
			_ = r.engine.Remove(context.WithoutCancel(t.Context()), id)
		}
	})
	s := newTerminal(t, 100, 30, "bash --rcfile "+rc+" -i")
	s.expect("host$")
	s.press("before=$(stty -g); clear; sbx run "+args, "Enter")
	return s, r
}

// A person types sbx-devc run in the place of claude --dangerously-skip-permissions:
// Claude Code's own interface comes without a question, answers, and leaves the terminal
// as it was. The next day the conversation goes on, the prompts are in the history, and an
// image that is dropped on the terminal is one for Claude.
func TestClaudeOnATerminal(t *testing.T) {
	t.Parallel()
	script := fakeapi.Script{Turns: []fakeapi.Turn{{Bash: []string{"echo made > made"}}}, Final: "It is made."}
	s, r := onScreen(t, script, "--profile day; echo code=$?; [ \"$before\" = \"$(stty -g)\" ] && echo the terminal is as it was")
	screens := openScreens(t, "claude", r)
	begin := s.expect("bypass permissions on")
	s.shows(screens, "start")
	for _, question := range []string{"theme", "trust", "Yes", "login", "API key"} {
		if strings.Contains(begin, question) {
			t.Errorf("it asks about %q:\n%s", question, begin)
		}
	}
	s.press("make it", "Enter")
	s.expect("It is made.")
	if _, err := os.Stat(filepath.Join(r.Dir, "made")); err != nil {
		t.Error(err)
	}
	s.shows(screens, "answer")
	s.run("resize-window", "-x", "70", "-y", "20")
	s.shows(screens, "resized")
	s.run("resize-window", "-x", "100", "-y", "30")
	s.shows(screens, "answer")
	s.press("/clear", "Enter")
	waitFor(t, func() bool { return !strings.Contains(s.run("capture-pane", "-p"), "It is made.") })
	s.press("what now", "Enter")
	s.expect("It is made.")
	s.pressTwice("C-c", "again to exit")
	end := s.expect("the terminal is as it was")
	s.shows(screens, "end")
	first, _ := filepath.Glob(filepath.Join(onlyRun(t, r.state()), "conversation*.jsonl"))
	for name, want := range map[string]string{"conversation.jsonl": "what now", "conversation-": "make it"} {
		i := slices.IndexFunc(first, func(file string) bool { return strings.HasPrefix(filepath.Base(file), name) })
		if text, _ := os.ReadFile(append(first, "")[max(i, 0)]); i < 0 || len(first) != 2 || !strings.Contains(string(text), want) {
			t.Errorf("%s of %q lacks %q: %s", name, first, want, text)
		}
	}
	for _, want := range []string{"made  new", "sbx-devc run --resume ", "go on with this conversation in a sandbox: sbx-devc run --continue",
		"started in", "code=0"} {
		if !strings.Contains(end, want) {
			t.Errorf("the end lacks %q:\n%s", want, end)
		}
	}
	s.press("clear; sbx run --continue --profile day", "Enter")
	s.expect("bypass permissions on")
	s.expect("It is made.")
	s.expect("what now")
	waitFor(t, func() bool {
		s.press("Up") // in the history of prompts
		return strings.Contains(s.run("capture-pane", "-p"), "make it")
	})
	s.press("C-u")
	dropped := filepath.Join(r.Dir, "a dot.png")
	if err := os.WriteFile(dropped, dot(t), 0o644); err != nil {
		t.Fatal(err)
	}
	s.run("set-buffer", strings.ReplaceAll(dropped, " ", `\ `)+" ") // as terminals type a file that is dropped on them
	s.run("paste-buffer", "-p")
	s.expect("[Image #1]")
	s.press("C-u")
	s.press("/exit", "Enter")
	s.expect("started in")
	if left := r.containers(t, "-a"); len(left) > 0 {
		t.Errorf("containers are left: %v", left)
	}
}

// pressTwice presses a key that counts when it comes again while the screen says so, which
// it does for a second: a busy machine may need more tries.
func (tt *screen) pressTwice(key, again string) {
	tt.t.Helper()
	said := func() bool { return strings.Contains(tt.run("capture-pane", "-p"), again) }
	waitFor(tt.t, func() bool {
		tt.press(key)
		waitFor(tt.t, said)
		tt.press(key)
		waitFor(tt.t, func() bool { return !said() })
		return !strings.Contains(tt.run("capture-pane", "-p"), "bypass permissions on")
	})
}

// dot is an image.
func dot(t *testing.T) []byte {
	var out bytes.Buffer
	if err := png.Encode(&out, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A shell in the sandbox has the terminal's size, keys and colours, and its exit code is
// the run's.
func TestAShellOnATerminal(t *testing.T) {
	t.Parallel()
	s, _ := onScreen(t, fakeapi.Script{}, "--shell; echo code=$?")
	s.expect("agent@")
	s.press("clear; stty size; echo $TERM; id -un; grep NoNewPrivs /proc/self/status", "Enter")
	shown := s.expect("NoNewPrivs:")
	for _, want := range []string{"30 100", "tmux-256color", "agent", "NoNewPrivs:     1"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the shell does not show %q:\n%s", want, shown)
		}
	}
	s.run("resize-window", "-x", "70", "-y", "20")
	s.press("clear; until stty size | grep '^20 70'; do sleep 0.1; done", "Enter")
	s.expect("20 70")
	// The program that sleeps says so itself: then it has the terminal, and the key is its own.
	s.press("clear; sh -c 'echo it sle\"\"eps; exec sleep 1000'", "Enter")
	s.expect("it sleeps")
	s.press("C-c")
	s.press("echo 'a''b'; printf '\\033]0;EVIL\\a'; exit 7", "Enter")
	s.expect("code=7")
	if title := s.run("display-message", "-p", "#{pane_title}"); strings.Contains(title, "EVIL") {
		t.Errorf("the shell set the title: %s", title)
	}
}

// The clipboard of a person's terminal is a program's to write where the person says so, and
// on that terminal alone.
func TestTheClipboardOfATerminal(t *testing.T) {
	t.Parallel()
	s, _ := onScreen(t, fakeapi.Script{}, "--shell --clipboard; echo code=$?")
	s.run("set-option", "-s", "set-clipboard", "on")
	clipboard := func() string { return s.run("list-buffers", "-F", "#{buffer_sample}") }
	s.expect("agent@")
	s.press("printf '\\033]52;c;YWxsb3dlZA==\\a'", "Enter")
	waitFor(t, func() bool { return clipboard() == "allowed\n" })
	s.press("C-p", "C-q")
	s.expect("code=0")
	s.press("clear; sbx attach; echo left=$?", "Enter")
	s.expect("agent@")
	s.press("printf '\\033]52;c;c3RvbGVu\\a'; echo 'it is pri''nted'; exit 0", "Enter")
	s.expect("it is printed")
	s.expect("left=0")
	if got := clipboard(); got != "allowed\n" {
		t.Errorf("the clipboard holds %q", got)
	}
}

// A person looks into a run that goes on: a shell and a command in its sandbox, as the
// agent's user and without privileges, its state, and its end. A program that was started there
// ends with whoever started it.
func TestLookIntoARun(t *testing.T) {
	t.Parallel()
	script := fakeapi.Script{Turns: []fakeapi.Turn{{Bash: []string{"touch begun; for i in $(seq 900); do sleep 0.1; done"}}}}
	s, r := onScreen(t, script, "--name long 'work long' &")
	waitFor(t, func() bool { _, err := os.Stat(filepath.Join(r.Dir, "begun")); return err == nil })
	devc := func(stdin string, args ...string) (string, int) {
		t.Helper()
		cmd := exec.Command(r.Path, args...)
		cmd.Env, cmd.Dir, cmd.Stdin = r.Env, r.Dir, strings.NewReader(stdin)
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	if out, code := devc("in", "exec", "long", "--", "sh", "-c",
		"cat; id -u; pwd; grep -E 'CapEff|NoNewPrivs|Seccomp:' /proc/self/status; exit 5"); code != 5 ||
		out != "in1000\n/workspace\nCapEff:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n" {
		t.Errorf("exec ends with %d: %s", code, out)
	}
	for program, want := range map[string]int{"/etc/passwd": 126, "no-such-program": 127} {
		if out, code := devc("", "exec", "long", "--", program); code != want || !strings.Contains(out, program) {
			t.Errorf("exec of %s ends with %d: %s", program, code, out)
		}
	}
	if out, code := devc("", "exec", "--", "curl", "-sS", "-m", "5", "https://example.com"); code == 0 {
		t.Errorf("a command reaches what the agent does not: %s", out)
	}
	if out, code := devc("", "status", "--json", "long"); code != 0 || !strings.Contains(out, `"result": "running"`) ||
		!strings.Contains(out, `"name": "long"`) {
		t.Errorf("status ends with %d: %s", code, out)
	}
	if out, code := devc("", "status", "long"); code != 0 || !strings.Contains(out, "known when the run has ended") ||
		strings.Contains(out, "…") {
		t.Errorf("status for people ends with %d: %s", code, out)
	}
	if out, code := devc("", "apply", "long"); code != exitNoInput || !strings.Contains(out, "goes on: its commits") ||
		!strings.Contains(out, "sbx-devc stop") {
		t.Errorf("apply while the run goes on ends with %d: %s", code, out)
	}
	if out, code := devc("", "clean"); code != exitLocked || !strings.Contains(out, "sbx-devc stop") {
		t.Errorf("clean while the run goes on ends with %d: %s", code, out)
	}
	s.press("clear; sbx shell long; echo code=$?", "Enter")
	s.expect("agent@")
	s.press("sleep 777 & exit 3", "Enter")
	s.expect("code=3")
	killed := exec.Command(r.Path, "exec", "long", "--", "sleep", "778")
	killed.Env, killed.Dir = r.Env, r.Dir
	in, _ := killed.StdinPipe()
	defer in.Close()
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	agents := func() string {
		out, _ := devc("", "exec", "long", "--", "sh", "-c", `cat /proc/[0-9]*/cmdline | tr '\0' ' '`)
		return out
	}
	waitFor(t, func() bool { return strings.Contains(agents(), "sleep 778") })
	_ = killed.Process.Kill()
	_ = killed.Wait()
	waitFor(t, func() bool { return !strings.Contains(agents(), "sleep 77") })
	if out, code := devc("", "stop", "long"); code != 0 || !strings.Contains(out, "stopped") {
		t.Errorf("stop ends with %d: %s", code, out)
	}
	if out, code := devc("", "status", "long"); code != 0 || !strings.Contains(out, "cancelled") {
		t.Errorf("status ends with %d: %s", code, out)
	}
	if out, code := devc("", "exec", "--", "true"); code != exitNoInput || !strings.Contains(out, "no run goes on") {
		t.Errorf("exec ends with %d: %s", code, out)
	}
	if out, code := devc("", "usage"); code != 0 || !strings.Contains(out, "1 run ") {
		t.Errorf("usage ends with %d: %s", code, out)
	}
	if left := r.containers(t, "-a"); len(left) > 0 {
		t.Errorf("containers are left: %v", left)
	}
}

func waitFor(t *testing.T, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not come to that")
		}
	}
}

// A person leaves Claude's interface and comes back, suspends it and goes on, and the
// run goes on all the time. When the person's program is killed, the run ends in order.
func TestDetachAttachSuspend(t *testing.T) {
	t.Parallel()
	s, r := onScreen(t, fakeapi.Script{Final: "It is made."}, "-i 'begin with this'; echo code=$?")
	s.expect("bypass permissions on")
	s.expect("begin with this")
	s.expect("It is made.")
	screens := openScreens(t, "detach", r)
	transcript := func() string {
		text, _ := os.ReadFile(filepath.Join(onlyRun(t, r.state()), sandbox.TranscriptFile))
		return string(text)
	}
	s.shows(screens, "before")
	s.press("C-p", "C-q")
	s.expect("to end it: sbx-devc stop")
	s.expect("code=0")
	s.shows(screens, "detached")
	if up := r.containers(t); len(up) != 2 {
		t.Errorf("containers of the run that goes on: %v", up)
	}
	s.press("clear; sbx logs -f", "Enter")
	s.expect("> begin with this")      // as it was typed
	s.expect("[scripted] It is made.") // while the run goes on, and nobody is at its terminal
	s.press("C-c")
	s.press("clear; sbx attach; echo code=$?", "Enter")
	s.expect("bypass permissions on")
	s.shows(screens, "before")
	s.press("make it with sk-ant-key-of-this-test", "Enter") // a person pastes the key itself
	s.expect("make it with sk-ant-key-of-this-test")
	waitFor(t, func() bool { return strings.Contains(transcript(), "make it with [redacted]") }) // while the run goes on
	s.press("C-z")
	s.expect("Stopped")
	s.press("clear; stty -a | grep -o ' icanon'", "Enter")
	s.expect(" icanon")
	s.press("fg", "Enter")
	s.expect("bypass permissions on")
	s.expect("It is made.")
	clients, err := exec.Command("pgrep", "-f", r.Path+" attach$").Output()
	if err != nil {
		t.Fatal(err)
	}
	for pid := range strings.FieldsSeq(string(clients)) {
		_ = exec.Command("kill", "-9", pid).Run()
	}
	waitFor(t, func() bool { return len(r.containers(t, "-a")) == 0 })
	waitFor(t, func() bool {
		text, _ := os.ReadFile(filepath.Join(onlyRun(t, r.state()), "summary.json"))
		return strings.Contains(string(text), `"conclusion": "cancelled"`)
	})
	if out, err := exec.Command("grep", "-rl", "sk-ant-key-of-this-test", r.state()).Output(); len(out) > 0 ||
		!strings.Contains(transcript(), "[redacted]") {
		t.Errorf("the key is in %s, %v; the transcript is\n%s", out, err, transcript())
	}
}

// When a run's supervisor is killed, the person's terminal is as it was, and the
// containers end by themselves.
func TestTheSupervisorOfATerminalIsKilled(t *testing.T) {
	t.Parallel()
	s, r := onScreen(t, fakeapi.Script{}, "--shell; echo code=$?; stty -a | grep -o ' icanon'")
	s.expect("agent@")
	out, err := exec.Command("pgrep", "-f", r.Path+" run --shell --supervise-for").Output()
	if err != nil {
		t.Fatal(err)
	}
	_ = exec.Command("kill", "-9", strings.TrimSpace(string(out))).Run()
	shown := s.expect(" icanon")
	if !strings.Contains(shown, "the run's supervisor was ended by a signal: killed") || !strings.Contains(shown, "code=70") {
		t.Errorf("the screen shows\n%s", shown)
	}
	waitFor(t, func() bool { return len(r.containers(t)) == 0 })
}

// A prompt's run goes on without its terminal, and says at once by which name.
func TestAPromptDetached(t *testing.T) {
	t.Parallel()
	s, r := onScreen(t, fakeapi.Script{Turns: []fakeapi.Turn{{Bash: []string{"touch begun; sleep 4; touch done"}}}},
		"-d --name make 'make it'; echo code=$?")
	if shown := s.expect("code=0"); !strings.Contains(shown, "sbx-devc logs -f") {
		t.Errorf("the screen shows\n%s", shown)
	}
	// Two runs of a name at once could not be told apart.
	s.press("clear; sbx run -d --name make 'make it'; echo second=$?", "Enter")
	if shown := s.expect("second=75"); !strings.Contains(shown, "has the name make") {
		t.Errorf("the screen shows\n%s", shown)
	}
	s.press("clear; sbx logs -f", "Enter")
	s.expect("this answer was scripted")
	waitFor(t, func() bool { return len(r.containers(t, "-a")) == 0 })
	waitFor(t, func() bool { // the supervisor writes the report after that
		return exec.Command("pgrep", "-f", r.Path+" run -d --name make .*--supervise-for").Run() != nil
	})
	if _, err := os.Stat(filepath.Join(r.Dir, "done")); err != nil {
		t.Error(err)
	}
}
