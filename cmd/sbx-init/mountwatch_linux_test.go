package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/testenv"
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
func firstProcess(t testing.TB, cmd *exec.Cmd) int {
	t.Helper()
	id := strconv.Itoa(cmd.Process.Pid)
	text, err := os.ReadFile("/proc/" + id + "/task/" + id + "/children")
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
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
			host("sh", "-c", "git init -q --bare elsewhere.git && git remote add elsewhere ./elsewhere.git && echo elsewhere.git >>.git/info/exclude")
			r := whileItRuns(t, protectedReap(t, dir, tryToWrite), func() { host("sh", "-c", c.command) })
			r.mustExit(t, exitUnprotected)
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

// What takes no protection away ends nothing.
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
