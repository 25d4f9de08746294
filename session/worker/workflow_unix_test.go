//go:build unix

package worker

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/sandbox"
)

// execHere runs commands on this machine. The end of ctx kills them with all that they started, as
// it does in a sandbox.
func execHere(ctx context.Context, o sandbox.ExecOptions) (int, error) {
	cmd := exec.CommandContext(ctx, o.Command[0], o.Command[1:]...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = o.Dir, o.Stdin, o.Stdout, o.Stderr
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = nil
	}
	return cmd.ProcessState.ExitCode(), err
}

// shellIn runs a script on this machine and returns what it says.
func shellIn(t *testing.T, dir, script string) string {
	t.Helper()
	var out strings.Builder
	code, err := execHere(t.Context(), sandbox.ExecOptions{Command: []string{"sh", "-c", script}, Dir: dir, Stdout: &out, Stderr: &out})
	if code != 0 || err != nil {
		t.Fatalf("%s: %d, %v\n%s", script, code, err, out.String())
	}
	return out.String()
}

// A request that is cancelled while git makes its worktree leaves nothing in the way of the next
// one of its workflow, nor of the end.
func TestAWorktreeWhoseMakingIsKilled(t *testing.T) {
	testenv.Program(t, "git")
	for name, again := range map[string]bool{"and made again": true, "and never made": false} {
		t.Run(name, func(t *testing.T) {
			dir, signs := t.TempDir(), t.TempDir()
			// Git stops at the file while it fills a worktree.
			shellIn(t, dir, `git init -q && echo text >file && echo '* filter=stop' >.gitattributes && git add . && git commit -qm one
				git config filter.stop.smudge 'touch `+signs+`/begun; sleep 600; cat'`)
			f := &fake{exec: execHere, ended: make(chan error, 1)}
			k := newTalk(t, func(context.Context) (*Running, error) {
				return &Running{Sandbox: f, Folder: dir, Copy: true, Ended: f.ended}, nil
			})
			k.want(`{"id":"1","op":"ensure"}`, "ready", "")
			k.send(`{"id":"w","op":"exec","command":["cat","file"],"workflow":"one"}`)
			for _, err := os.Stat(filepath.Join(signs, "begun")); err != nil; _, err = os.Stat(filepath.Join(signs, "begun")) {
				time.Sleep(10 * time.Millisecond)
			}
			k.send(`{"id":"c","op":"cancel","target":"w"}`)
			for range 2 {
				if m := k.next(); m.ID == "w" && m.Error != Cancelled || m.ID == "c" && m.Type != "cancelled" {
					t.Errorf("%+v", m)
				}
			}
			shellIn(t, dir, "git config --unset filter.stop.smudge")
			if again {
				if m := k.want(`{"id":"w","op":"exec","command":["cat","file"],"workflow":"one"}`, "exit", ""); m.Exit == nil || *m.Exit != 0 {
					t.Errorf("%+v", m)
				}
				k.want(`{"id":"f","op":"finish","workflow":"one"}`, "finished", "")
			} else {
				k.want(`{"id":"f","op":"finish","workflow":"one"}`, "error", NoSuch)
			}
			k.want(`{"id":"s","op":"stop"}`, "stopped", "")
			got := shellIn(t, dir, "git worktree list | wc -l; ls -A .sbx-worktrees .git/worktrees 2>/dev/null; git status --porcelain; true")
			if strings.TrimPrefix(got, "1\n.sbx-worktrees:\n") != "" && got != "1\n" {
				t.Errorf("left: %s", got)
			}
		})
	}
}

// A finish that is cancelled while git removes the worktree loses no file of the workflow's branch.
func TestAWorktreeWhoseRemovalIsCancelled(t *testing.T) {
	testenv.Program(t, "git")
	dir := t.TempDir()
	shellIn(t, dir, "git init -q && echo text >file && echo text >other && git add . && git commit -qm one")
	begun, goOn := make(chan struct{}, 1), make(chan struct{})
	f := &fake{ended: make(chan error, 1), exec: func(ctx context.Context, o sandbox.ExecOptions) (int, error) {
		if strings.Join(o.Command[:min(3, len(o.Command))], " ") == "git worktree remove" {
			_ = os.Remove(filepath.Join(o.Command[len(o.Command)-1], "file")) // so far it has come
			begun <- struct{}{}
			select {
			case <-ctx.Done():
				return -1, ctx.Err()
			case <-goOn:
			}
		}
		return execHere(ctx, o)
	}}
	k := newTalk(t, func(context.Context) (*Running, error) {
		return &Running{Sandbox: f, Folder: dir, Copy: true, Ended: f.ended}, nil
	})
	k.want(`{"id":"1","op":"ensure"}`, "ready", "")
	k.want(`{"id":"w","op":"exec","command":["cat","file"],"workflow":"one"}`, "exit", "")
	k.send(`{"id":"f","op":"finish","workflow":"one"}`)
	<-begun
	k.send(`{"id":"c","op":"cancel","target":"f"}`)
	m := k.next()
	if m.ID == "c" {
		close(goOn)
		m = k.next()
	} else {
		close(goOn)
		k.next()
	}
	if m.ID != "f" || m.Type != "finished" {
		t.Errorf("%+v", m)
		k.send(`{"id":"g","op":"finish","workflow":"one"}`)
		k.next()
	}
	k.want(`{"id":"s","op":"stop"}`, "stopped", "")
	got := shellIn(t, dir, "git show --stat --format=%s workflow/one && git show workflow/one:file")
	if !strings.Contains(got, "one\n") || strings.Contains(got, "left uncommitted") {
		t.Errorf("on the branch: %s", got)
	}
}
