package runs

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/session/ledger"
	"github.com/org/claude-sandbox/workspace/copytree"
)

// Runs that are kept. A run leaves up to 700 MiB behind, some MiB mostly.
const (
	keptBytes = 2 << 30
	// keptAnyway is the age below which a run always stays: it may be starting,
	// and its result may be on somebody's screen.
	keptAnyway = time.Hour
	// keptCommits is the age below which a run stays that holds commits of the
	// agent's: they may be nowhere else.
	keptCommits = 30 * 24 * time.Hour
)

// Keep says which runs stay.
type Keep struct {
	Runs int // the newest so many
	Days int // those that are at most so old
}

// DefaultKeep holds unless the user says otherwise.
var DefaultKeep = Keep{Runs: 50, Days: 30}

// commitsFiles are where a run keeps the commits that the agent made, see
// workspace/gitdir.
const commitsFiles = "commits*.bundle"

// keptRun is a run's folder, as Prune sees it.
type keptRun struct {
	id      string
	age     time.Duration
	bytes   int64
	commits bool
	tree    bool // a copy of the project with work that is not taken
}

// surplus lists the runs that may go: those beyond keep and keptBytes, the newest
// counted first, as runs are sorted.
func surplus(runs []keptRun, keep Keep) (gone []keptRun) {
	oldest := time.Duration(keep.Days) * 24 * time.Hour
	number, bytes := 0, int64(0)
	for _, r := range runs {
		number, bytes = number+1, bytes+r.bytes
		switch {
		case number <= keep.Runs && r.age <= oldest && bytes <= keptBytes, r.age < keptAnyway, r.commits && r.age < keptCommits, r.tree:
		default:
			gone = append(gone, r)
		}
	}
	return gone
}

// Prune removes the runs of long ago, and notes it. One that has containers stays, or may
// have some on another engine, and so do all of them where the engine does not say. It never fails a run.
func (h Home) Prune(ctx context.Context, e *engine.Engine, now time.Time, keep Keep) {
	if err := ledger.Prune(h.ledger(), now.AddDate(0, 0, -LedgerDays)); err != nil {
		h.note("older spending stays noted: " + err.Error())
	}
	removed, commits := 0, 0
	for _, r := range surplus(h.list(now), keep) {
		if alive, err := e.List(ctx, runplan.LabelRun, r.id); err != nil || len(alive) > 0 || sandbox.IsUnreaped(h.Live(), r.id) {
			continue
		}
		if err := h.remove(ctx, r.id); err != nil {
			h.note("an old run stays: " + err.Error())
			continue
		}
		removed++
		if r.commits {
			commits++
		}
	}
	if removed == 0 {
		return
	}
	text := ""
	if commits > 0 {
		text = fmt.Sprintf(", %d of them with commits of an agent that are more than %d days old", commits, int(keptCommits.Hours()/24))
	}
	h.note(fmt.Sprintf("removed %d old run(s) from %s%s", removed, h.Dir(), text))
}

// LedgerDays is how long what runs spent is kept.
const LedgerDays = 400

// removeTimeout bounds the removal of one old run, for which a person waits.
const removeTimeout = 5 * time.Second

// remove removes the folder of a run.
func (h Home) remove(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, removeTimeout)
	defer cancel()
	return copytree.Remove(ctx, filepath.Join(h.Dir(), id))
}

// list lists the folders of runs, the newest first.
func (h Home) list(now time.Time) (runs []keptRun) {
	for id, folder := range h.newest() {
		began, err := time.Parse(idTime, id[:len(idTime)])
		if err != nil || !filekind.IsFolder(folder) {
			continue
		}
		r := keptRun{id: id, age: now.Sub(began)}
		r.tree = filekind.IsFolder(filepath.Join(folder, sandbox.TreeFolder))
		_ = filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
			if name == filepath.Join(folder, sandbox.TreeFolder) {
				return fs.SkipDir
			}
			if err == nil && d.Type().IsRegular() {
				if info, err := d.Info(); err == nil {
					r.bytes += info.Size()
				}
			}
			return nil
		})
		bundles, _ := filepath.Glob(filepath.Join(folder, commitsFiles)) // a good pattern, in a folder of ours
		r.commits = len(bundles) > 0
		runs = append(runs, r)
	}
	return runs
}
