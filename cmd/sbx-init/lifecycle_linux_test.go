package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/initproc"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// quiet is a policy without names, for tests of everything but the network.
const quiet = `{"network": {"mode": "none"}}`

func TestExitCodes(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, quiet)
	plain := b.path("work/plain")
	if err := os.WriteFile(plain, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	bad := b.path("work/bad-interpreter")
	if err := os.WriteFile(bad, []byte("#!/no/such/shell\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		argv []string
		code int
	}{
		"success":          {[]string{"true"}, 0},
		"its own":          {[]string{"sh", "-c", "exit 42"}, 42},
		"70 of its own":    {[]string{"sh", "-c", "exit 70"}, 70},
		"killed":           {[]string{"sh", "-c", "kill -KILL $$"}, 137},
		"terminated":       {[]string{"sh", "-c", "kill -TERM $$"}, 143},
		"not found":        {[]string{"no-such-command"}, initproc.ExitNotFound},
		"no such file":     {[]string{"/no/such/file"}, initproc.ExitNotFound},
		"no interpreter":   {[]string{bad}, initproc.ExitNotFound},
		"not executable":   {[]string{plain}, initproc.ExitNoExec},
		"a folder":         {[]string{"/etc"}, initproc.ExitNoExec},
		"behind two --":    {[]string{"sh", "-c", `test "$1" = -- && exit 3`, "sh", "--"}, 3},
		"an empty command": {[]string{""}, initproc.ExitNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			r := b.run(tt.argv...)
			r.mustExit(t, tt.code)
			if (tt.code == initproc.ExitNotFound || tt.code == initproc.ExitNoExec) && !strings.Contains(r.stderr, "sbx-init: error: starting ") {
				t.Errorf("stderr: %q", r.stderr)
			}
		})
	}
}

func TestUsageErrors(t *testing.T) {
	bin := filepath.Join(binaries(t), "sbx-init")
	for _, args := range []string{
		"", "frobnicate", "run", "run --policy p", "run -- true", "run --policy p true", "run --policy p --polcy q -- true",
		"run --policy p --sidecar -- true", "run --policy p --sidecar --user x", "check", "check a b", "check a:0 --policy p",
		"check a:b:c --policy p", "plan", "plan x", "version x", "tunnel x", "run --help", "shim", "run --policy p --user= -- true",
	} {
		t.Run(args, func(t *testing.T) {
			out, err := exec.Command(bin, strings.Fields(args)...).CombinedOutput()
			if code := exitCodeOf(err); code != exitcode.Usage {
				t.Errorf("exit %d, want %d: %s", code, exitcode.Usage, out)
			}
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			if len(lines) != 2 || !strings.HasPrefix(lines[0], "sbx-init: error: ") || !strings.HasPrefix(lines[1], "sbx-init: hint: ") {
				t.Errorf("want an error and a hint: %s", out)
			}
		})
	}
}

func exitCodeOf(err error) int {
	if exit, ok := err.(*exec.ExitError); ok {
		return exit.ExitCode()
	}
	if err != nil {
		return -1
	}
	return 0
}

func TestCommandKeepsStreamsFolderAndEnvironment(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, quiet)
	cmd := b.command("sh", "-c", `cat; echo to-stderr >&2; pwd; echo "$KEPT|$HOME|$USER|$LOGNAME"; id -u; id -g; ls /proc/self/fd | wc -l`)
	cmd.Env = append(cmd.Env, "KEPT=a b\nc", "HOME=/root", "USER=root", "LOGNAME=root")
	cmd.Stdin = strings.NewReader("from stdin\n")
	leak, err := os.Open("/etc/shadow") // as an engine might leave one open
	if err != nil {
		t.Fatal(err)
	}
	defer leak.Close()
	cmd.ExtraFiles = []*os.File{leak}
	r := b.finish(cmd)
	r.mustExit(t, 0)
	want := fmt.Sprintf("from stdin\n%s\na b\nc|/|54321|54321\n54321\n54321\n4\n", b.path("work"))
	if r.stdout != want {
		t.Errorf("stdout %q, want %q", r.stdout, want)
	}
	if r.stderr != "to-stderr\n" {
		t.Errorf("stderr %q", r.stderr)
	}
}

func TestUsersOfTheImage(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, quiet)
	for name, tt := range map[string]struct {
		user string
		code int
		says string
	}{
		"by name":       {"nobody", 0, "65534 /nonexistent nobody"},
		"by number":     {"65534", 0, "65534 /nonexistent nobody"},
		"with group":    {"nobody:7", 0, "65534 /nonexistent nobody"},
		"root":          {"root", exitcode.Internal, "is root"},
		"root's number": {"0:1000", exitcode.Internal, "is root"},
		"unknown":       {"no-such-user", exitcode.Internal, "no-such-user"},
		"no number":     {"nobody:x", exitcode.Internal, "no group number"},
		"minus one":     {"4294967295", exitcode.Internal, "4294967295"},
	} {
		t.Run(name, func(t *testing.T) {
			b.flags = []string{"--user", tt.user}
			r := b.sh("echo $(id -u) $HOME $USER; id -G")
			r.mustExit(t, tt.code)
			r.mustSay(t, tt.says)
		})
	}
	b.flags = []string{"--user", "nobody:7"}
	if r := b.sh("id -G"); r.stdout != "7\n" {
		t.Errorf("groups %q, want the given one alone", r.stdout)
	}
}

func TestSignalsReachTheCommand(t *testing.T) {
	in := newInternet(t)
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGWINCH} {
		t.Run(s.String(), func(t *testing.T) {
			b := newBox(t, in.Sandbox, quiet)
			name := strings.TrimPrefix(unix.SignalName(s), "SIG")
			cmd := b.command("sh", "-c", "trap 'exit 55' "+name+"; echo ready; while :; do sleep 0.01; done")
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			b.start(cmd)
			if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
				t.Fatalf("%q, %v", line, err)
			}
			if err := cmd.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
			if err := waitFor(cmd); exitCodeOf(err) != 55 {
				t.Errorf("%v, want exit 55", err)
			}
		})
	}
}

func TestOrphansAreReaped(t *testing.T) {
	testenv.Program(t, "ps")
	in := newInternet(t)
	for _, pid1 := range []bool{true, false} {
		t.Run(fmt.Sprintf("as PID 1: %v", pid1), func(t *testing.T) {
			b := newBox(t, in.Sandbox, quiet)
			b.pid1 = pid1
			// The orphan outlives its parent, says who took it in, and ends; unreaped,
			// it would stay in /proc.
			r := b.sh(`
				sh -c 'sh -c "
					until [ \$(ps -o ppid= -p \$\$) != $$ ]; do sleep 0.01; done
					ps -o ppid= -p \$\$ >parent; echo \$\$ >orphan" & exit 0'
				until [ -s orphan ]; do sleep 0.01; done
				i=0
				while [ -e /proc/$(cat orphan) ]; do
					i=$((i+1)); [ $i -gt 500 ] && { cat /proc/$(cat orphan)/status; exit 9; }
					sleep 0.01
				done
				[ $(cat parent) = $PPID ] || { echo "taken in by $(cat parent), not $PPID"; exit 8; }
				echo "parent $PPID"`)
			r.mustExit(t, 0)
			if pid1 && r.stdout != "parent 1\n" {
				t.Errorf("%q, want PID 1 as the parent", r.stdout)
			}
		})
	}
}

func TestRunsAsPID1(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, openPolicy)
	b.pid1 = true
	r := b.sh("curl -sS --noproxy '*' http://ok.test/; exit 6")
	r.mustExit(t, 6)
	r.mustSay(t, "hello from")
}

func TestCtrlCArrivesOnceAndTheTerminalIsTheCommands(t *testing.T) {
	testenv.Program(t, "ps")
	in := newInternet(t)
	b := newBox(t, in.Sandbox, quiet)
	terminal, other := openTerminal(t)
	// One key press goes to the terminal's foreground group: once if only the
	// command is in it, and sbx-init, which passes signals on, is not.
	cmd := b.command("sh", "-c", `
		trap 'echo interrupted; exit 11' INT
		echo "group $(ps -o pgid=,tpgid= -p $$ | tr -s ' ') of $$, sbx-init's $(ps -o pgid= -p $PPID)"
		while :; do sleep 0.01; done`)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = other, other, other
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	b.start(cmd)
	other.Close()
	lines := bufio.NewReader(terminal)
	expect := func(want string) string {
		t.Helper()
		for {
			line, err := lines.ReadString('\n')
			if strings.Contains(line, want) {
				return line
			}
			if err != nil {
				t.Fatalf("waiting for %q: %v after %q", want, err, line)
			}
		}
	}
	var group, foreground, pid, ours int
	line := expect("group")
	if _, err := fmt.Sscanf(line, "group %d %d of %d, sbx-init's %d", &group, &foreground, &pid, &ours); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	if group != pid || foreground != pid || ours == pid {
		t.Errorf("%s: want the command alone in the foreground", line)
	}
	fmt.Fprint(terminal, "\x03")
	expect("interrupted")
	if err := waitFor(cmd); exitCodeOf(err) != 11 {
		t.Errorf("%v, want exit 11", err)
	}
}

// openTerminal makes a pseudo terminal, see pty(7).
func openTerminal(t *testing.T) (terminal, other *os.File) {
	t.Helper()
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { terminal.Close() })
	if err := terminal.SetDeadline(time.Now().Add(runLimit)); err != nil {
		t.Logf("the terminal knows no deadline: %v", err)
	}
	n, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(terminal.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		other, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return terminal, other
}

func TestVersionAndHelp(t *testing.T) {
	var out strings.Builder
	p := &program{stdin: strings.NewReader(""), stdout: &out, stderr: io.Discard}
	if code := p.main([]string{"version"}); code != 0 || !strings.HasPrefix(out.String(), "sbx-init ") {
		t.Errorf("version: exit %d, %q", code, out.String())
	}
	out.Reset()
	if code := p.main([]string{"help"}); code != 0 || !strings.Contains(out.String(), "run --policy FILE") {
		t.Errorf("help: exit %d, %q", code, out.String())
	}
}

// BenchmarkStart measures from the start of sbx-init to the first instruction
// of its command, in a fresh network namespace each time.
func BenchmarkStart(b *testing.B) {
	for name, policy := range map[string]string{
		"allowlist": `{"network": {"presets": ["anthropic", "github"], "allow": ["ok.test"]}}`,
		"none":      quiet,
	} {
		b.Run(name, func(b *testing.B) {
			var total time.Duration
			for b.Loop() {
				b.StopTimer()
				in := newInternet(b)
				box := newBox(b, in.Sandbox, policy)
				cmd := box.command("date", "+%s%N")
				var out strings.Builder
				cmd.Stdout, cmd.Stderr = &out, os.Stderr
				started := time.Now()
				b.StartTimer()
				box.start(cmd)
				err := waitFor(cmd)
				if err != nil {
					b.Fatal(err)
				}
				nanos, err := strconv.ParseInt(strings.TrimSpace(out.String()), 10, 64)
				if err != nil {
					b.Fatal(err)
				}
				total += time.Unix(0, nanos).Sub(started)
			}
			b.ReportMetric(float64(total.Microseconds())/1000/float64(b.N), "ms-to-command")
		})
	}
}
