package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// The agent's uncommitted work becomes a commit by git in a container like the
// agent's: the same image, user and mounts, without a network. Git there obeys the
// agent's configuration, filters and attributes, which can do no more than the agent
// could. No git on this machine looks at its files. The container ends by itself, too,
// should this program be killed meanwhile.

// commitTimeout bounds committing the work tree unless Host.CommitTimeout does: the agent
// decides how much there is.
const commitTimeout = 30 * time.Second

// commitScript commits what is not committed in each of the folders, which are its
// arguments after the message, and prints the names of the commits. The agent's index
// may be locked by a git that was killed, so it works on a copy. New repositories
// inside are left out: git would note their commits and not their files.
const commitScript = `read -r go || exit 1
command -v git >/dev/null || { echo "the image has no git" >&2; exit 1; }
message=$1; shift; export GIT_INDEX_FILE=/tmp/.sbx-index; failed=0
for folder; do
	cd "$folder" 2>/dev/null && git rev-parse --git-dir >/dev/null || continue
	rm -f $GIT_INDEX_FILE; cp -p "$(git rev-parse --git-dir)/index" $GIT_INDEX_FILE 2>/dev/null
	head=$(git rev-parse -q --verify 'HEAD^{commit}'); base=${head:-$(git hash-object -t tree /dev/null)}
	git -c advice.addEmbeddedRepo=false add -A --ignore-errors . || failed=1
	git -c core.quotePath=true diff-index --cached --raw --no-renames --abbrev=40 "$base" |
		sed -n 's/^:000000 160000 [^	]*	//p' | git update-index --force-remove --stdin || exit 1
	tree=$(git write-tree) || exit 1
	test "$tree" = "$(git rev-parse "$base^{tree}")" && continue
	commit=$(git commit-tree ${head:+-p $head} -m "$message" "$tree") &&
		git update-ref --create-reflog -m 'sbx-devc run --commit' HEAD "$commit" || exit 1
	echo "$commit"
done
exit $failed
`

// committer runs such containers.
type committer struct {
	engine  *engine.Engine
	plan    *runplan.Plan
	sidecar string // the container that has the run's volumes
	folder  folder
}

// commit commits what the agent left uncommitted in its own git directories,
// as the author that it commits as, and returns the names of the commits. With an
// error, not everything is in them. The agent's container must have ended.
func (c committer) commit(ctx context.Context, timeout time.Duration) (commits []string, err error) {
	folders := checkouts(c.plan)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	spec := c.plan.Agent
	spec.Name = "sbx-devc-" + c.plan.ID + "-commit"
	message := fmt.Sprintf("Work tree at the end of run %s\n\nWhat the agent of 'sbx-devc run' left uncommitted.", c.plan.ID)
	command := append([]string{"/bin/sh", "-c", commitScript, "commit", message}, folders...)
	spec.Entrypoint = append([]string{runplan.AgentInit, "reap", "--mounts", "--deadline", (2 * timeout).String(), "--"}, command...)
	spec.Network = "none"
	owner := c.plan.Place.Owner
	// A monitor that sees no change, or a hook, would leave something out.
	spec.Env = append(runplan.GitVariables("core.fsmonitor=false", "core.untrackedCache=false", "core.hooksPath=/dev/null"),
		"HOME="+runplan.AgentHome, "GIT_TERMINAL_PROMPT=0", "GIT_AUTHOR_NAME="+owner.Name, "GIT_AUTHOR_EMAIL="+owner.Email,
		"GIT_COMMITTER_NAME="+owner.Name, "GIT_COMMITTER_EMAIL="+owner.Email)
	out, problem, err := c.run(ctx, spec)
	for name := range strings.FieldsSeq(out) {
		commits = append(commits, name)
	}
	if err == nil && problem != "" {
		err = errors.New(problem)
	}
	return commits, err
}

// checkouts are the folders in the agent's container of which its git directories
// are, those of submodules before the folder around them.
func checkouts(p *runplan.Plan) (folders []string) {
	for _, own := range p.Project.Git.Private {
		for i, s := range own.Stores {
			switch {
			case i == 0:
				folders = append(folders, path.Join(runplan.WorkspaceTarget, path.Dir(own.Path)))
			case s.Checkout != "":
				folders = append(folders, path.Join(runplan.WorkspaceTarget, s.Checkout))
			}
		}
	}
	slices.SortFunc(folders, func(a, b string) int { return strings.Count(b, "/") - strings.Count(a, "/") })
	return folders
}

// run runs a container with the firewall's volumes to its end, once it shows
// the mounts that it should, and returns what it prints. problem is what it says when it
// fails. It needs a line on its standard input to begin.
func (c committer) run(ctx context.Context, spec engine.Spec) (out, problem string, err error) {
	spec.VolumesOf = c.sidecar
	mounts, err := c.plan.Project.WriteFiles(string(c.folder))
	if err == nil {
		spec.Mounts = runplan.EngineMounts(mounts)
		c.plan.Relabel(spec.Mounts)
		err = c.plan.Project.CheckSources()
	}
	if err != nil {
		return "", "", err
	}
	id, err := c.engine.Create(ctx, spec)
	if err != nil {
		return "", "", err
	}
	defer func() {
		done, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		err = errors.Join(err, c.engine.Remove(done, id))
	}()
	stream, err := c.engine.Attach(ctx, id, true, false)
	if err != nil {
		return "", "", err
	}
	defer stream.Close()
	exit := c.engine.Wait(ctx, id)
	if err = c.engine.Start(ctx, id); err != nil {
		return "", "", err
	}
	stdout, stderr := newTail(), newTail()
	copied := make(chan error, 1)
	report := &mountReport{next: stdout, told: make(chan surroundings, 1)}
	go func() {
		err := stream.Copy(report, stderr)
		close(report.told)
		copied <- err
	}()
	at, err := awaitTold(ctx, report.told)
	if err == nil {
		err = compareMounts(c.plan, at, string(c.folder))
	}
	if err == nil {
		_, err = stream.Write([]byte("go\n"))
	}
	if err != nil {
		return "", "", err
	}
	select {
	case e := <-exit:
		select {
		case <-copied:
		case <-time.After(newsLag):
			_ = stream.Close()
		}
		if e.Err == nil && e.Code != 0 {
			problem = visible.Line(string(bytes.TrimSpace([]byte(stderr.String()))))
			if problem == "" {
				problem = fmt.Sprintf("git ended with exit code %d", e.Code)
			}
		}
		return stdout.String(), problem, e.Err
	case <-ctx.Done():
		return "", "", context.Cause(ctx)
	}
}
