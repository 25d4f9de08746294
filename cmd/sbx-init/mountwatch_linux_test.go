package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// protectedProject is a repository of the agent's user whose branch main has a
// .devcontainer and whose branch bare has none, beside an empty .vscode and a
// cache.
func protectedProject(t testing.TB) (dir string, host func(name string, args ...string)) {
	t.Helper()
	testenv.Root(t)
	dir = filepath.Join(t.TempDir(), "project")
	for d := filepath.Dir(dir); d != os.TempDir(); d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(dir, 0o755), os.Chown(dir, agentUID, agentUID)); err != nil {
		t.Fatal(err)
	}
	host = func(name string, args ...string) {
		t.Helper()
		cmd := asAgent(exec.Command(testenv.Program(t, name), args...))
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1",
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b.example", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b.example"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s %q: %v: %s", name, args, err, out)
		}
	}
	host("git", "init", "-q", "-b", "bare", ".")
	host("git", "commit", "-q", "--allow-empty", "-m", "one")
	host("git", "checkout", "-q", "-b", "main")
	host("sh", "-c", "mkdir .devcontainer .vscode cache && echo {} >.devcontainer/devcontainer.json")
	host("git", "add", "-A")
	host("git", "commit", "-q", "-m", "two")
	return dir, host
}

// protectedReap is `sbx-init reap -- sh -c script` as the first process of a PID
// namespace, in the project, whose protected paths are mounted as run and the
// templates do it.
func protectedReap(t testing.TB, dir, script string) *exec.Cmd {
	t.Helper()
	cmd := first(t, 0o111, "sh", "-c", script)
	const mounts = `set -e
		cd "$0"; mount --bind . .; cd "$0"
		mount --bind .git .git
		for p in .git/config .git/hooks .devcontainer; do mount --bind $p $p; mount -o remount,bind,ro $p; done
		mount -t tmpfs -o ro sbx .vscode
		mount -t tmpfs sbx cache
		cd "$0"; exec "$@"`
	at := 1 + len([]string{"--pid", "--fork", "--mount-proc"})
	args := append([]string{}, cmd.Args[:at]...)
	args = append(args, "--mount", "sh", "-c", mounts, dir)
	cmd.Args = append(args, cmd.Args[at:]...)
	return cmd
}

// tryToWrite is an agent that waits for its chance.
const tryToWrite = `echo ready
	while [ ! -e go-on ]; do
		for f in .git/config .git/hooks/x .devcontainer/devcontainer.json .vscode/tasks.json; do
			{ [ -e "${f%/*}" ] || mkdir -p "${f%/*}"; echo '#evil' >>$f; } 2>/dev/null
		done
	done
	echo it ended by itself`

// firstProcess is the one that unshare, which is cmd, has started.
func firstProcess(t testing.TB, cmd *exec.Cmd) int { return onlyChild(t, cmd.Process.Pid) }

// onlyChild is the one process that any thread of another has started. The kernel's list
// can lack it for a moment while processes come and go (proc_pid_children(5)).
func onlyChild(t testing.TB, pid int) (child int) {
	t.Helper()
	eventually(t, fmt.Sprintf("process %d has a child", pid), func() bool {
		lists, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(lists, func(list string) bool {
			text, _ := os.ReadFile(list)
			child, err = strconv.Atoi(strings.TrimSpace(string(text)))
			return err == nil
		})
	})
	return child
}

// whileItRuns starts cmd, calls f once it has said "ready", and waits.
func whileItRuns(t testing.TB, cmd *exec.Cmd, f func()) result {
	t.Helper()
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	var errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = in, &errOut, time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	ready := make([]byte, len("ready\n"))
	if _, err := io.ReadFull(out, ready); err == nil {
		pid := firstProcess(t, cmd)
		// The end of unshare alone is not that of its child.
		late := time.AfterFunc(runLimit, func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
		defer late.Stop()
		f()
	}
	rest, _ := io.ReadAll(out)
	_ = waitFor(cmd)
	return result{cmd.ProcessState.ExitCode(), string(ready) + string(rest), errOut.String()}
}

// Attack: the agent waits until somebody on the host removes, renames or
// replaces what is mounted read-only, and writes what comes to that place.
func TestAttackWaitUntilTheHostTakesAProtectedMountAway(t *testing.T) {
	for _, c := range []struct {
		command string
		gone    []string // what the words must name
	}{
		{"git remote add origin https://example.com/x", []string{".git/config"}}, // renames a new file over it
		{"git push -q -u elsewhere main", []string{".git/config"}},
		{"git checkout -q bare", []string{".devcontainer"}},
		{"git clean -fdq", []string{".vscode"}},
		{"rm -r .git/hooks", []string{".git/hooks"}},
		{"mv .devcontainer other", []string{".devcontainer"}}, // the mount goes along
		{"mv .git other", []string{".git/config", ".git/hooks"}},
	} {
		t.Run(c.command, func(t *testing.T) {
			t.Parallel()
			dir, host := protectedProject(t)
			host("sh", "-c",
				"git init -q --bare elsewhere.git && git remote add elsewhere ./elsewhere.git && echo elsewhere.git >>.git/info/exclude")
			r := whileItRuns(t, protectedReap(t, dir, tryToWrite), func() { host("sh", "-c", c.command) })
			r.mustExit(t, exitcode.Unprotected)
			for _, p := range c.gone {
				r.mustSay(t, filepath.Join(dir, p), "from outside", "start again")
			}
			if strings.Contains(r.stdout, "by itself") {
				t.Error("the agent was not ended")
			}
			text, _ := os.ReadFile(filepath.Join(dir, ".git/config"))
			t.Logf("in the moment between, the agent wrote %d lines to .git/config", bytes.Count(text, []byte("#evil")))
		})
	}
}

// Attack: the agent writes to git's configuration by another name that the file
// has. Where a host does not tell upper from lower case, .git/CONFIG is one.
func TestAttackWriteToGitsConfigByAnotherName(t *testing.T) {
	for _, how := range []string{"echo '#evil' >>same", ": >same", "sleep 0.2; cp .git/HEAD same"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			dir, host := protectedProject(t)
			host("ln", ".git/config", "same")
			r := whileItRuns(t, protectedReap(t, dir, "echo ready; chmod 600 same; "+how+"; sleep 10; echo it ended by itself"), func() {})
			r.mustExit(t, exitcode.Unprotected)
			r.mustSay(t, filepath.Join(dir, ".git/config"), "by another name")
			if strings.Contains(r.stdout, "by itself") {
				t.Error("the agent was not ended")
			}
		})
	}
}

// A change that takes no protection away ends nothing.
func TestHarmlessChangesOfMountsEndNothing(t *testing.T) {
	dir, host := protectedProject(t)
	cmd := protectedReap(t, dir, tryToWrite)
	r := whileItRuns(t, cmd, func() {
		inside := func(args ...string) {
			t.Helper()
			args = append([]string{"--target", strconv.Itoa(firstProcess(t, cmd)), "--mount", "--pid"}, args...)
			if out, err := exec.Command(testenv.Program(t, "nsenter"), args...).CombinedOutput(); err != nil {
				t.Errorf("nsenter %q: %v: %s", args, err, out)
			}
		}
		host("rmdir", "cache") // a writable mount's place
		host("sh", "-c", "echo '{ }' >.devcontainer/new && mv .devcontainer/new .devcontainer/devcontainer.json")
		host("git", "commit", "-q", "-a", "-m", "three")
		host("git", "branch", "other")
		host("sh", "-c", "ln .git/config same && touch same && chmod 644 same && rm same")
		host("sh", "-c", "mkdir a && mv a b && rmdir b")
		inside("mount", "-t", "tmpfs", "-o", "ro", "late", "/mnt")
		inside("umount", "/mnt")
		inside("mount", "-t", "tmpfs", "late", "/mnt")
		inside("true") // a session of the engine's
		host("touch", "go-on")
	})
	r.mustExit(t, 0)
	r.mustSay(t, "it ended by itself")
}

// BenchmarkEndAfterALostMount measures the time from the host's rename until
// the agent's program is dead.
func BenchmarkEndAfterALostMount(b *testing.B) {
	dir, _ := protectedProject(b)
	config := filepath.Join(dir, ".git", "config")
	var took []time.Duration
	for b.Loop() {
		text, err := os.ReadFile(config)
		if err := errors.Join(err, os.WriteFile(config+".lock", text, 0o644)); err != nil {
			b.Fatal(err)
		}
		cmd := protectedReap(b, dir, "echo ready; while :; do :; done")
		whileItRuns(b, cmd, func() {
			fd, err := unix.PidfdOpen(onlyChild(b, firstProcess(b, cmd)), 0)
			if err != nil {
				b.Fatal(err)
			}
			defer unix.Close(fd)
			begin := time.Now()
			if err := os.Rename(config+".lock", config); err != nil {
				b.Fatal(err)
			}
			for {
				n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(runLimit.Milliseconds()))
				if err == nil && n == 1 {
					break
				}
				if !errors.Is(err, unix.EINTR) {
					b.Fatal("it lives", err)
				}
			}
			took = append(took, time.Since(begin))
		})
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs-median")
	b.ReportMetric(float64(took[len(took)-1].Microseconds()), "µs-max")
}

// Attack: the same where the firewall is in the agent's container.
func TestAttackWaitForALostMountInADevContainer(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, openPolicy)
	b.pid1 = true
	protected := b.path("work/protected")
	if err := os.Mkdir(protected, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := b.command("sh", "-c", "echo ready; exec sleep 1000")
	for i, arg := range cmd.Args {
		if strings.Contains(arg, "mount --bind") {
			cmd.Args[i] = "mount --bind protected protected && mount -o remount,bind,ro protected && " + arg
		}
	}
	var r result
	in.Sandbox.Do(func() {
		r = whileItRuns(t, cmd, func() {
			if err := os.Remove(protected); err != nil {
				t.Error(err)
			}
		})
	})
	r.mustExit(t, exitcode.Unprotected)
	r.mustSay(t, protected, "from outside")
}

// Why a dev container ended is there for the shells of its next start, and not of the
// one after it. A path's name cannot drive a terminal, and a command that ends with the
// same code says nothing.
func TestTheNextShellsSayWhyADevContainerEnded(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, openPolicy)
	b.pid1 = true
	state, shown := b.path("state"), b.path("run/last-end.txt")
	protected := b.path("work/pro\x1b[2Jtected")
	if err := os.Mkdir(state, 0o755); err != nil {
		t.Fatal(err)
	}
	start := func(script string, lose bool) {
		t.Helper()
		if err := os.MkdirAll(protected, 0o755); err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(shown) // as the new tmpfs of a start
		cmd := b.command("sh", "-c", script)
		for i, arg := range cmd.Args {
			if strings.Contains(arg, "mount --bind") {
				cmd.Args[i] = "mount -t tmpfs sbx /var/lib && mkdir /var/lib/sbx && mount --bind '" + state + "' /var/lib/sbx && " +
					"mount --bind pro*tected pro*tected && mount -o remount,bind,ro pro*tected && " + arg
			}
		}
		in.Sandbox.Do(func() {
			whileItRuns(t, cmd, func() {
				if lose {
					if err := os.Remove(protected); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
	start("echo ready; exec sleep 1000", true)
	kept, err := os.ReadFile(filepath.Join(state, "ended"))
	if err != nil || !strings.Contains(string(kept), `work/pro\x1b[2Jtected: removed, renamed or replaced`) ||
		!strings.Contains(string(kept), "hint: ") || strings.Contains(string(kept), "\x1b") {
		t.Fatalf("kept is %q, %v", kept, err)
	}
	start("echo ready; exit 71", false)
	if text, err := os.ReadFile(shown); err != nil || string(text) != string(kept) {
		t.Errorf("the next start shows %q, %v", text, err)
	}
	start("echo ready", false)
	if text, err := os.ReadFile(shown); err == nil {
		t.Errorf("the start after it shows %q", text)
	}
}

// Attack: the same where the engine's init is the first process, by which sessions
// that are no children of ours are not ended at once.
func TestAttackWaitForALostMountUnderTheEnginesInit(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, openPolicy)
	b.pid1 = true
	protected := b.path("work/protected")
	if err := errors.Join(os.Mkdir(protected, 0o755), os.Symlink("/bin/sh", b.path("docker-init"))); err != nil {
		t.Fatal(err)
	}
	cmd := b.command("sh", "-c", "echo ready; exec sleep 1000")
	for i, arg := range cmd.Args {
		if strings.Contains(arg, "mount --bind") {
			// This one does not end with us, so who lives then was not ended by us.
			// Whoever was killed a moment ago may still be on its way out.
			const first = `sleep 1000 & session=$!; "$@"; e=$?
for i in 1 2 3 4 5 6 7 8 9 0; do
	case $(cut -d" " -f3 /proc/$session/stat 2>/dev/null) in [RSD]) sleep 0.2;; *) exit $e;; esac
done
echo "the session lives"; exit $e`
			arg = strings.Replace(arg, `exec "$@"`, `exec "`+b.path("docker-init")+`" -c '`+first+`' - "$@"`, 1)
			cmd.Args[i] = "mount --bind protected protected && mount -o remount,bind,ro protected && " + arg
		}
	}
	var r result
	in.Sandbox.Do(func() {
		r = whileItRuns(t, cmd, func() {
			if err := os.Remove(protected); err != nil {
				t.Error(err)
			}
		})
	})
	r.mustExit(t, exitcode.Unprotected)
	r.mustSay(t, protected, "from outside")
	if strings.Contains(r.stdout, "lives") {
		t.Error(r.stdout)
	}
}
