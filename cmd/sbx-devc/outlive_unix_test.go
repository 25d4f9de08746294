//go:build unix

package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/org/claude-sandbox/sandbox"
)

// restless is a real run of the built program whose agent, in a session of its
// own and deaf to signals, writes to the workspace and fetches from an allowed
// server for ever.
type restless struct {
	*programRun
	arrived atomic.Int64 // requests at the server
}

func startRestless(t *testing.T) *restless {
	t.Helper()
	r := beginRestless(t)
	until(t, "the agent works", r.works)
	return r
}

func beginRestless(t *testing.T, flags ...string) *restless {
	t.Helper()
	r := &restless{}
	listener, err := net.Listen("tcp", net.JoinHostPort(bridgeAddress(t, "docker0"), "0"))
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: listener,
		Config: &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { r.arrived.Add(1) })}}
	server.Start()
	t.Cleanup(server.Close)
	loop := fmt.Sprintf(
		`setsid bash -c 'trap "" HUP INT TERM; while :; do echo x >>work; curl -s -m 2 http://%s/; sleep 0.05; done' >/dev/null 2>&1 & sleep 600`,
		listener.Addr())
	r.programRun = runProgram(t, []string{scripted(t, loop)}, append([]string{"--allow", listener.Addr().String()}, flags...)...)
	r.begin(t, "work on")
	return r
}

func (r *restless) works() bool { return r.arrived.Load() > 2 && r.written() > 2 }

func (r *restless) written() int64 {
	info, err := os.Stat(filepath.Join(r.Dir, "work"))
	if err != nil {
		return 0
	}
	return info.Size()
}

// stopsWorking waits until none of the run's containers runs, and then sees
// nothing written and nothing arrive any more.
func (r *restless) stopsWorking(t *testing.T) {
	t.Helper()
	until(t, "the containers end", func() bool { return len(r.containers(t)) == 0 })
	written, arrived := r.written(), r.arrived.Load()
	for range 20 {
		time.Sleep(50 * time.Millisecond) // 20 rounds of the agent
		if r.written() != written || r.arrived.Load() != arrived {
			t.Fatal("the agent works on without a supervisor")
		}
	}
}

// Attack: have the supervisor killed, as by taking the machine's memory, and work
// on without limits.
func TestAttackTheSupervisorIsKilled(t *testing.T) {
	r := startRestless(t)
	if err := r.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	r.stopsWorking(t)
	r.isReaped(t)
}

// again is another start of sbx-devc in the run's environment. It fails before it
// begins a run, for want of a prompt.
func (r *restless) again(t *testing.T) string {
	t.Helper()
	cmd := exec.Command(r.Path, "run", r.Dir, "--print")
	cmd.Env, cmd.Dir = r.Env, r.Dir
	out, err := cmd.CombinedOutput()
	if exitCodeOf(err) != exitNoInput {
		t.Errorf("%v: %s", err, out)
	}
	return string(out)
}

func exitCodeOf(err error) int {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return 0
}

// isReaped starts sbx-devc again: nothing is left of the run but its work and its
// records.
func (r *restless) isReaped(t *testing.T) {
	t.Helper()
	if entries, err := os.ReadDir(r.Dir); err != nil || len(entries) < 2 {
		t.Fatalf("the run has put nothing into the project, so there is nothing to reap: %v, %v", entries, err)
	}
	volumes := r.volumes(t)
	if len(volumes) == 0 {
		t.Error("there are no volumes to reap")
	}
	if said := r.again(t); strings.Count(said, "sbx-devc: reaped the run ") != 1 || !strings.Contains(said, "2 containers") {
		t.Errorf("it says %s", said)
	}
	if left := r.containers(t, "-a"); len(left) > 0 {
		t.Errorf("containers are left: %q", left)
	}
	for _, volume := range volumes {
		if exec.Command("docker", "volume", "inspect", volume).Run() == nil {
			t.Errorf("the volume %s is left", volume)
		}
	}
	entries, err := os.ReadDir(r.Dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "work" {
		t.Errorf("the project holds %v, %v; want the agent's work alone", entries, err)
	}
	logs, err := filepath.Glob(filepath.Join(r.state(), "runs", "*", sandbox.AuditFile))
	if err != nil || len(logs) != 1 {
		t.Errorf("the firewall's log is not kept: %q, %v", logs, err)
	}
	if said := r.again(t); strings.Contains(said, "reaped") {
		t.Errorf("it is reaped twice: %s", said)
	}
}

// volumes lists the volumes that the run's containers have for themselves.
func (r *restless) volumes(t *testing.T) (names []string) {
	t.Helper()
	for _, id := range r.containers(t, "-a") {
		out, err := exec.Command("docker", "inspect", "-f", `{{range .Mounts}}{{if eq .Type "volume"}}{{.Name}} {{end}}{{end}}`, id).Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range strings.Fields(string(out)) {
			// Those of Claude Code, sbx-init and caches are for later runs, too, and stay.
			if !strings.HasPrefix(name, "sbx-devc-claude-") && !strings.HasPrefix(name, "sbx-devc-init-") &&
				!strings.HasPrefix(name, "sbx-devc-cache-") {
				names = append(names, name)
			}
		}
	}
	return names
}

// Nothing of a run that lives is reaped: not by another process, not by another
// state folder, as another user and another machine have, and not by a machine
// that shares the folder.
func TestARunThatLivesIsNotReaped(t *testing.T) {
	r := startRestless(t)
	before := r.containers(t)
	mine := r.Env
	for _, state := range []string{"", t.TempDir()} { // its own, and another
		if state != "" {
			r.Env = append(slices.Clone(mine), "XDG_STATE_HOME="+state)
		}
		if said := r.again(t); strings.Contains(said, "reaped") {
			t.Errorf("it says %s", said)
		}
	}
	r.Env = mine
	if now := r.containers(t); len(before) != 2 || len(now) != 2 {
		t.Fatalf("%d containers ran, and %d do", len(before), len(now))
	}
	// A dead run is not reaped either by one who cannot know that it is dead.
	if err := r.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	r.stopsWorking(t)
	r.Env = append(slices.Clone(mine), "XDG_STATE_HOME="+t.TempDir())
	r.again(t)
	r.Env = mine
	notes, _ := filepath.Glob(filepath.Join(r.state(), "live", "*.json"))
	if len(notes) != 1 {
		t.Fatalf("notes: %q", notes)
	}
	note, err := os.ReadFile(notes[0])
	machine, hostErr := os.Hostname()
	if err != nil || hostErr != nil {
		t.Fatal(err, hostErr)
	}
	foreign := strings.ReplaceAll(string(note), fmt.Sprintf(`"machine":%q`, machine), `"machine":"another"`)
	if err := os.WriteFile(notes[0], []byte(foreign), 0o600); err != nil || foreign == string(note) {
		t.Fatal(err, foreign)
	}
	r.again(t)
	if left := r.containers(t, "-a"); len(left) != 2 {
		t.Errorf("containers of another machine are gone: %q", left)
	}
}

// Attack: have the supervisor stopped, and work on beyond the time limit.
func TestAttackTheSupervisorIsStoppedBeyondTheDeadline(t *testing.T) {
	var r *restless
	for limit := 5 * time.Second; r == nil || !r.works(); limit *= 3 { // a busy machine takes longer to begin
		r = beginRestless(t, "--timeout", limit.String())
		until(t, "the agent works", func() bool { return r.works() || strings.Contains(r.said(t), "is over: stopping") })
	}
	if err := r.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	r.stopsWorking(t)
	if err := r.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if code := endOf(t, r.programRun); code != exitTimeout {
		t.Errorf("exit code %d\n%s", code, r.said(t))
	}
	if left := r.containers(t, "-a"); len(left) > 0 {
		t.Errorf("containers are left: %q", left)
	}
}
