package initproc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/lifeline"
	"github.com/org/claude-sandbox/internal/test/netnstest"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// agent is the user of the commands in these tests. It need not exist.
var agent = Account{UID: 54321, GID: 54321, Groups: []int{54321, 54322}, Name: "54321", Home: "/"}

// Init starts its own program again: in these tests that is the test binary,
// which does one of these jobs when its first argument names it.
var jobs = map[string]func(args []string) error{
	"job-run": func(args []string) error { // COMMAND, as the agent
		i := newInit()
		return i.Run(append(append([]string{"self", "job-become"}, agent.IDs()...), args...), agent.Environ(os.Environ()),
			func() error { return nil })
	},
	"job-become": func(args []string) error {
		a, err := ParseIDs(args[:3])
		if err != nil {
			return err
		}
		return Become(a, args[3:])
	},
	"job-confined": func(args []string) error { return BecomeConfined(args) },
	"job-watched": func(args []string) error { // COMMAND, until a line comes on standard input
		i := newInit()
		i.Watches = []func() error{func() error {
			_, _ = os.Stdin.Read(make([]byte, 1))
			return exitcode.With(71, errors.New("the watch has ended"))
		}}
		return i.Run(append(append([]string{"self", "job-become"}, agent.IDs()...), args...), os.Environ(), func() error { return nil })
	},
	"job-unready": func(args []string) error {
		return newInit().Run(append(append([]string{"self", "job-become"}, agent.IDs()...), args...), os.Environ(),
			func() error { return errors.New("not ready") })
	},
	"job-serve": func([]string) error {
		i := newInit()
		failures := make(chan error, 1)
		i.Failures = failures
		go func() {
			if n, _ := os.Stdin.Read(make([]byte, 1)); n > 0 {
				failures <- errors.New("a part has failed")
			}
		}()
		return i.Serve(func() error { fmt.Println("serving"); return nil })
	},
}

func newInit() *Init {
	return &Init{Tell: tell, Children: NewReaper()}
}

func tell(err error) int {
	code, show := exitcode.Of(err, exitcode.Internal)
	if show != nil {
		fmt.Fprintln(os.Stderr, show)
	}
	return code
}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && jobs[os.Args[1]] != nil {
		os.Exit(tell(jobs[os.Args[1]](os.Args[2:])))
	}
	os.Exit(m.Run())
}

// self prepares this program as the first process of a PID namespace, and with a
// network of its own.
func self(t testing.TB, args ...string) (cmd *exec.Cmd, out, errOut *bytes.Buffer) {
	t.Helper()
	testenv.Root(t)
	cmd = exec.Command("/proc/self/exe", args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNET}
	cmd.WaitDelay = time.Second
	out, errOut = &bytes.Buffer{}, &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, errOut
	return cmd, out, errOut
}

func TestRunReturnsTheCommandsExitCode(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		argv []string
		code int
	}{
		"success":        {[]string{"true"}, 0},
		"its own":        {[]string{"sh", "-c", "exit 42"}, 42},
		"killed":         {[]string{"sh", "-c", "kill -KILL $$"}, 137},
		"not found":      {[]string{"no-such-command"}, ExitNotFound},
		"not executable": {[]string{"/etc"}, ExitNoExec},
	} {
		cmd, _, errOut := self(t, append([]string{"job-run"}, tt.argv...)...)
		if err := cmd.Run(); cmd.ProcessState.ExitCode() != tt.code {
			t.Errorf("%s: exit %d (%v), want %d\n%s", name, cmd.ProcessState.ExitCode(), err, tt.code, errOut)
		}
	}
}

// The command has no capability in any set, cannot get one, and is filtered.
func TestTheCommandHasNoPrivilege(t *testing.T) {
	cmd, out, errOut := self(t, "job-run", "sh", "-c", "cat /proc/self/status; echo $HOME $USER; id -G")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, errOut)
	}
	for _, want := range []string{
		"CapInh:\t" + zeroCaps, "CapPrm:\t" + zeroCaps, "CapEff:\t" + zeroCaps, "CapBnd:\t" + zeroCaps, "CapAmb:\t" + zeroCaps,
		"NoNewPrivs:\t1", "Seccomp:\t2", "Uid:\t54321\t54321\t54321\t54321", "/ 54321\n54321 54322\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// Attack: BecomeConfined of a process that has privileges, which the command
// would inherit.
func TestAttackPrivilegesBelowConfined(t *testing.T) {
	cmd, out, errOut := self(t, "job-confined", "echo", "started")
	if err := cmd.Run(); err == nil || out.Len() > 0 || !strings.Contains(errOut.String(), "privileges are not gone") {
		t.Errorf("%v\n%s%s", err, out, errOut)
	}
}

func TestRunPassesSignalsOn(t *testing.T) {
	cmd, out, errOut := self(t, "job-run", "sh", "-c", `
		trap 'echo got it; exit 3' USR1
		echo ready
		while :; do sleep 0.01; done`)
	var piped io.Reader
	var err error
	cmd.Stdout = nil
	if piped, err = cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	buf := make([]byte, 100)
	for n := 0; !strings.Contains(out.String(), "ready"); {
		if n, err = piped.Read(buf); err != nil {
			t.Fatalf("%v\n%s%s", err, out, errOut)
		}
		out.Write(buf[:n])
	}
	if err := cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(piped)
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 3 || !strings.Contains(string(rest), "got it") {
		t.Errorf("exit %d (%v), %q\n%s", cmd.ProcessState.ExitCode(), err, rest, errOut)
	}
}

// The command ignores every signal that it can, and has children that start
// others, while a watch ends everything.
func TestAWatchEndsEverything(t *testing.T) {
	cmd, _, errOut := self(t, "job-watched", "sh", "-c",
		`trap '' HUP INT TERM USR1; grow() { sleep 20 & (sleep 20; grow) & }; grow; grow; echo started >&2; while :; do sleep 1; done`)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	_, _ = stdin.Write([]byte("\n"))
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 71 || !strings.Contains(errOut.String(), "the watch has ended") {
		t.Errorf("exit %d (%v)\n%s", cmd.ProcessState.ExitCode(), err, errOut)
	}
}

func TestTheCommandIsKilledWhenTheRestFails(t *testing.T) {
	cmd, out, errOut := self(t, "job-unready", "sleep", "60")
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != exitcode.Internal || !strings.Contains(errOut.String(), "not ready") {
		t.Errorf("%v\n%s%s", err, out, errOut)
	}
}

func TestServeEndsBySignalOrFailure(t *testing.T) {
	for name, tt := range map[string]struct {
		end  func(cmd *exec.Cmd, stdin io.Writer)
		code int
	}{
		"SIGTERM":   {func(cmd *exec.Cmd, _ io.Writer) { _ = cmd.Process.Signal(syscall.SIGTERM) }, 0},
		"a failure": {func(_ *exec.Cmd, stdin io.Writer) { _, _ = stdin.Write([]byte("\n")) }, exitcode.Internal},
	} {
		cmd, _, errOut := self(t, "job-serve")
		cmd.Stdout = nil
		stdin, err1 := cmd.StdinPipe()
		stdout, err2 := cmd.StdoutPipe()
		if err := errors.Join(err1, err2, cmd.Start()); err != nil {
			t.Fatal(err)
		}
		if _, err := stdout.Read(make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
		tt.end(cmd, stdin)
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() != tt.code {
			t.Errorf("%s: exit %d (%v), want %d\n%s", name, cmd.ProcessState.ExitCode(), err, tt.code, errOut)
		}
	}
}

func TestIDsAreReadAgain(t *testing.T) {
	got, err := ParseIDs(agent.IDs())
	if err != nil || got.UID != agent.UID || got.GID != agent.GID || fmt.Sprint(got.Groups) != fmt.Sprint(agent.Groups) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range [][]string{nil, {"1", "1"}, {"0", "1", ""}, {"-1", "1", ""}, {"4294967295", "1", ""},
		{"1", "x", ""}, {"1", "1", "1,y"}} {
		if a, err := ParseIDs(bad); err == nil {
			t.Errorf("%q: %+v", bad, a)
		}
	}
}

func TestFindAccount(t *testing.T) {
	for spec, want := range map[string]Account{
		"nobody":      {UID: 65534, GID: 65534, Groups: []int{65534}, Name: "nobody", Home: "/nonexistent"},
		"65534:7":     {UID: 65534, GID: 7, Groups: []int{7}, Name: "nobody", Home: "/nonexistent"},
		"54321":       {UID: 54321, GID: 54321, Name: "54321", Home: "/"},
		"54321:54322": {UID: 54321, GID: 54322, Groups: []int{54322}, Name: "54321", Home: "/"},
	} {
		if got, err := FindAccount(spec); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %+v, %v, want %+v", spec, got, err, want)
		}
	}
	for _, spec := range []string{"root", "0", "0:1000", "no-such-user", "nobody:x", "4294967295"} {
		if got, err := FindAccount(spec); err == nil {
			t.Errorf("%s: %+v", spec, got)
		}
	}
	env := agent.Environ([]string{"HOME=/root", "USER=root", "X=y"})
	if got := strings.Join(env, " "); got != "X=y HOME=/ USER=54321 LOGNAME=54321" {
		t.Errorf("environment %q", got)
	}
}

// While programs of ours run, no orphan is collected, and afterwards each is.
func TestNoChildIsCollectedDuringAPause(t *testing.T) {
	r := NewReaper()
	r.reap(0)
	for range 200 {
		var err error
		r.Pause(func() { err = exec.Command("sh", "-c", "exit 3").Run() })
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 3 {
			t.Fatalf("the program's status was taken away: %v", err)
		}
	}
}

// Both ends of a lifeline, in a network of their own.
func TestLifelineEndsBothContainers(t *testing.T) {
	for name, tt := range map[string]struct {
		limit time.Duration
		end   func(supervisor io.Closer)
		want  error
	}{
		"the supervisor is gone": {0, func(s io.Closer) { s.Close() }, lifeline.ErrEnded},
		"the time is over":       {time.Millisecond, func(io.Closer) {}, errDeadline},
	} {
		testenv.Root(t)
		sandbox := netnstest.New(t).Sandbox
		var firewall *Lifeline
		var err error
		sandbox.Do(func() { firewall, err = ListenLifeline(tt.limit) })
		if err != nil {
			t.Fatal(err)
		}
		r, w := io.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- firewall.Await(r) }()
		if _, err := w.Write([]byte{lifeline.Begin}); err != nil { // before the agent's container has joined
			t.Fatal(err)
		}
		var agentGone func() error
		sandbox.Do(func() { agentGone, err = JoinLifeline() })
		if err != nil {
			t.Fatal(err)
		}
		if tt.limit == 0 { // the agent's container has joined, and nobody else can
			for joins := true; joins; {
				sandbox.Do(func() {
					conn, err := net.Dial("unix", lifelineSocket)
					if joins = err == nil; joins {
						conn.Close()
					}
				})
			}
		}
		tt.end(w)
		if err := <-ended; !errors.Is(err, tt.want) {
			t.Errorf("%s: the firewall ends with %v, want %v", name, err, tt.want)
		}
		if err := agentGone(); !errors.Is(err, errFirewallEnded) {
			t.Errorf("%s: the agent's container ends with %v", name, err)
		}
	}
}

// Attack: begin the agent's command before the supervisor says so. The connection to
// the firewall's process is not enough, and its end is none.
func TestAttackACommandThatBeginsTooEarly(t *testing.T) {
	testenv.Root(t)
	sandbox := netnstest.New(t).Sandbox
	var firewall *Lifeline
	var err error
	sandbox.Do(func() { firewall, err = ListenLifeline(0) })
	if err != nil {
		t.Fatal(err)
	}
	joined := make(chan error, 1)
	go sandbox.Do(func() {
		_, err := JoinLifeline()
		joined <- err
	})
	conn, err := firewall.listener.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if err := <-joined; !errors.Is(err, errFirewallEnded) {
		t.Errorf("the command begins: %v", err)
	}
}

// Attack: another user listens where the agent's container joins.
func TestAttackLifelineOfAnotherUser(t *testing.T) {
	testenv.Root(t)
	sandbox := netnstest.New(t).Sandbox
	var l net.Listener
	var err error
	sandbox.As(agent.UID, func() { l, err = net.Listen("unix", lifelineSocket) })
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	sandbox.Do(func() { _, err = JoinLifeline() })
	if err == nil || !strings.Contains(err.Error(), "user 54321 listens there") {
		t.Errorf("joined: %v", err)
	}
}
