package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/initproc"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// firstSecret stands for the session token in the environment of the
// container's first process. Its children have it too, as claude does.
const firstSecret = "SESSION_TOKEN=canary-5b5b"

// attackFirst tries what the agent's user must not be able to do to the first
// process of its own container, and prints one line for each.
func attackFirst() {
	for n := syscall.Signal(1); n < 65; n++ {
		signal.Ignore(n) // what is passed on to us must not end the attack
	}
	say := func(name string, err error) {
		word := "ok"
		if err != nil {
			word = "failed: " + err.Error()
		}
		fmt.Printf("%s: %s\n", name, word)
	}
	for _, name := range []string{"mem", "environ", "maps", "auxv", "stack", "syscall", "io"} {
		text, err := os.ReadFile("/proc/1/" + name)
		if err == nil && len(text) == 0 && name == "environ" {
			err = fmt.Errorf("it is empty")
		}
		say("read "+name, err)
	}
	_, err := os.ReadDir("/proc/1/fd")
	say("list descriptors", err)
	f, err := os.OpenFile("/proc/1/fd/1", os.O_WRONLY, 0)
	if err == nil {
		f.Close()
	}
	say("open its output", err)
	_, err = os.Readlink("/proc/1/exe")
	say("find its program", err)
	say("trace", unix.PtraceAttach(1))
	say("seize", unix.PtraceSeize(1))
	fd, err := unix.PidfdOpen(1, 0)
	if err == nil {
		_, err = unix.PidfdGetfd(fd, 1, 0)
	}
	say("take a descriptor", err)
	var b [8]byte
	_, err = unix.ProcessVMReadv(1, []unix.Iovec{{Base: &b[0], Len: 8}}, []unix.RemoteIovec{{Base: 0x400000, Len: 8}}, 0)
	say("read memory by a system call", err)
	say("write its memory", func() error {
		f, err := os.OpenFile("/proc/1/mem", os.O_RDWR, 0)
		if err == nil {
			f.Close()
		}
		return err
	}())
	say("limit its processor time", unix.Prlimit(1, unix.RLIMIT_CPU, &unix.Rlimit{Cur: 1, Max: 1}, nil))
	say("limit its memory", unix.Prlimit(1, unix.RLIMIT_AS, &unix.Rlimit{}, nil))
	for round := range 20 { // some deaths take a thread at the wrong moment
		for n := syscall.Signal(1); n < 65; n++ {
			_ = syscall.Kill(1, n)
			// With a code of the sender's choice, which the Go runtime takes
			// for a fault of its own.
			info := [128]byte{0: byte(n), 8: 0xff, 9: 0xff, 10: 0xff, 11: 0xff}
			_, _, _ = unix.RawSyscall(unix.SYS_RT_SIGQUEUEINFO, 1, uintptr(n), uintptr(unsafe.Pointer(&info)))
		}
		stat, err := os.ReadFile("/proc/1/stat")
		fields := strings.Fields(string(stat))
		if err == nil && len(fields) > 2 && fields[2] != "T" && fields[2] != "Z" {
			err = fmt.Errorf("it lives")
		}
		say("end or stop it with signals, round "+strconv.Itoa(round), err)
	}
	fmt.Println("the attacker is done")
}

// tryFamilies prints which kinds of sockets it can have.
func tryFamilies() {
	open := func(name string, domain, kind, protocol int) {
		fd, err := unix.Socket(domain, kind, protocol)
		if err == nil {
			unix.Close(fd)
		}
		fmt.Printf("%s: %v\n", name, err)
	}
	open("unix", unix.AF_UNIX, unix.SOCK_STREAM, 0)
	open("inet", unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	open("inet6", unix.AF_INET6, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK, 0)
	open("route", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)
	open("netfilter", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER)
	open("vsock", unix.AF_VSOCK, unix.SOCK_STREAM, 0)
	open("vsock datagrams", unix.AF_VSOCK, unix.SOCK_DGRAM, 0)
	for family := range 64 {
		if !slices.Contains([]int{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}, family) {
			fd, err := unix.Socket(family, unix.SOCK_STREAM, 0)
			if err == nil {
				unix.Close(fd)
			}
			if err != unix.EAFNOSUPPORT {
				fmt.Printf("family %d: %v\n", family, err)
			}
		}
	}
	// The upper half of the register is not the kernel's to look at.
	fd, _, errno := unix.RawSyscall(unix.SYS_SOCKET, 1<<32|unix.AF_VSOCK, unix.SOCK_STREAM, 0)
	if errno == 0 {
		unix.Close(int(fd))
	}
	fmt.Printf("vsock with a dirty register: %v\n", errno)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	fmt.Printf("pair: %v\n", err)
	if err == nil {
		unix.Close(pair[0])
		unix.Close(pair[1])
	}
	_, err = unix.Socketpair(unix.AF_TIPC, unix.SOCK_STREAM, 0)
	fmt.Printf("tipc pair: %v\n", err)
	params := make([]byte, 120)
	_, _, errno = unix.RawSyscall(425, 4, uintptr(unsafe.Pointer(&params[0])), 0)
	fmt.Printf("io_uring: %v\n", errno)
	var places uintptr
	_, _, errno = unix.RawSyscall(unix.SYS_IO_SETUP, 65536, uintptr(unsafe.Pointer(&places)), 0)
	fmt.Printf("io_setup: %v\n", errno)
	_, _, errno = unix.RawSyscall(1<<30|41, unix.AF_VSOCK, unix.SOCK_STREAM, 0)
	fmt.Printf("x32: %v\n", errno)
	fmt.Printf("own limit: %v\n", unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &unix.Rlimit{}))
}

// first runs `sbx-init reap -- argv` as the first process of a PID namespace
// and as the agent's user without capabilities, like the agent's container.
func first(t testing.TB, mode os.FileMode, argv ...string) *exec.Cmd {
	t.Helper()
	return firstWith(t, mode, nil, argv...)
}

// firstWith is first with flags of reap's.
func firstWith(t testing.TB, mode os.FileMode, flags []string, argv ...string) *exec.Cmd {
	t.Helper()
	bin := binaries(t)
	program := filepath.Join(t.TempDir(), "sbx-init")
	text, err := os.ReadFile(filepath.Join(bin, "sbx-init"))
	if err == nil {
		err = os.WriteFile(program, text, 0o755)
	}
	for dir := filepath.Dir(program); err == nil && dir != os.TempDir(); dir = filepath.Dir(dir) {
		err = os.Chmod(dir, 0o755)
	}
	if err == nil {
		err = os.Chmod(program, mode)
	}
	if err != nil {
		t.Fatal(err)
	}
	id := strconv.Itoa(agentUID)
	wrap := []string{"--pid", "--fork", "--mount-proc", testenv.Program(t, "setpriv"), "--reuid", id, "--regid", id, "--clear-groups",
		"--inh-caps=-all", "--bounding-set=-all", "--no-new-privs", program, "reap"}
	wrap = append(append(wrap, flags...), "--")
	cmd := exec.Command("unshare", append(wrap, argv...)...)
	cmd.Env = append(os.Environ(), firstSecret)
	cmd.Dir = "/"
	return cmd
}

func reapResult(t testing.TB, cmd *exec.Cmd) result {
	t.Helper()
	var out, errOut strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = waitFor(cmd)
	return result{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
}

// Attack: the agent's user against the first process of its own container,
// which holds the container's output and the session's token and runs as the
// same user.
func TestAttackTheContainersFirstProcess(t *testing.T) {
	for name, mode := range map[string]os.FileMode{"as run installs it": 0o111, "readable": 0o755} {
		t.Run(name, func(t *testing.T) {
			cmd := first(t, mode, filepath.Join(binaries(t), "agent"))
			cmd.Env = append(cmd.Env, agentEnv+"=first")
			r := reapResult(t, cmd)
			r.mustExit(t, 0)
			r.mustSay(t, "the attacker is done")
			for line := range strings.Lines(r.stdout) {
				if strings.HasSuffix(line, ": ok\n") {
					t.Errorf("the agent could %s", line)
				}
			}
			if strings.Contains(r.stdout, "canary") {
				t.Errorf("the token is out: %s", r.stdout)
			}
		})
	}
}

func TestReapPassesCodesSignalsAndStreams(t *testing.T) {
	for script, code := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -9 $$": 137, "sleep 0 & sleep 0 & wait; exit 3": 3} {
		r := reapResult(t, first(t, 0o111, "sh", "-c", script))
		if r.code != code {
			t.Errorf("%s: exit %d, want %d\n%s", script, r.code, code, r.stderr)
		}
	}
	reapResult(t, first(t, 0o111, "no-such-program")).mustExit(t, initproc.ExitNotFound)
	// A signal for the first process reaches the command; orphans are collected.
	r := reapResult(t, first(t, 0o111, "sh", "-c", `trap 'echo got TERM; exit 5' TERM
		(sleep 0.01 & exec true); kill -TERM 1; while :; do sleep 0.01; done`))
	r.mustExit(t, 5)
	r.mustSay(t, "got TERM")
	r = reapResult(t,
		first(t, 0o111, "sh", "-c",
			`(sh -c 'sleep 0.05 & echo $! > /dev/stderr') 2>&1 | { read pid; while [ -e /proc/$pid ]; do sleep 0.01; done; echo collected; }`))
	r.mustExit(t, 0)
	r.mustSay(t, "collected")
	// The command has its signals as they were, and no privilege.
	r = reapResult(t, first(t, 0o111, "grep", "-E", "^(SigIgn|SigBlk|NoNewPrivs|Seccomp|CapEff|CapBnd):", "/proc/self/status"))
	r.mustSay(t, "SigIgn:\t0000000000000000", "SigBlk:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2", "CapEff:\t0000000000000000",
		"CapBnd:\t0000000000000000")
}

// Attack: have the kernel write a program's memory, with the session's token, to
// a file or to a program of the host's.
func TestAttackDumpsOfMemory(t *testing.T) {
	if limit, err := exec.Command("sh", "-c", "ulimit -H -c").Output(); err != nil || string(limit) == "0\n" {
		testenv.Missing(t, "a limit of more than no memory to dump", fmt.Sprintf("ulimit -H -c says %q, %v", limit, err))
	}
	r := reapResult(t, first(t, 0o111, "sh", "-c", "ulimit -H -c; ulimit -c unlimited && echo LIFTED"))
	if !strings.HasPrefix(r.stdout, "0\n") || strings.Contains(r.stdout, "LIFTED") {
		t.Errorf("the limit of dumps is %s", r.stdout)
	}
}

func TestReapRefusesToPretend(t *testing.T) {
	bin := filepath.Join(binaries(t), "sbx-init")
	r := reapResult(t, exec.Command(bin, "reap", "--", "true"))
	r.mustExit(t, exitcode.Internal)
	r.mustSay(t, "first process of its container", "--init")
	r = reapResult(t, exec.Command(bin, "reap", "true"))
	r.mustExit(t, exitcode.Usage)
	// With capabilities left the promise would not hold.
	r = reapResult(t, exec.Command("unshare", "--pid", "--fork", "--mount-proc", bin, "reap", "--", "echo", "it ran"))
	r.mustExit(t, exitcode.Internal)
	r.mustSay(t, "the privileges are not gone", "--cap-drop ALL")
	if strings.Contains(r.stdout, "it ran") {
		t.Error("the command ran")
	}
}

// Attack: sockets that no packet filter sees, in both topologies, also past the
// filter that refuses them.
func TestAttackSocketsThatNoPacketFilterSees(t *testing.T) {
	agent := filepath.Join(binaries(t), "agent")
	fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)
	if err != nil {
		testenv.Missing(t, "sockets to the machine's host (AF_VSOCK)", err.Error())
	}
	unix.Close(fd)
	in := newInternet(t)
	single := newBox(t, in.Sandbox, openPolicy).command(agent)
	for name, cmd := range map[string]*exec.Cmd{"sidecar": first(t, 0o111, agent), "single": single} {
		t.Run(name, func(t *testing.T) {
			cmd.Env = append(cmd.Env, agentEnv+"=families")
			var r result
			in.Sandbox.Do(func() { r = reapResult(t, cmd) })
			r.mustExit(t, 0)
			for _, want := range []string{
				"unix: <nil>", "inet: <nil>", "inet6: <nil>", "route: <nil>", "pair: <nil>", "own limit: <nil>",
				"netfilter: protocol not supported", "vsock: address family not supported by protocol", "vsock datagrams: address family not supported",
				"vsock with a dirty register: address family not supported", "tipc pair: address family not supported",
				"io_uring: function not implemented", "io_setup: function not implemented",
			} {
				if !strings.Contains(r.stdout, want) {
					t.Errorf("it lacks %q", want)
				}
			}
			if strings.Contains(r.stdout, "family ") && strings.Contains(r.stdout, "\nfamily ") {
				t.Errorf("families that are open or fail otherwise:\n%s", r.stdout)
			}
			if testing.Verbose() {
				t.Log(r.stdout)
			}
		})
	}
}

// The programs of a run that start after a host was opened trust it, as those do that
// were there before.
func TestReapFollowsWhatIsOpenedLater(t *testing.T) {
	var published [2]string
	for i := range published {
		_, authority, err := certify("later.test")
		if err != nil {
			t.Fatal(err)
		}
		published[i] = string(authority)
	}
	cmd := firstWith(t, 0o755, []string{"--trust"}, "sh", "-c",
		`until test "$(cat /run/sbx-trust/sandbox.pem)" = "$SECOND"; do sleep 0.02; done
		until tail -n "$(echo "$SECOND" | wc -l)" /run/sbx-trust/bundle.pem | grep -qF "$(echo "$SECOND" | sed -n 3p)"; `+
			`do sleep 0.02; done; echo trusted`)
	const world = testenv.LeaveMounts +
		`mount -t tmpfs none /run && mkdir /run/sbx && install -d -m 777 /run/sbx-trust && echo "$FIRST" >/run/sbx/ca.pem || exit
		(until test -s /run/sbx-trust/bundle.pem; do sleep 0.02; done; echo "$SECOND" >/run/sbx/new; mv /run/sbx/new /run/sbx/ca.pem) & exec "$@"`
	inner := cmd.Args
	cmd.Args = append([]string{"unshare", "--mount", "sh", "-c", world, "sh"}, inner...)
	cmd.Env = append(cmd.Env, "FIRST="+published[0], "SECOND="+strings.TrimSpace(published[1]))
	r := reapResult(t, cmd)
	r.mustExit(t, 0)
	if !strings.Contains(r.stdout, "trusted") {
		t.Errorf("%+v", r)
	}
}
