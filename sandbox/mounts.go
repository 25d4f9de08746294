package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/workspace"
	"github.com/org/claude-sandbox/workspace/gitdir"
)

// engineMounts are the engine's words for mounts.
func engineMounts(list []workspace.Mount) (mounts []engine.Mount) {
	for _, m := range list {
		mounts = append(mounts, engine.Mount{Source: m.Source, Target: m.Target, ReadOnly: m.ReadOnly, Volume: m.Volume})
	}
	return mounts
}

// fillGit fills the volumes of the agent's own git directories.
func fillGit(ctx context.Context, e *engine.Engine, sidecar string, p *Plan) error {
	if len(p.Project.Git.Private) == 0 {
		return nil
	}
	from, to := io.Pipe()
	go func() { to.CloseWithError(p.Project.Git.Fill(to, p.gitOwner)) }()
	err := e.CopyTar(ctx, sidecar, gitdir.Volumes, from)
	_ = from.CloseWithError(err)
	if err != nil {
		return fmt.Errorf("%w: giving the agent its own git directory: %w", ErrNoStart, err)
	}
	return nil
}

// checkMounted compares the mounts of the running agent's container with the
// plan. A container that ended meanwhile never got a prompt; the supervisor
// reports how it ended.
func (r *run) checkMounted(ctx context.Context) error {
	err := r.askMounted(ctx, r.agent.id)
	if err == nil {
		return nil
	}
	select {
	case exit := <-r.agent.exit:
		r.agent.exit = ended(exit)
		return nil
	case <-time.After(graceTerminate): // the news of an end may lag behind
		return err
	}
}

// askMounted has a program in a container tell what is mounted there. The
// program comes from the image, which the user chose and the agent cannot
// write; no variable of the project reaches it.
func (r *run) askMounted(ctx context.Context, container string) error {
	stream, err := r.engine.Exec(ctx, container, engine.ExecSpec{
		Command: []string{"/bin/cat", "/proc/self/mountinfo"},
		Env:     []string{"LD_PRELOAD=", "LD_LIBRARY_PATH=", "LD_AUDIT="},
	})
	var out, problem bytes.Buffer
	if err == nil {
		err = stream.Copy(&out, &problem)
		_ = stream.Close()
	}
	if err != nil || out.Len() == 0 {
		err = errors.Join(err, errors.New(strings.TrimSpace(problem.String())))
		err = fmt.Errorf("%w: asking what is mounted in the container: %w", ErrNoStart, err)
		return diag.WithHint(err, "the image needs /bin/cat")
	}
	return r.plan.Project.Compare(out.String())
}

// ended is a channel that holds the exit that was taken from another.
func ended(exit engine.Exit) <-chan engine.Exit {
	c := make(chan engine.Exit, 1)
	c <- exit
	return c
}
