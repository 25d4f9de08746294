package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/mountinfo"
	"github.com/org/claude-sandbox/workspace"
	"github.com/org/claude-sandbox/workspace/gitdir"
	"github.com/org/claude-sandbox/workspace/obeyed"
)

// A workspace may be open elsewhere with the agent's rights: in a dev container
// or in another run. A program there can put a symbolic link in the place of a
// folder that is about to be mounted, and the engine, which resolves the
// sources when the container starts, would mount whatever folder of the host
// the link names. So the sources are looked at right before the start, and what
// was mounted is compared before the agent gets its prompt.

// checkSources refuses mounts of the workspace whose way leads over anything
// but plain folders and files.
func (p *Plan) checkSources() error {
	dir := p.Folder()
	for _, m := range p.Agent.Mounts {
		rel, ok := p.inWorkspace(m)
		if !ok {
			continue
		}
		for _, step := range workspace.Steps(rel) {
			kind, err := workspace.KindOf(filepath.Join(dir, filepath.FromSlash(step)))
			if err == nil && kind != workspace.Folder && kind != workspace.File {
				err = fmt.Errorf("it is %s now", kind)
			}
			if err != nil {
				return swapped(step, err)
			}
		}
	}
	return nil
}

func swapped(what string, why error) error {
	err := fmt.Errorf("%w: %s in the workspace changed while the run started: %w", ErrRefused, what, why)
	return diag.WithHint(err, "stop what else works in this folder, such as a dev container or another run, look at %s, and try again", what)
}

// Folder is the project's folder on the host, without symbolic links.
func (p *Plan) Folder() string { return p.Agent.Labels[LabelWorkspace] }

// checkMounted compares the mounts of the running agent's container with the
// plan. A container that ended meanwhile never got a prompt; the supervisor
// reports how it ended.
func (r *run) checkMounted(ctx context.Context) error {
	err := r.askMounted(ctx)
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

// askMounted has a program in the container tell what is mounted there. The
// program comes from the image, which the user chose and the agent cannot
// write; no variable of the project reaches it.
func (r *run) askMounted(ctx context.Context) error {
	stream, err := r.engine.Exec(ctx, r.agent.id, engine.ExecSpec{
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
		return diag.WithHint(fmt.Errorf("%w: asking what is mounted in the agent's container: %w", ErrNoStart, err), "the image needs /bin/cat")
	}
	return r.plan.compareMounts(out.String())
}

// ended is a channel that holds the exit that was taken from another.
func ended(exit engine.Exit) <-chan engine.Exit {
	c := make(chan engine.Exit, 1)
	c <- exit
	return c
}

// shown is what a mount shows: a path of a file system.
type shown struct{ device, path string }

// compareMounts compares the mounts of the workspace and of its git directories
// with those of the agent's container, the text of its mountinfo: each must show
// the same path of the same file system below what is mounted as the workspace
// itself, and a .git what this run put there.
func (p *Plan) compareMounts(text string) error {
	mounted := map[string]shown{}
	place := func(target string) string {
		if p.foldsCase { // the kernel may name a place by another spelling
			return strings.ToLower(target)
		}
		return target
	}
	for m := range mountinfo.Parse(text) { // of several at one place the last one counts
		mounted[place(m.Point)] = shown{m.Device, m.Root}
	}
	top := mounted[workspaceTarget]
	for _, m := range p.Agent.Mounts {
		got, isMounted := mounted[place(m.Target)]
		var want shown
		switch rel, err := filepath.Rel(p.Folder(), m.Source); {
		case m.Volume != "":
			want = mounted[m.Volume] // all of the firewall's volumes are mounted, read-only
		case m.Source == "": // a .git file of ours, whose source is in the run's folder
			want = shown{got.device, got.path}
			if !obeyed.IsGitName(path.Base(m.Target)) || !strings.HasPrefix(path.Base(got.path), gitFileName) {
				want = shown{}
			}
		case err == nil && filepath.IsLocal(rel):
			want = shown{top.device, path.Join(top.path, filepath.ToSlash(rel))}
		case p.isOfGit(m):
			if err := p.compareOutside(m, got, top); err != nil {
				return err
			}
			continue
		default:
			continue
		}
		if !isMounted || got != want {
			rel, _ := p.inWorkspace(m)
			return swapped(rel, fmt.Errorf("%s shows %q of device %s, not %q of %s", m.Target, got.path, got.device, want.path, want.device))
		}
	}
	return nil
}

// isOfGit reports whether a mount shows a folder of a host's repository.
func (p *Plan) isOfGit(m engine.Mount) bool {
	return slices.Contains(p.Git.Mounts, gitdir.Mount{Source: m.Source, Target: m.Target})
}

// compareOutside compares the mount of a folder outside of the workspace. Where
// the engine shares this machine's kernel, that is told by our own mountinfo;
// elsewhere the folder's own names must be the last ones of the path.
func (p *Plan) compareOutside(m engine.Mount, got, top shown) error {
	own, _ := os.ReadFile("/proc/self/mountinfo")
	want := placeOf(string(own), m.Source)
	if placeOf(string(own), p.Folder()) != top {
		names := strings.Split(strings.Trim(filepath.ToSlash(m.Source), "/"), "/")
		if strings.HasSuffix(got.path, "/"+strings.Join(names[max(0, len(names)-sameNames):], "/")) {
			return nil
		}
	} else if got == want {
		return nil
	}
	return swapped(m.Source, fmt.Errorf("%s shows %q of device %s", m.Target, got.path, got.device))
}

// sameNames is how many of a path's last names must be the same in the engine's
// virtual machine: some repository's own, .git and objects.
const sameNames = 3

// placeOf is what file, a path without symbolic links, is for the kernel,
// according to a mountinfo.
func placeOf(text, file string) (at shown) {
	best := -1
	for m := range mountinfo.Parse(text) {
		if rel, err := filepath.Rel(m.Point, file); err == nil && filepath.IsLocal(rel) && len(m.Point) >= best {
			best, at = len(m.Point), shown{m.Device, path.Join(m.Root, filepath.ToSlash(rel))}
		}
	}
	return at
}
