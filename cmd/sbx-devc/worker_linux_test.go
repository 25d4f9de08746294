package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/fakeapi"
	"github.com/org/claude-sandbox/internal/test/enginetest"
	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/session/worker"
)

// TestWorker is a program's time with exec --json-lines: the real engine, git and Claude
// Code; the model is scripted. The clients of examples/ share its project, and what was
// fetched for it.
func TestWorker(t *testing.T) {
	testenv.Root(t)
	enginetest.Connect(t)
	enginetest.Carried(t)
	w := newWalk(t, 1000)
	w.sh("a repository", w.project,
		"git init -q; git config user.name ann; git config user.email a@b; echo text >README.md; mkdir sub; echo x >sub/x; "+
			"git add .; git commit -qm first")
	c := startWorker(t, w, "--workspace", "clone", w.project)

	ready := c.last(`{"id":"1","op":"ensure"}`, "ready")
	if !*ready.Started || *c.last(`{"id":"1","op":"ensure"}`, "ready").Started {
		t.Error("the second ensure started another sandbox")
	}
	exit := c.last(`{"id":"e","op":"exec","command":["sh","-c","cat; pwd; id -u; echo problem >&2; exit 7"],"stdin":"in ä\n","cwd":"sub"}`,
		"exit")
	if *exit.Exit != 7 || c.text("stdout") != "in ä\n/workspace/sub\n1000\n" || c.text("stderr") != "problem\n" {
		t.Errorf("exec: %d %q %q", *exit.Exit, c.text("stdout"), c.text("stderr"))
	}
	if e := c.last(`{"id":"e","op":"exec","command":["pwd"],"cwd":"nowhere"}`, "error"); e.Error != worker.BadCwd {
		t.Errorf("cwd: %+v", e)
	}
	if m := c.last(`{"id":"e","op":"exec","command":["nothing-of-this-name"]}`, "exit"); *m.Exit != 127 {
		t.Errorf("no program: %d %s", *m.Exit, c.text("stderr"))
	}
	if e := c.last(`{"id":"e","op":"exec","command":["sleep","60"],"timeout":"300ms"}`, "error"); e.Error != worker.TimedOut {
		t.Errorf("timeout: %+v", e)
	}
	c.send(`{"id":"long","op":"exec","command":["sh","-c","echo begun; sleep 60"]}`)
	c.await("long", "stdout")
	c.send(`{"id":"c","op":"cancel","target":"long"}`)
	if e := c.await("long", "error"); e.Error != worker.Cancelled {
		t.Errorf("cancel: %+v", e)
	}

	w.script.Script = fakeapi.Script{
		Turns: []fakeapi.Turn{{Bash: []string{"pwd; echo made >made; test -z \"$(git -C /workspace status --short)\" && echo clean"}}},
		Final: "it is done"}
	usage := c.last(`{"id":"p","op":"prompt","prompt":"make it","workflow":"one","instructions":"be brief","allowed_tools":["Bash"]}`, "usage")
	result := c.of("result")
	if result == nil || !*result.OK || result.Text != "[scripted] it is done" || usage.Requests < 2 || usage.Input == 0 ||
		usage.USD == 0 || c.of("event") == nil {
		t.Errorf("prompt: %+v %+v", result, usage)
	}
	if all := c.text("event"); !strings.Contains(all, "/workspace/.sbx-worktrees/one") || !strings.Contains(all, `clean`) {
		t.Errorf("the prompt did not work in its worktree, or that shows in the project: %s", all)
	}
	asked := w.script.Requests()
	last := asked[len(asked)-1].Body
	for _, want := range []string{"be brief", `"Bash"`} {
		if !strings.Contains(last, want) {
			t.Errorf("the model was not told %s", want)
		}
	}
	if strings.Contains(last, `"name":"Edit"`) {
		t.Error("a tool that is not allowed was offered")
	}
	finished := c.last(`{"id":"f","op":"finish","workflow":"one"}`, "finished")
	c.last(`{"id":"e","op":"exec","command":["sh","-c","git log --format=%s workflow/one; git worktree list | wc -l; ls -A"]}`, "exit")
	if got := c.text("stdout"); got != "What the workflow one left uncommitted\nfirst\n1\n.git\n.sbx-worktrees\nREADME.md\nsub\n" ||
		len(finished.Head) != 40 {
		t.Errorf("finish leaves %q %+v", got, finished)
	}
	c.last(`{"id":"e","op":"exec","command":["sh","-c","echo two >two"],"workflow":"two"}`, "exit")
	stopped := c.last(`{"id":"s","op":"stop"}`, "stopped")
	if stopped.Run != ready.Run {
		t.Errorf("stop: %+v", stopped)
	}
	if e := c.last(`{"id":"e","op":"exec","command":["true"]}`, "error"); e.Error != worker.NotRunning {
		t.Errorf("after stop: %+v", e)
	}
	if err := errors.Join(c.in.Close(), c.cmd.Wait()); err != nil {
		t.Error(err)
	}
	w.sh("nothing is left", w.project, "test -z \"$(docker ps -aq --filter name="+ready.Run+")\"")
	w.sh("its work", w.project,
		"sbx-devc apply "+ready.Run+" </dev/null; git log --all --format=%s >log; grep 'workflow one left' log; grep 'workflow two left' log")
	workerExamples(t, w)
}

// workerExamples runs the clients of examples/ on the walk's project.
func workerExamples(t *testing.T, w *walk) {
	const python = "/usr/bin/python3" // one that each user may start
	testenv.Program(t, python)
	for _, example := range []string{"python/worker.py", "go/main.go"} {
		text, err := os.ReadFile("../../examples/worker/" + example)
		if err == nil {
			err = os.WriteFile(filepath.Join(w.home, filepath.Base(example)), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	w.script.Script = fakeapi.Script{Turns: []fakeapi.Turn{{Bash: []string{"echo made >made"}}}, Final: "it is done"}
	out := w.sh("the Python client", w.home, python+" worker.py app 'make it'")
	if !strings.Contains(out, "success: [scripted] it is done\n") || !strings.Contains(out, " requests, $0.") ||
		!strings.Contains(out, "?? made\n") ||
		!strings.Contains(out, "workflow/task is at ") {
		t.Errorf("the Python client says\n%s", out)
	}
	build := exec.Command("go", "build", "-o", filepath.Join(w.home, "client"), "../../examples/worker/go")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w.script.Script = fakeapi.Script{
		Turns: []fakeapi.Turn{{Calls: []fakeapi.Call{{Name: "StructuredOutput", Input: map[string]any{"answer": "42"}}}}}}
	if out := w.sh("the Go client", w.home, "./client app 'what is it?'"); !strings.Contains(out, `success: {"answer":"42"}`) {
		t.Errorf("the Go client says\n%s", out)
	}
	asked := w.script.Requests()
	if last := string(asked[len(asked)-1].Body); strings.Contains(last, `"name":"Bash"`) {
		t.Error("the mode generate offers tools")
	}
}

// workerClient is a program that uses exec --json-lines.
type workerClient struct {
	*testing.T
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	id   string           // of the newest request of last
	seen []worker.Message // of that
}

func startWorker(t *testing.T, w *walk, args ...string) *workerClient {
	c := &workerClient{T: t, cmd: w.command(w.home, `exec sbx-devc exec --json-lines "$@"`)}
	c.cmd.Args = append(append(c.cmd.Args, "sh"), args...)
	c.cmd.Stderr = t.Output()
	in, err := c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.in, c.out = in, bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); c.cmd.Wait() })
	return c
}

func (c *workerClient) send(line string) {
	c.Helper()
	var r worker.Request
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		c.Fatal(err)
	}
	c.id, c.seen = r.ID, nil
	if _, err := fmt.Fprintln(c.in, line); err != nil {
		c.Fatal(err)
	}
}

// await reads to a message of a type about a request.
func (c *workerClient) await(id, kind string) worker.Message {
	c.Helper()
	for {
		line, err := c.out.ReadBytes('\n')
		if err != nil {
			c.Fatalf("waiting for %s of %s: %v; seen %+v", kind, id, err, c.seen)
		}
		var m worker.Message
		if err := json.Unmarshal(line, &m); err != nil {
			c.Fatalf("%v: %s", err, line)
		}
		if m.ID == c.id {
			c.seen = append(c.seen, m)
		}
		if m.ID == id && m.Type == kind {
			return m
		}
		if m.ID == id && m.Last {
			c.Fatalf("%s ended with %s, want %s", id, line, kind)
		}
	}
}

// last sends a request and reads to its last message, which has a type.
func (c *workerClient) last(line, kind string) worker.Message {
	c.Helper()
	c.send(line)
	if m := c.await(c.id, kind); m.Last {
		return m
	}
	c.Fatalf("%s of %s is not the last message", kind, line)
	return worker.Message{}
}

// text is the text of all messages of a type, and of the lines of Claude's in them.
func (c *workerClient) text(kind string) (all string) {
	for _, m := range c.seen {
		if m.Type == kind {
			all += m.Text + string(m.Event)
		}
	}
	return all
}

// of is the first message of a type.
func (c *workerClient) of(kind string) *worker.Message {
	for _, m := range c.seen {
		if m.Type == kind {
			return &m
		}
	}
	return nil
}
