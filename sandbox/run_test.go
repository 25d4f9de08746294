package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/credproxy"
	"github.com/org/claude-sandbox/internal/fakeapi"
	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/workspace"
)

// TestClaudeWorksInTheSandbox runs the real Claude Code against a scripted
// model API: it edits the workspace and meets an allowed and a denied host.
func TestClaudeWorksInTheSandbox(t *testing.T) {
	e := connect(t)
	tr := (&trial{
		prompt: strings.NewReader("please write done.txt — the canary of the prompt is 71c0ffee\n"),
		git:    true,
		script: fakeapi.Script{
			Turns: []fakeapi.Turn{{Bash: []string{
				"echo finished > done.txt",
				"curl -sS --max-time 5 https://denied.example.com",
			}}},
			Final: "all done",
		},
	}).run(t, e)
	if tr.err != nil {
		t.Fatal(tr.err)
	}
	if !tr.result.Outcome.OK() || tr.result.ExitCode != 0 || !strings.Contains(tr.result.Agent.Text, "all done") {
		t.Errorf("the result is %+v, %+v", tr.result.Outcome, tr.result.Agent)
	}
	if text, err := os.ReadFile(tr.dir + "/done.txt"); err != nil || string(text) != "finished\n" {
		t.Errorf("done.txt holds %q, %v", text, err)
	}
	if hosts := tr.result.Egress.DeniedHosts(); len(hosts) != 1 || hosts[0] != "denied.example.com" {
		t.Errorf("denied hosts are %q", hosts)
	}
	for line := range strings.Lines(tr.stdout.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("a line of standard output is no JSON: %s", line)
		}
	}
	transcript, err := os.ReadFile(tr.result.Files.Transcript)
	if err != nil || string(transcript) != tr.stdout.String() {
		t.Errorf("the transcript differs from standard output: %d and %d bytes, %v", len(transcript), len(tr.stdout.String()), err)
	}
	for _, file := range []string{tr.result.Files.Audit, tr.result.Files.Summary} {
		if info, err := os.Stat(file); err != nil || info.Size() == 0 || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", file, info, err)
		}
	}
	requests := tr.api.Requests()
	if len(requests) < 2 || !requests[0].Authorized || !strings.Contains(requests[0].Body, "71c0ffee") {
		t.Errorf("the model API saw %d requests", len(requests))
	}
	if said := strings.Join(tr.said, "\n"); strings.Contains(said, "metered") ||
		tr.result.Usage.Output != int64(len(requests))*fakeapi.OutputTokens {
		t.Errorf("the proxy metered %+v in %d requests; said %q", tr.result.Usage, len(requests), said)
	}
	if tr.result.Timings.Firewall <= 0 || tr.result.Timings.Startup <= tr.result.Timings.SidecarReady {
		t.Errorf("timings are %+v", tr.result.Timings)
	}
	t.Logf("timings: %v", tr.result.Timings.milliseconds())
}

// What Claude Code's own process asks for is on record with its user and without
// a process: it hides which sockets it has, and the record names no process that
// was not seen to hold the socket.
func TestClaudesOwnQuestionsNameNoProcess(t *testing.T) {
	e := connect(t)
	const host = "own-question.example.com"
	tr := (&trial{
		options: runplan.Options{
			Claude: runplan.Claude{
				Headless: agent.Headless{ExtraArgs: []string{"--mcp-config", `{"mcpServers":{"x":{"type":"http","url":"http://` + host + `/"}}}`}}}},
		prompt: strings.NewReader("please wait\n"),
		script: fakeapi.Script{Turns: []fakeapi.Turn{{Bash: []string{"until grep -q own-question /run/sbx/audit.jsonl; do sleep 0.1; done"}}},
			Final: "all done"},
	}).run(t, e)
	if tr.err != nil {
		t.Fatal(tr.err)
	}
	rows := 0
	for _, row := range tr.result.Egress.Rows {
		if row.Host != host {
			continue
		}
		rows++
		if p := row.Process; p == nil || p.UID == nil || p.PID != 0 || p.Exe != "" || p.Cmd != "" {
			t.Errorf("recorded %+v, want a user alone", p)
		}
	}
	if rows == 0 {
		t.Error("Claude's question is not on record")
	}
}

func TestStreamsAndExitCodePassThrough(t *testing.T) {
	e := connect(t)
	input := strings.Repeat("line \x00\xff\n", 50_000)
	tr := (&trial{options: shell("cat; echo problem >&2; exit 37"), prompt: strings.NewReader(input)}).run(t, e)
	if tr.err != nil || tr.result.ExitCode != 37 {
		t.Errorf("exit code %d, %v; want 37", tr.result.ExitCode, tr.err)
	}
	if tr.stdout.String() != input {
		t.Errorf("%d bytes came back, want the %d that went in", len(tr.stdout.String()), len(input))
	}
	if got := summaryOf(t, tr).ExitCode; got != 37 {
		t.Errorf("summary.json says exit code %d", got)
	}
	if tr.stderr.String() != "claude: problem\n" {
		t.Errorf("standard error is %q", tr.stderr.String())
	}
	if tr.result.Outcome.Conclusion != agent.NoResult || !strings.HasSuffix(tr.result.Outcome.Message, "; its last words: problem") {
		t.Errorf("the conclusion is %+v although nothing said success", tr.result.Outcome)
	}
}

// keptSummary is what the tests read of summary.json.
type keptSummary struct {
	ExitCode           int
	Conclusion, Result string
	Message            string
}

func summaryOf(t *testing.T, tr *trial) (s keptSummary) {
	t.Helper()
	text, err := os.ReadFile(tr.result.Files.Summary)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		t.Error(err)
	}
	return s
}

// Claude ends with 0 and without a result: the process ends with 1, and so says
// the summary.
func TestSummaryHasTheExitCodeOfTheProcess(t *testing.T) {
	e := connect(t)
	tr := (&trial{options: shell("exit 0")}).run(t, e)
	if got := summaryOf(t, tr); got.ExitCode != 1 || tr.result.ExitCode != 1 || got.Conclusion != string(agent.NoResult) {
		t.Errorf("summary.json says %+v, the result %d", got, tr.result.ExitCode)
	}
}

func TestWrongKeyEndsTheRunEarly(t *testing.T) {
	e := connect(t)
	tr := (&trial{key: "another key than the canary"}).run(t, e)
	if !errors.Is(tr.err, ErrKey) || tr.result.Outcome.Conclusion != agent.AuthError {
		t.Errorf("got %v, %+v; want ErrKey", tr.err, tr.result.Outcome)
	}
	if got := summaryOf(t, tr).ExitCode; got != 78 || tr.result.ExitCode != got {
		t.Errorf("summary.json says exit code %d and the result %d, and the process ends with 78", got, tr.result.ExitCode)
	}
	// Claude alone would ask eleven times within three minutes.
	if n := len(tr.api.Requests()); n > 4 {
		t.Errorf("the API was asked %d times", n)
	}
}

func TestTimeLimit(t *testing.T) {
	e := connect(t)
	tr := (&trial{
		options: shell("trap 'echo interrupted; exit 5' INT; echo ready; while :; do sleep 0.1; done"),
		adjust:  func(p *runplan.Plan) { p.Timeout = runplan.Duration(2 * time.Second) },
	}).run(t, e)
	if !errors.Is(tr.err, ErrTimeout) || tr.result.ExitCode != 124 || tr.result.Outcome.Conclusion != agent.Timeout {
		t.Errorf("got %v, exit code %d, %+v", tr.err, tr.result.ExitCode, tr.result.Outcome)
	}
	if !strings.Contains(tr.stdout.String(), "interrupted") {
		t.Errorf("the agent was not asked to stop first: %q", tr.stdout.String())
	}
	if said := strings.Join(tr.said, "\n"); !strings.Contains(said, "warning: the time limit of 2s is over in 400ms") {
		t.Errorf("nobody was warned: %s", said)
	}
	if use := tr.result.Use; use == nil || use.PeakMemory < 1<<20 || use.PeakPIDs < 2 || use.CPU <= 0 {
		t.Errorf("it used %+v", use)
	}
	if text, err := os.ReadFile(tr.result.Files.Summary); err != nil || !strings.Contains(string(text), `"peakMemoryBytes": `) {
		t.Errorf("summary: %s %v", text, err)
	}
}

// Claude that waits for nothing, as behind a program that asks a person, is ended. One
// that writes goes on.
func TestIdleTimeLimit(t *testing.T) {
	e := connect(t)
	o := shell("trap 'echo interrupted; exit 5' INT; for i in 1 2 3 4; do echo $i; sleep 0.5; done; while :; do sleep 0.1; done")
	o.IdleTimeout = 3 * time.Second // of which a busy machine takes one
	tr := (&trial{options: o}).run(t, e)
	if !errors.Is(tr.err, ErrTimeout) || tr.result.ExitCode != 124 || tr.result.Outcome.Conclusion != agent.Timeout {
		t.Errorf("got %v, exit code %d, %+v", tr.err, tr.result.ExitCode, tr.result.Outcome)
	}
	if got := tr.stdout.String(); got != "1\n2\n3\n4\ninterrupted\n" {
		t.Errorf("the agent wrote %q", got)
	}
}

// Attack: the agent fills the host's disk. The run ends, what it wrote stays, and what
// lies in memory does not count.
func TestTheAgentCannotFillTheDisk(t *testing.T) {
	e := connect(t)
	for name, folder := range map[string]string{"the project": ".", "a hidden folder": "/home/agent/.claude/hidden"} {
		t.Run(name, func(t *testing.T) {
			o := shell("trap 'echo interrupted; exit 0' INT; head -c 60m /dev/zero >/tmp/memory; sleep 2.5; echo still here; " +
				// Only now: other programs fill the disk meanwhile, and then such a folder alone ends the run.
				"[ " + folder + " = . ] || mkdir -m 300 " + folder + "; for i in $(seq 1000); do head -c 4m /dev/zero >" + folder +
				"/$i || break; sleep 0.1; done")
			o.User.Limits.Disk = 40 << 20
			tr := (&trial{options: o}).run(t, e)
			if !errors.Is(tr.err, ErrDisk) || tr.result.ExitCode != 74 {
				t.Errorf("got %v, exit code %d, %+v", tr.err, tr.result.ExitCode, tr.result.Outcome)
			}
			if got := tr.stdout.String(); got != "still here\ninterrupted\n" {
				t.Errorf("the agent wrote %q", got)
			}
			if _, err := os.Stat(tr.dir + "/1"); err != nil && folder == "." {
				t.Errorf("the work is lost: %v", err)
			}
		})
	}
}

func TestSignalsReachTheAgent(t *testing.T) {
	e := connect(t)
	for _, c := range []struct {
		name, script string
		signals      []os.Signal
		code         int
		stdout       string
	}{
		{"the first is passed on", "trap 'echo got INT; exit 0' INT; echo ready; while :; do sleep 0.1; done",
			[]os.Signal{syscall.SIGINT}, 130, "got INT"},
		{"the second kills", "trap '' TERM; echo ready; while :; do sleep 0.1; done", []os.Signal{syscall.SIGTERM, syscall.SIGTERM}, 143, ""},
		{"a quit", "trap 'echo got TERM; exit 0' TERM; echo ready; while :; do sleep 0.1; done", []os.Signal{syscall.SIGQUIT}, 131, "got TERM"},
	} {
		t.Run(c.name, func(t *testing.T) {
			signals := make(chan os.Signal, len(c.signals))
			tr := (&trial{options: shell(c.script), signals: signals, during: func(*runplan.Plan, *workspace.Workspace) {
				for _, s := range c.signals {
					signals <- s
				}
			}}).run(t, e)
			var summary struct{ Error string }
			text, err := os.ReadFile(filepath.Join(tr.state, SummaryFile))
			if err := errors.Join(err, json.Unmarshal(text, &summary)); err != nil ||
				summary.Error != "the run was cancelled by a signal: "+c.signals[0].String() {
				t.Errorf("the summary's error is %q, %v", summary.Error, err)
			}
			if tr.result.ExitCode != c.code || tr.result.Outcome.Conclusion != agent.Cancelled || !strings.Contains(tr.stdout.String(), c.stdout) {
				t.Errorf("exit code %d, %+v, output %q", tr.result.ExitCode, tr.result.Outcome, tr.stdout.String())
			}
		})
	}
}

// TestAKilledRunLeavesASummary: nothing can be written after SIGKILL, so a
// summary that says so, and which project the run was of, is there before.
func TestAKilledRunLeavesASummary(t *testing.T) {
	e := connect(t)
	tr := &trial{options: shell("echo ready; cat")}
	prompt, finish := io.Pipe()
	tr.prompt = prompt
	var during, after struct{ Folder, Conclusion string }
	read := func(into any) {
		text, err := os.ReadFile(filepath.Join(tr.state, SummaryFile))
		if err := errors.Join(err, json.Unmarshal(text, into)); err != nil {
			t.Error(err)
		}
	}
	tr.during = func(*runplan.Plan, *workspace.Workspace) {
		defer finish.Close()
		read(&during)
	}
	tr.run(t, e)
	read(&after)
	if during.Folder != tr.result.Folder || during.Folder == "" || during.Conclusion != string(agent.NoResult) {
		t.Errorf("in the middle of the run of %s its summary says %+v", tr.result.Folder, during)
	}
	if after.Folder != during.Folder || after.Conclusion != string(tr.result.Outcome.Conclusion) {
		t.Errorf("after the run, which came to %q, its summary says %+v", tr.result.Outcome.Conclusion, after)
	}
}

func TestFailuresBeforeTheAgent(t *testing.T) {
	e := connect(t)
	t.Run("the firewall's image lacks iptables", func(t *testing.T) {
		tr := (&trial{options: shell("echo the agent ran"), adjust: func(p *runplan.Plan) { p.Sidecar.Image = "debian:bookworm-slim" }}).run(t, e)
		if !errors.Is(tr.err, ErrNoStart) || tr.result.ExitCode != 125 || !strings.Contains(tr.err.Error(), "iptables") {
			t.Errorf("got %v, exit code %d", tr.err, tr.result.ExitCode)
		}
		if strings.Contains(tr.stdout.String(), "the agent ran") {
			t.Error("the agent ran without a firewall")
		}
	})
	t.Run("no such image", func(t *testing.T) {
		tr := (&trial{options: shell("true"), adjust: func(p *runplan.Plan) { p.Agent.Image = "sbx-sandbox-test:none" }}).run(t, e)
		if !errors.Is(tr.err, ErrNoStart) || !strings.Contains(tr.err.Error(), "sbx-sandbox-test:none") {
			t.Errorf("got %v", tr.err)
		}
	})
	t.Run("no such program", func(t *testing.T) {
		tr := (&trial{options: runplan.Options{Claude: runplan.Claude{Command: []string{"no-such-program"}}}}).run(t, e)
		// The engine's init reports it itself on some engines.
		if tr.err == nil && tr.result.ExitCode != 127 || tr.err != nil && !errors.Is(tr.err, ErrNoStart) {
			t.Errorf("got %v, exit code %d", tr.err, tr.result.ExitCode)
		}
	})
}

// brokenPipe is a standard output whose reader has gone.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, syscall.EPIPE }

func TestALostReaderDoesNotStopTheTranscript(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/transcript")
	if err != nil {
		t.Fatal(err)
	}
	out := &output{to: brokenPipe{}}
	out.keep(&transcript{file: file, left: 1 << 20}, (&runplan.Plan{}).Redactor(nil))
	scanner := agent.NewScanner(out, nil)
	for range 3 {
		if _, err := io.WriteString(scanner, "{\"type\":\"x\"}\n"); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.close(); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("the loss is not reported: %v", err)
	}
	if text, err := os.ReadFile(file.Name()); err != nil || strings.Count(string(text), "\n") != 3 {
		t.Errorf("the transcript holds %q, %v", text, err)
	}
}

// Attack: the agent prints until the host's disk is full.
func TestAnAgentThatPrintsWithoutEndDoesNotFillTheDisk(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/transcript")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	told := 0
	out := &output{to: &all}
	out.keep(&transcript{file: file, left: 10, full: func() { told++ }}, (&runplan.Plan{}).Redactor(nil))
	for range 5 {
		if _, err := out.Write([]byte("12345678")); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.close(); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(file.Name())
	if err != nil || string(text) != "1234567812" || told != 1 || all.Len() != 40 {
		t.Errorf("the transcript holds %q, %v; told %d times; %d bytes were passed on", text, err, told, all.Len())
	}
}

func TestOutOfMemoryIsNamed(t *testing.T) {
	e := connect(t)
	tr := (&trial{
		options: runplan.Options{Claude: runplan.Claude{Command: []string{"python3", "-c", "x = bytearray(1 << 30)"}}},
		adjust:  func(p *runplan.Plan) { p.Agent.MemoryBytes = 64 << 20 },
	}).run(t, e)
	if said := strings.Join(tr.said, "\n"); tr.result.ExitCode != 137 || !strings.Contains(said, "--memory") {
		t.Errorf("exit code %d, said %q", tr.result.ExitCode, said)
	}
}

// The Action's outputs and annotations have the outcome alone.
func TestOutOfMemoryIsInTheOutcome(t *testing.T) {
	for conclusion, want := range map[agent.Conclusion]string{
		agent.NoResult: "claude ended: the kernel killed it", agent.Tampered: "claude ended",
	} {
		r := &run{host: Host{Say: func(string) {}}, result: Result{Outcome: agent.Outcome{Conclusion: conclusion, Message: "claude ended"}}}
		r.killed("the kernel killed it")
		if got := r.result.Outcome.Message; got != want {
			t.Errorf("%s: %q, want %q", conclusion, got, want)
		}
	}
}

// TestTwoRunsShareAFolder: the end of one must not take the protection from
// the other, whose mounts lie on the first one's placeholders.
func TestTwoRunsShareAFolder(t *testing.T) {
	t.Parallel()
	e := connect(t)
	prompt, finish := io.Pipe()
	notes := t.TempDir()
	longer := &trial{prompt: prompt, dir: newProject(t, false), live: notes, options: shell(`
echo ready; cat
mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit
for f in .vscode/tasks.json .devcontainer/devcontainer.json; do mkdir -p "$(dirname $f)"; echo evil > $f && echo "WROTE $f"; done`)}
	first := &trial{dir: longer.dir, live: notes, options: shell("echo ready; while [ ! -e /workspace/go-on ]; do sleep 0.05; done")}
	started, ended := make(chan struct{}), make(chan struct{})
	first.during = func(*runplan.Plan, *workspace.Workspace) { close(started) }
	go func() {
		defer close(ended)
		first.run(t, e)
	}()
	<-started // the first one holds the placeholders by now
	longer.during = func(*runplan.Plan, *workspace.Workspace) {
		defer finish.Close()
		if err := os.WriteFile(longer.dir+"/go-on", nil, 0o644); err != nil {
			t.Error(err)
		}
		<-ended
	}
	longer.run(t, e)
	if out := longer.stdout.String(); strings.Contains(out, "WROTE") || first.err != nil || longer.err != nil {
		t.Errorf("the folder lost its protection: %q, %v, %v", out, first.err, longer.err)
	}
	if said := strings.Join(longer.said, "\n"); !strings.Contains(said, "is in this folder, too") {
		t.Errorf("the second says %q", said)
	}
	if err := os.Remove(longer.dir + "/go-on"); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(longer.dir); err != nil || len(left) != 1 { // main.go
		t.Errorf("left in the project: %v %v", left, err)
	}
}

// BenchmarkStartup measures the way from the plan to the agent's start, and in turn that
// of 'docker run' with the same image from its start to its end.
func BenchmarkStartup(b *testing.B) {
	e := connect(b)
	tag := testImage(b, e)
	credential, err := credproxy.APIKey(canary)
	if err != nil {
		b.Fatal(err)
	}
	w := &workspace.Workspace{Dir: b.TempDir(), UID: 1000, GID: 1000, Writable: true}
	docker := testenv.Program(b, "docker")
	var startup, firewall, plain time.Duration
	for n := 0; b.Loop(); n++ {
		began := time.Now()
		if out, err := exec.Command(docker, "run", "--rm", "--entrypoint", "true", tag).CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		plain += time.Since(began)
		o := shell("true")
		o.ID, o.Image, o.FirewallImage = fmt.Sprintf("bench-%d-%d", os.Getpid(), n), tag, tag
		p, err := newPlan(o, runplan.Facts{Workspace: w})
		if err != nil {
			b.Fatal(err)
		}
		result, err := Run(b.Context(), e, p, Host{
			Prompt: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Say: func(string) {},
			Upstream: &url.URL{Scheme: "http", Host: "127.0.0.1:9"}, Credential: credential, StateDir: b.TempDir(),
		})
		if err != nil {
			b.Fatal(err)
		}
		startup, firewall = startup+result.Timings.Startup, firewall+result.Timings.Firewall
	}
	b.ReportMetric(float64(startup.Milliseconds())/float64(b.N), "startup-ms/op")
	b.ReportMetric(float64(firewall.Milliseconds())/float64(b.N), "firewall-ms/op")
	b.ReportMetric(float64(plain.Milliseconds())/float64(b.N), "docker-run-ms/op")
}
