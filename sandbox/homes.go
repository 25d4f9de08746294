package sandbox

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"time"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/sandbox/kept"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/workspace/gitdir"
)

// keepHomeTimeout bounds keeping what outlives the run: the agent decides how much there
// is.
const keepHomeTimeout = time.Minute

// fillKept adds what earlier runs left in the agent's home to an archive for the
// firewall's container, before the run's own files come.
func fillKept(tw *tar.Writer, store *kept.Store, paths []string, owner gitdir.Owner) error {
	if store.KeepsClaude() {
		write := func(w io.Writer) error { return store.Fill(w, path.Base(runplan.ClaudeHome), owner.UID, owner.GID) }
		if err := addArchive(tw, runplan.ClaudeHomes, write); err != nil {
			return fmt.Errorf("giving the agent what earlier runs left: %w", err)
		}
	}
	for i, rel := range paths {
		write := func(w io.Writer) error { return store.FillTree(w, rel, strconv.Itoa(i), owner.UID, owner.GID) }
		if err := addArchive(tw, runplan.KeptHomes, write); err != nil {
			return fmt.Errorf("giving the agent what earlier runs left: %w", err)
		}
	}
	return nil
}

// takeKept keeps what the agent's home holds for later runs, out of the volumes of the
// firewall's container, running or not. The agent's container must have ended. With
// an error what was kept before of that part stays.
func takeKept(ctx context.Context, e *engine.Engine, sidecar string, store *kept.Store, paths []string, how kept.Taking) (notes []string,
	err error) {
	ctx, cancel := context.WithTimeout(ctx, keepHomeTimeout)
	defer cancel()
	take := func(place string, read func(io.Reader) error) error { return takeFolder(ctx, e, sidecar, place, read) }
	if store.KeepsClaude() {
		err = take(runplan.ClaudeHome, func(in io.Reader) (err error) {
			notes, err = store.Take(in, how)
			return err
		})
	}
	for i, place := range runplan.KeptVolumes(paths) {
		if problem := take(place, func(in io.Reader) error { return store.TakeTree(in, paths[i]) }); problem != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", paths[i], problem))
		}
	}
	return notes, err
}

// keepHome keeps what outlives the run.
func (r *run) keepHome(ctx context.Context) {
	if r.host.Kept == nil {
		return
	}
	how := kept.Taking{WorkDir: r.plan.Agent.WorkingDir, Clean: r.redactor.String}
	notes, err := takeKept(ctx, r.engine, r.sidecar.id, r.host.Kept, r.plan.Asked.Persist, how)
	for _, n := range notes {
		r.host.Say("note: " + n)
	}
	if err != nil {
		r.notices.warn(fmt.Sprintf("not all of the agent's home is kept for later runs, and these find it as it was before: %v", err))
		r.notices.loseUnwritten("the agent's home", err)
		r.leaveForLater(err)
	}
}

// rescueHome keeps what outlives a dead run, as it does at its end. It keeps nothing of a
// run with secrets, which cannot be taken out any more; variables that were passed on
// stay, unless they look like a token. An error says that a later try may succeed.
func rescueHome(ctx context.Context, e *engine.Engine, n liveRun) (said []string, err error) {
	if n.Kept == "" || n.Secrets {
		return nil, nil
	}
	store, err := kept.Reopen(n.Kept, n.ID)
	if err == nil {
		defer store.Close()
		_, err = takeKept(ctx, e, runplan.FirewallContainer(n.ID), store, n.Persist,
			kept.Taking{WorkDir: n.WorkDir, Clean: (&runplan.Plan{}).Redactor(nil).String})
	}
	if err != nil && !canBeTakenLater(err) {
		return []string{fmt.Sprintf("warning: the run %s ended without its program, and not all of its agent's home is kept: %v", n.ID, err)}, nil
	}
	return nil, err
}
