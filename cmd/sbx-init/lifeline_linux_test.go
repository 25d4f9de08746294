package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/lifeline"
)

// lifelineSocket is where the agent's container joins the firewall's, see
// package initproc.
const lifelineSocket = "@sbx-init/lifeline"

// cling is an agent that wants to outlive its supervisor: it takes the processor
// from the container's first process, tries to come between that one and the
// firewall, fills the output so that whoever writes to it is stuck, and is deaf.
func cling() {
	for n := syscall.Signal(1); n < 65; n++ {
		signal.Ignore(n)
	}
	if conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: lifelineSocket, Net: "unix"}); err == nil {
		fmt.Println("CONNECTED")
		defer conn.Close()
	}
	threads, _ := os.ReadDir("/proc/1/task")
	for _, thread := range threads {
		tid, _ := strconv.Atoi(thread.Name())
		const idle = 5 // SCHED_IDLE
		var param int32
		_, _, _ = unix.RawSyscall(unix.SYS_SCHED_SETSCHEDULER, uintptr(tid), idle, uintptr(unsafe.Pointer(&param)))
		_ = unix.Setpriority(unix.PRIO_PROCESS, tid, 19)
	}
	for range 32 {
		spin := exec.Command("/proc/self/exe")
		spin.Env = append(os.Environ(), agentEnv+"=spin")
		spin.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := spin.Start(); err != nil {
			fmt.Println("spinning:", err)
		}
	}
	fmt.Println("ready")
	for { // until nobody reads any more
		_, _ = os.Stdout.Write(bytes.Repeat([]byte("x"), 4096))
	}
}

// tied is the firewall of a run and an agent that clings to its life. supervisor
// is the other end of the firewall's standard input.
func tied(t *testing.T, flags ...string) (firewall, agent *exec.Cmd, supervisor io.WriteCloser) {
	t.Helper()
	in := newInternet(t)
	b := newBox(t, in.Sandbox, quiet)
	b.flags = append([]string{"--sidecar", "--lifeline"}, flags...)
	firewall = b.command()
	supervisor, err := firewall.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := firewall.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	b.start(firewall)
	go lifeline.Keep(supervisor)
	said := bufio.NewReader(out)
	for _, want := range []string{`{"closed":true,"boot":"`, `{"ready":true`} {
		if line, err := said.ReadString('\n'); err != nil || !strings.HasPrefix(line, want) {
			t.Fatalf("the firewall says %q, %v", line, err)
		}
	}
	agent = firstWith(t, 0o111, []string{"--lifeline"}, filepath.Join(binaries(t), "agent"))
	agent.Env = append(agent.Env, agentEnv+"=cling")
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { read.Close() })
	agent.Stdout, agent.Stderr = write, write
	agent.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in.Sandbox.Do(func() { err = agent.Start() })
	write.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-agent.Process.Pid, syscall.SIGKILL) })
	if _, err := supervisor.Write([]byte{lifeline.Begin}); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReaderSize(read, 4096)
	for {
		line, err := lines.ReadString('\n')
		if strings.Contains(line, "CONNECTED") {
			t.Error("the agent could connect to the firewall")
		}
		if err != nil || line == "ready\n" {
			break // from now on nobody reads what it says; its exit code tells of a failure
		}
	}
	return firewall, agent, supervisor
}

// Attack: outlive the supervisor. Whatever it is that ends, the agent's container
// ends with it.
func TestAttackOutliveTheSupervisor(t *testing.T) {
	t.Run("the supervisor is killed", func(t *testing.T) {
		firewall, agent, supervisor := tied(t)
		supervisor.Close()
		endsInside(t, agent)
		if err := waitFor(firewall); exitCodeOf(err) != exitcode.Internal {
			t.Errorf("the firewall: %v", err)
		}
	})
	t.Run("the firewall's process is killed", func(t *testing.T) {
		firewall, agent, _ := tied(t)
		if err := firewall.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		endsInside(t, agent)
	})
	t.Run("the supervisor lives and forgets the time", func(t *testing.T) {
		firewall, agent, _ := tied(t, "--deadline", "2s")
		endsInside(t, agent)
		if err := waitFor(firewall); exitCodeOf(err) != exitcode.Internal {
			t.Errorf("the firewall: %v", err)
		}
	})
}

func endsInside(t *testing.T, agent *exec.Cmd) {
	t.Helper()
	if err := waitFor(agent); exitCodeOf(err) != exitcode.Internal {
		t.Errorf("the agent's container: %v", err)
	}
}

// A run without a firewall that holds its life does not begin.
func TestReapNeedsTheLifelineThatItIsPromised(t *testing.T) {
	in := newInternet(t)
	cmd := firstWith(t, 0o111, []string{"--lifeline"}, "echo", "it ran")
	var r result
	in.Sandbox.Do(func() { r = reapResult(t, cmd) })
	r.mustExit(t, exitcode.Internal)
	r.mustSay(t, "tying this container's life", "--lifeline")
	if strings.Contains(r.stdout, "it ran") {
		t.Error("the command ran")
	}
}

// holdForeign listens where the firewall should, as the agent's user.
func holdForeign() {
	door, err := net.ListenUnix("unix", &net.UnixAddr{Name: lifelineSocket, Net: "unix"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("ready")
	conn, _ := door.AcceptUnix()
	_, _ = io.Copy(io.Discard, conn)
}

// Attack: bind the name before the firewall does, and so hold the container's life.
func TestAttackAnotherUserHoldsTheLifeline(t *testing.T) {
	in := newInternet(t)
	cmd := asAgent(exec.Command(filepath.Join(binaries(t), "agent")))
	cmd.Env = append(os.Environ(), agentEnv+"=hold")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in.Sandbox.Do(func() { err = cmd.Start() })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	first := firstWith(t, 0o111, []string{"--lifeline"}, "echo", "it ran")
	var r result
	in.Sandbox.Do(func() { r = reapResult(t, first) })
	r.mustExit(t, exitcode.Internal)
	r.mustSay(t, "not root")
}

// A firewall that is told to end gives its supervisor the whole log; a long one is read elsewhere.
func TestTheSupervisorGetsTheLog(t *testing.T) {
	for name, tt := range map[string]struct {
		older string
		whole bool
	}{
		"two files": {`{"name":"older.example"}` + "\n", true},
		"long":      {strings.Repeat(`{"name":"older.example"}`+"\n", lifeline.MaxLog/24), false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t, newInternet(t).Sandbox, quiet)
			b.flags = []string{"--sidecar", "--lifeline"}
			if err := os.Mkdir(b.path("run"), 0o755); err != nil {
				t.Fatal(err)
			}
			b.write("run/audit.jsonl.1", tt.older)
			b.write("run/audit.jsonl", `{"name":"newer.example"}`+"\n")
			firewall := b.command()
			supervisor, err := firewall.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			defer supervisor.Close()
			out, err := firewall.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			b.start(firewall)
			said := bufio.NewReader(out)
			for range 2 { // closed, ready
				if _, err := said.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
			}
			if err := firewall.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(said)
			if err != nil {
				t.Fatal(err)
			}
			newer, err := os.ReadFile(b.path("run/audit.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			if want := tt.older + string(newer) + lifeline.LogEnd + "\n"; tt.whole != (string(got) == want) || len(got) > lifeline.MaxLog {
				t.Errorf("%d bytes: %.300q", len(got), got)
			}
			if whole := bytes.Contains(got, []byte(lifeline.LogEnd)); whole != tt.whole {
				t.Errorf("whole: %v", whole)
			}
			if err := waitFor(firewall); err != nil {
				t.Error(err)
			}
		})
	}
}
