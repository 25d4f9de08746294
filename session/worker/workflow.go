package worker

import (
	"context"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/org/claude-sandbox/internal/excerpt"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/sandbox"
)

// A workflow works in a git worktree of its own, on a branch of its own, in the clone that
// the sandbox has of the project. The git of the sandbox makes and removes it: nothing of
// the host's reads it. Its commits come back with those of the run.

// worktrees is the folder of all, in the project's.
const worktrees = ".sbx-worktrees"

// worktree is that of a workflow.
type worktree struct {
	mu    sync.RWMutex // held for reading by requests that work in it
	made  bool
	dir   string // absolute in the sandbox
	gone  bool   // it was removed: another one takes its place
	cut   bool   // git was killed while it made it
	space string
}

// branchOf is the branch of a workflow.
func branchOf(workflow string) string { return "workflow/" + workflow }

// enterWorkflow makes the worktree of a workflow, unless it is there. It stays at least until
// leave is called.
func (s *server) enterWorkflow(ctx context.Context, at *running, name string) (dir string, leave func(), err error) {
	if !at.Copy {
		return "", nil, failure(NoWorktree, "start the worker with --workspace clone", "a workflow needs a clone of the project")
	}
	for {
		w := s.worktree(name)
		if err := w.make(ctx, at, name); err != nil {
			return "", nil, err
		}
		w.mu.RLock()
		if !w.gone {
			return w.dir, w.mu.RUnlock, nil
		}
		w.mu.RUnlock()
	}
}

// worktree is the one of a workflow, which may not be made.
func (s *server) worktree(name string) *worktree {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.workflows[name]
	if w == nil {
		w = &worktree{}
		s.workflows[name] = w
	}
	return w
}

// make makes the worktree. A branch of an earlier one goes on.
func (w *worktree) make(ctx context.Context, at *running, name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.made || w.gone {
		return nil
	}
	w.space, w.dir = at.Folder, path.Join(at.Folder, worktrees, name)
	if err := w.clear(ctx, at); err != nil {
		return err
	}
	// The folder of all is no change of the project's.
	exclude := `f=$(git rev-parse --git-path info/exclude) && mkdir -p "${f%/*}" && { grep -qxF "$0" "$f" 2>/dev/null || echo "$0" >>"$f"; }`
	if _, err := run(ctx, at, w.space, "sh", "-c", exclude, "/"+worktrees+"/"); err != nil {
		return err
	}
	add := []string{"git", "-c", "core.hooksPath=/dev/null", "worktree", "add", "--quiet", w.dir}
	if _, err := run(ctx, at, w.space, "git", "rev-parse", "--verify", "--quiet", "refs/heads/"+branchOf(name)); err == nil {
		add = append(add, branchOf(name))
	} else {
		add = append(add, "-b", branchOf(name))
	}
	if _, err := run(ctx, at, w.space, add...); err != nil {
		w.cut = context.Cause(ctx) != nil
		return err
	}
	w.made = true
	return nil
}

// clear removes what a killed git left of the worktree, which counts as locked.
func (w *worktree) clear(ctx context.Context, at *running) error {
	if !w.cut {
		return nil
	}
	const remove = `git worktree unlock "$0"; git worktree remove --force "$0"; rm -rf "$0" && git worktree prune`
	_, err := run(ctx, at, w.space, "sh", "-c", remove, w.dir)
	w.cut = err != nil
	return err
}

// finish commits what a workflow left, and removes its worktree.
func (s *server) finish(ctx context.Context, r Request) (Message, error) {
	at, ctx, done, err := s.use(ctx, r)
	if err != nil {
		return Message{}, err
	}
	defer done()
	s.mu.Lock()
	w := s.workflows[r.Workflow]
	s.mu.Unlock()
	if w == nil {
		return Message{}, failure(NoSuch, "", "there is no workflow %s", r.Workflow)
	}
	head, err := w.remove(ctx, at, r.Workflow)
	if err != nil {
		return Message{}, err
	}
	s.mu.Lock()
	if s.workflows[r.Workflow] == w {
		delete(s.workflows, r.Workflow)
	}
	s.mu.Unlock()
	return Message{Type: "finished", Branch: Branch{r.Workflow, branchOf(r.Workflow), head}}, nil
}

// remove waits for the requests in the worktree, commits what is not committed and removes it.
func (w *worktree) remove(ctx context.Context, at *running, name string) (head string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.clear(ctx, at); err != nil {
		return "", err
	}
	if !w.made || w.gone {
		return "", failure(NoSuch, "", "there is no workflow %s", name)
	}
	left, err := run(ctx, at, w.dir, "git", "status", "--porcelain")
	if err != nil {
		return "", err
	}
	if left != "" {
		if _, err := run(ctx, at, w.dir, "git", "add", "--all"); err != nil {
			return "", err
		}
		commit := []string{"git", "-c", "core.hooksPath=/dev/null", "-c", "commit.gpgSign=false", "commit", "--quiet", "--no-verify",
			"--message", "What the workflow " + name + " left uncommitted"}
		if _, err := run(ctx, at, w.dir, commit...); err != nil {
			return "", err
		}
	}
	if head, err = run(ctx, at, w.dir, "git", "rev-parse", "HEAD"); err != nil {
		return "", err
	}
	// A cancelled request does not break it off: half of the files would look as if the workflow had removed the others.
	removing, cancel := context.WithTimeout(context.WithoutCancel(ctx), leavePatience)
	defer cancel()
	if _, err := run(removing, at, w.space, "git", "worktree", "remove", "--force", w.dir); err != nil {
		return "", err
	}
	w.gone = true
	return strings.TrimSpace(head), nil
}

// leavePatience bounds the removal of a worktree, and of all at the end of a sandbox.
const leavePatience = 30 * time.Second

// leaveWorkflows removes all worktrees, as finish does. One that cannot be removed stays in
// the copy of the project, which the run keeps.
func (s *server) leaveWorkflows(at *running) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), leavePatience)
	defer cancel()
	s.mu.Lock()
	all := s.workflows
	s.workflows = map[string]*worktree{}
	s.mu.Unlock()
	for name, w := range all {
		if _, err := w.remove(ctx, at, name); err != nil && asError(err).Code != NoSuch {
			m := errorMessage(err)
			m.Type, m.Workflow = "left", name
			s.out.write(m)
		}
	}
	if len(all) > 0 {
		_, _ = run(ctx, at, at.Folder, "rmdir", worktrees)
	}
}

// run runs a program of ours in the sandbox and returns its output.
func run(ctx context.Context, at *running, dir string, command ...string) (string, error) {
	out, problem := &excerpt.Head{Most: 64 << 10}, &excerpt.Head{Most: 64 << 10}
	code, err := at.Exec(ctx, sandbox.ExecOptions{Command: command, Dir: dir, Stdin: strings.NewReader(""), Stdout: out, Stderr: problem})
	switch cause := context.Cause(ctx); {
	case cause != nil:
		return "", endedBy(cause)
	case err != nil:
		return "", err
	case code != 0:
		return "", failure(GitFailed, "", "%s in the sandbox ended with exit code %d: %s", command[0], code,
			visible.Line(strings.TrimSpace(problem.String())))
	}
	return out.String(), nil
}
