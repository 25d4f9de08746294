package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/filelock"
	"github.com/org/claude-sandbox/workspace"
)

// Runs and dev containers that overlap mount over each other's placeholders. The run that made
// one may end first, so each run's note keeps what it has made, also after its end, until
// nothing works in the folder. The last one to end removes all of it; if that was a dev
// container, or a run that was killed, the next run does.
//
// A run makes its places, and takes places away, only while it holds one lock of the notes'
// folder. So a run that starts is seen by its note before it relies on what others have
// made, and of two that end together the later one sees that the other has ended.

// placesLock is that lock's name in the notes' folder, and placesWait how long a run waits
// for it; a holder keeps it no longer than some questions to the engine take.
const (
	placesLock = "places.lock"
	placesWait = 20 * time.Second
)

// holdPlaces waits for the lock; closing the file ends it. It errs where there are no notes.
func holdPlaces(liveDir string) (*os.File, error) {
	if liveDir == "" {
		return nil, errors.New("no notes")
	}
	ctx, cancel := context.WithTimeout(context.Background(), placesWait)
	defer cancel()
	return filelock.Wait(ctx, filepath.Join(liveDir, placesLock))
}

// takeBackAll takes away what runs that are over have put into folder, in it or around it,
// as far as nothing works there. It reports whether something does, and how much it took.
func takeBackAll(ctx context.Context, e *engine.Engine, liveDir, folder string) (inUse bool, taken int) {
	lock, err := holdPlaces(liveDir)
	if err != nil {
		return true, 0 // not known; the next run tries again
	}
	defer lock.Close()
	for _, name := range liveNotes(liveDir) {
		over := takeDead(name)
		switch {
		case over == nil:
		case over.run.Engine != e.Host() || !overlap(folder, over.run.Folder):
			over.leave()
		case folderMounted(liveDir, over) || folderInUse(ctx, e, over.run.Folder):
			inUse = true
			over.leave()
		default:
			taken += workspace.TakeBack(over.run.Folder, over.run.Placed)
			over.run.Placed = nil
			if over.run.Ended {
				over.end()
			} else { // the rest of it is for Reap
				_ = over.write()
				over.leave()
			}
		}
	}
	return inUse, taken
}

// folderMounted reports whether a run goes on, or begins, that mounts the folder of one
// that is over, what is in it or around it.
func folderMounted(liveDir string, over *live) bool {
	return slices.ContainsFunc(liveNotes(liveDir), func(name string) bool {
		if name == over.name { // we hold it
			return false
		}
		run, ok := goesOn(name)
		return ok && run.Mounts && overlap(over.run.Folder, run.Folder)
	})
}

func overlap(a, b string) bool { return workspace.Below(a, b) || workspace.Below(b, a) }

// liveNotes lists the complete notes of a folder.
func liveNotes(liveDir string) (names []string) {
	entries, _ := os.ReadDir(liveDir)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), liveSuffix) {
			names = append(names, filepath.Join(liveDir, e.Name()))
		}
	}
	return names
}
