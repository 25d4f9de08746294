//go:build unix

package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/fakeapi"
	"github.com/org/claude-sandbox/internal/test/canarytest"
	"github.com/org/claude-sandbox/internal/test/enginetest"
	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/session/journal"
)

// programRun is the built program's run in a project of its own, with its state in
// a folder of the test.
type programRun struct {
	*exec.Cmd // Dir is the project
	engine    *engine.Engine
	output    string // file with standard error, once it is started by begin
}

// runProgram prepares a run in an empty project.
func runProgram(t testing.TB, env []string, args ...string) *programRun {
	t.Helper()
	e := enginetest.Connect(t)
	enginetest.Carried(t)
	project := t.TempDir()
	if os.Geteuid() == 0 { // the agent never is root
		if err := os.Chown(project, 1000, 1000); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), builtProgram(t), append([]string{"run", project, "--print"}, args...)...)
	cmd.Env = append(os.Environ(), append([]string{"XDG_STATE_HOME=" + t.TempDir(), "ANTHROPIC_API_KEY=sk-ant-key-of-this-test"}, env...)...)
	cmd.Dir = project
	r := &programRun{Cmd: cmd, engine: e}
	t.Cleanup(func() {
		forms := canarytest.Forms("sk-ant-key-of-this-test")
		canarytest.Folder(t, r.state(), forms)
		canarytest.Folder(t, project, forms)
		if said, err := os.ReadFile(r.output); err == nil {
			canarytest.Text(t, "standard error", said, forms)
		}
	})
	return r
}

// scripted is a model API that has the agent run one command.
func scripted(t testing.TB, command string) (upstream string) {
	t.Helper()
	api := httptest.NewServer(&fakeapi.Server{APIKey: "sk-ant-key-of-this-test",
		Script: fakeapi.Script{Turns: []fakeapi.Turn{{Bash: []string{command}}}}})
	t.Cleanup(api.Close)
	return "SBX_DEVC_UPSTREAM=" + api.URL
}

// begin starts the run. When the test ends, so does the run, and nothing is left
// of it.
func (r *programRun) begin(t testing.TB, prompt string) {
	t.Helper()
	stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	r.output = stderr.Name()
	r.Stdin, r.Stderr = strings.NewReader(prompt), stderr
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = r.Process.Kill()
		_ = r.Wait()
		stderr.Close()
		for _, id := range r.containers(t, "-a") {
			_ = exec.Command("docker", "rm", "-fv", id).Run()
		}
	})
}

// said is what the run has printed for people.
func (r *programRun) said(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(r.output)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// containers lists the run's, with further words for docker ps.
func (r *programRun) containers(t testing.TB, flags ...string) []string {
	t.Helper()
	args := append([]string{"ps", "-q", "--filter", "label=" + runplan.LabelWorkspace + "=" + r.Dir}, flags...)
	out, err := exec.Command("docker", args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}

// state is where the run's program keeps its files.
func (r *programRun) state() (dir string) {
	for _, v := range r.Env {
		if value, ok := strings.CutPrefix(v, "XDG_STATE_HOME="); ok {
			dir = filepath.Join(value, "sbx-devc")
		}
	}
	return dir
}

// endOf waits for the program, and fails the test when it does not end.
func endOf(t *testing.T, cmd *programRun) int {
	t.Helper()
	late := time.AfterFunc(3*time.Minute, func() {
		t.Error("the program does not end")
		_ = cmd.Process.Kill()
	})
	defer late.Stop()
	_ = cmd.Wait() // a code is no failure of the test
	return cmd.ProcessState.ExitCode()
}

// An image may take minutes to come. A person who ends the run meanwhile, or closes the
// terminal, is not made to wait for it, and the exit code is the signal's. nohup works.
func TestRunIsInterruptedWhileItsImageComes(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close() // who connects is never answered
	for _, c := range []struct {
		under   []string
		signals []syscall.Signal
		code    syscall.Signal
	}{
		{nil, []syscall.Signal{syscall.SIGINT}, syscall.SIGINT},
		{nil, []syscall.Signal{syscall.SIGINT, syscall.SIGINT}, syscall.SIGINT},
		{nil, []syscall.Signal{syscall.SIGTERM}, syscall.SIGTERM},
		{nil, []syscall.Signal{syscall.SIGQUIT}, syscall.SIGQUIT},
		{nil, []syscall.Signal{syscall.SIGHUP}, syscall.SIGHUP},
		{[]string{"nohup"}, []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM}, syscall.SIGTERM},
	} {
		cmd := runProgram(t, nil, "--image", silent.Addr().String()+"/who/ever:v1")
		if c.under != nil {
			cmd.Path, cmd.Args = testenv.Program(t, c.under[0]), append(c.under, cmd.Args...)
		}
		cmd.Stdin = strings.NewReader("x")
		stderr, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(stderr).ReadString('\n'); !strings.Contains(line, "pulling") {
			t.Errorf("%q %v", line, err)
		}
		for _, sig := range c.signals {
			if err := cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Fatal(err)
			}
		}
		if code := endOf(t, cmd); code != exitSignal+int(c.code) {
			t.Errorf("%v: exit code %d", c, code)
		}
	}
}

// In "sbx-devc run … | head" the reader leaves, and an interrupt ends a reader
// as well. Whoever dies of that leaves an agent at work that nobody can stop.
func TestReaderOfTheOutputLeaves(t *testing.T) {
	t.Parallel()
	const key = "sk-ant-key-of-this-test"
	api := httptest.NewServer(&fakeapi.Server{APIKey: key, Script: fakeapi.Script{Turns: []fakeapi.Turn{
		// It sleeps so long that the engine tells what the container uses before that ends.
		{Bash: []string{"seq 20000; sleep 3"}},
		{Bash: []string{"echo done > after; echo " + key + " | base64; curl -m 5 https://denied.example.com"}},
	}}})
	defer api.Close()
	summary, log := filepath.Join(t.TempDir(), "summary.json"), filepath.Join(t.TempDir(), "log.jsonl")
	state := t.TempDir()
	cmd := runProgram(t, []string{"SBX_DEVC_UPSTREAM=" + api.URL, "XDG_STATE_HOME=" + state}, "--output-format", "stream-json",
		"--summary-file", summary, "--log", log, "--verbose")
	cmd.Stdin = strings.NewReader("x")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var people strings.Builder
	cmd.Stderr = &people
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(stdout, make([]byte, 20)); err != nil {
		t.Errorf("no output: %v", err)
	}
	stdout.Close()
	if code := endOf(t, cmd); code != exitSignal+int(syscall.SIGPIPE) {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(people.String(), "the reader of the output left") || !strings.Contains(people.String(), "transcript.jsonl") {
		t.Errorf("people read %s", people.String())
	}
	if _, err := os.Stat(filepath.Join(cmd.Dir, "after")); err != nil {
		t.Errorf("the agent did not go on: %v", err)
	}
	if left, err := cmd.engine.List(t.Context(), runplan.LabelWorkspace, cmd.Dir); err != nil || len(left) > 0 {
		t.Errorf("containers are left: %v %v", left, err)
	}
	var kept struct{ Conclusion string }
	text, err := os.ReadFile(summary)
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	if err != nil || kept.Conclusion != "success" {
		t.Errorf("summary: %s %v", text, err)
	}
	debug := checkLog(t, log, key, "tool", "answer", "network", "resources", "end", "note")
	if !strings.Contains(people.String(), "debug: start: the firewall is verified ms=") {
		t.Errorf("people read %s", people.String())
	}
	all, err := filepath.Glob(filepath.Join(state, "sbx-devc", "runs", debug, journal.DebugFile))
	if err != nil || len(all) != 1 {
		t.Fatalf("there is no %s of %s: %q, %v", journal.DebugFile, debug, all, err)
	}
	checkLog(t, all[0], key, "start", "tool", "answer", "network", "resources", "end", "note")
}

// checkLog errs unless a file of records is about all of these and shows no key. It returns
// the run that they are of.
func checkLog(t *testing.T, name, key string, about ...string) (run string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil || strings.Contains(string(text), key) || strings.Contains(string(text), base64.StdEncoding.EncodeToString([]byte(key))) {
		t.Errorf("%s: %s, %v", name, text, err)
	}
	for line := range strings.Lines(string(text)) {
		var record struct{ What, Run string }
		if err := json.Unmarshal([]byte(line), &record); err != nil || record.Run == "" {
			t.Errorf("%s: %s: %v", name, line, err)
		}
		about, run = slices.DeleteFunc(about, func(what string) bool { return what == record.What }), record.Run
	}
	if len(about) > 0 {
		t.Errorf("%s has no record about %q: %s", name, about, text)
	}
	return run
}

// Claude asks again for minutes. A person at the silent terminal meanwhile learns
// what it waits for.
func TestModelAPIThatIsNotThere(t *testing.T) {
	t.Parallel()
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody.Close()
	cmd := runProgram(t, []string{"SBX_DEVC_UPSTREAM=http://" + nobody.Addr().String()})
	cmd.Stdin = strings.NewReader("x")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(3*time.Minute, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	var people strings.Builder
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		people.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "try 1 of") {
			_ = cmd.Process.Signal(os.Interrupt) // the rest is the same
		}
	}
	if code := endOf(t, cmd); code != exitSignal+int(syscall.SIGINT) {
		t.Errorf("exit code %d", code)
	}
	if text := people.String(); strings.Count(text, "sbx-devc: warning: the model API cannot be reached: ") != 1 ||
		!strings.Contains(text, nobody.Addr().String()) || !strings.Contains(text, "answered 502") {
		t.Errorf("people read %s", text)
	}
}

// A model API that never answers is an end of its own, long before Claude gives up
// and before any time limit, and the message names it.
func TestModelAPIThatNeverAnswersEndsTheRun(t *testing.T) {
	t.Parallel()
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody.Close()
	for name, upstream := range map[string]string{"nobody listens": "http://" + nobody.Addr().String(),
		"no such name": "https://model.invalid"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			summary := filepath.Join(t.TempDir(), "summary.json")
			cmd := runProgram(t, []string{"SBX_DEVC_UPSTREAM=" + upstream}, "--summary-file", summary, "--timeout", "100s")
			cmd.Stdin = strings.NewReader("x")
			var people strings.Builder
			cmd.Stderr = &people
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if code := endOf(t, cmd); code != exitFailed {
				t.Errorf("exit code %d", code)
			}
			var kept struct{ Conclusion, Message string }
			text, err := os.ReadFile(summary)
			if err == nil {
				err = json.Unmarshal(text, &kept)
			}
			if err != nil || kept.Conclusion != "api_error" || !strings.Contains(kept.Message, upstream) {
				t.Errorf("summary: %s %v", text, err)
			}
			if !strings.Contains(people.String(), "error: the model API cannot be reached: "+upstream) {
				t.Errorf("people read %s", people.String())
			}
		})
	}
}
