package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/sandbox"
)

// Runs that are kept. A run leaves up to 700 MiB behind, some MiB mostly.
const (
	keptRuns  = 50
	keptBytes = 2 << 30
	// keptAnyway is the age below which a run always stays: it may be starting,
	// and its result may be on somebody's screen.
	keptAnyway = time.Hour
	// keptCommits is the age below which a run stays that holds commits of the
	// agent's: they may be nowhere else.
	keptCommits = 30 * 24 * time.Hour
)

// commitsFiles are where a run keeps the commits that the agent made, see
// sandbox/gitdir.
const commitsFiles = "commits*.bundle"

// keptRun is a run's folder, as pruning sees it.
type keptRun struct {
	id      string
	age     time.Duration
	bytes   int64
	commits bool
}

// surplus lists the runs that may go: those beyond keptRuns and keptBytes, the
// newest counted first. runs are sorted by name, which begins with the time.
func surplus(runs []keptRun) (gone []keptRun) {
	number, bytes := 0, int64(0)
	for _, r := range slices.Backward(runs) {
		number, bytes = number+1, bytes+r.bytes
		switch {
		case number <= keptRuns && bytes <= keptBytes, r.age < keptAnyway, r.commits && r.age < keptCommits:
		default:
			gone = append(gone, r)
		}
	}
	return gone
}

// pruneRuns removes the runs of long ago. One that has containers stays, and so
// do all of them where the engine does not say. It never fails a run.
func (a *app) pruneRuns(ctx context.Context, e *engine.Engine, now time.Time) {
	removed, commits := 0, 0
	for _, r := range surplus(listRuns(a.runsHome(), now)) {
		if alive, err := e.List(ctx, sandbox.LabelRun, r.id); err != nil || len(alive) > 0 {
			continue
		}
		if os.RemoveAll(filepath.Join(a.runsHome(), r.id)) == nil {
			removed++
			if r.commits {
				commits++
			}
		}
	}
	if removed == 0 {
		return
	}
	text := ""
	if commits > 0 {
		text = fmt.Sprintf(", %d of them with commits of an agent that are more than %d days old", commits, int(keptCommits.Hours()/24))
	}
	fmt.Fprintf(a.stderr, "sbx-devc: removed %d old run(s) from %s%s\n", removed, a.runsHome(), text)
}

// listRuns lists the runs in a folder by name. What has no run's name is left
// alone.
func listRuns(home string, now time.Time) (runs []keptRun) {
	entries, _ := os.ReadDir(home) // what cannot be read holds no run
	for _, e := range entries {
		if !e.IsDir() || !runName.MatchString(e.Name()) {
			continue
		}
		began, err := time.Parse("20060102-150405", e.Name()[:15])
		if err != nil {
			continue
		}
		r := keptRun{id: e.Name(), age: now.Sub(began)}
		folder := filepath.Join(home, e.Name())
		_ = filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
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
