package sandbox

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/workspace"
)

// Reap cleans up behind runs whose program was killed: it saves what only their
// containers hold, removes these with their volumes, and takes the placeholders
// out of the project as a run does at its end. It returns a line for people for
// each run, and does nothing, not even connect, when there is none.
//
// A run is dead when no process holds its note in liveDir (Host.LiveDir): the kernel
// lets go of it when the program ends, however it ends. So a run that lives, in
// this process or another, is never touched, and neither is one that is not noted
// there: of another user, another state folder, or another machine that uses the
// same engine. Notes that name another machine are left alone, as in a home folder
// on a network, and so are those of an engine that connect does not return.
//
// accepted is Callbacks.Accepted for the settings in a folder; nil = nothing is accepted.
func Reap(ctx context.Context, liveDir string, connect func(context.Context) (*engine.Engine, error),
	accepted func(dir string) map[string][]byte) (said []string) {
	var e *engine.Engine
	for _, name := range liveNotes(liveDir) {
		dead := takeDead(name)
		if dead == nil {
			continue
		}
		dead.forgetProcess()
		var err error
		if e == nil {
			if e, err = connect(ctx); err != nil {
				dead.leave()
				return said // whoever needs the engine says so
			}
			defer e.Close()
		}
		if e.Host() != dead.run.Engine {
			dead.leave()
			continue
		}
		for _, line := range dead.reap(ctx, e, accepted) {
			said = append(said, visible.Line(line))
		}
	}
	return said
}

// forgetProcess notes that the run has no process: while this one holds the note the run seems to go on,
// and whoever stops it would signal a process that has got the number since.
func (l *live) forgetProcess() {
	if l.run.PID != 0 {
		l.run.PID = 0
		_ = l.write() // else it is as it was
	}
}

// reap removes what is left of a dead run and says what that was, nil for nothing.
func (l *live) reap(ctx context.Context, e *engine.Engine, accepted func(dir string) map[string][]byte) (said []string) {
	workspace.ExcludePrograms(l.run.Folder)
	who := fmt.Sprintf("the run %s in %s, which did not end in order", l.run.ID, l.run.Folder)
	containers, err := e.List(ctx, runplan.LabelRun, l.run.ID)
	if err == nil && len(containers) > 0 {
		if l.run.Tries >= rescueTries {
			l.leave() // a person was told
			return nil
		}
		l.noteAgentEnd(ctx, e)
		if said, err = rescue(ctx, e, l.run); err != nil {
			return append(said, l.keep(ctx, err)...)
		}
	}
	if err == nil {
		err = Remove(ctx, e, l.run.ID)
	}
	if err != nil {
		l.leave()
		return append(said, fmt.Sprintf("warning: %s, is not cleaned up: %v", who, err))
	}
	if !l.run.Ended {
		said = append(said, rescueChanges(ctx, l.run, accepted)...)
	}
	inOrder := l.run.Ended
	l.retire()
	inUse, taken := takeBackAll(ctx, e, filepath.Dir(l.name), l.run.Folder)
	if len(containers) == 0 && (taken == 0 || inOrder) {
		return said
	}
	line := fmt.Sprintf("reaped %s: %d containers, %d empty files and folders in the project", who, len(containers), taken)
	if inUse {
		line += "; those in the project stay until nothing else works there"
	}
	return append(said, line)
}

// noteAgentEnd notes when the agent ended; one that works still does so now.
func (l *live) noteAgentEnd(ctx context.Context, e *engine.Engine) {
	if !l.run.AgentEnded.IsZero() {
		return
	}
	agent := runplan.AgentContainer(l.run.ID)
	if l.run.AgentEnded = e.EndedAt(ctx, agent); l.run.AgentEnded.IsZero() && e.Remove(ctx, agent) == nil {
		l.run.AgentEnded = time.Now()
	}
}

// keep leaves a dead run whose work could not be taken for the next try, and
// says so the first time. A try that was cut short by whoever waits is none.
func (l *live) keep(ctx context.Context, failure error) []string {
	defer l.leave()
	if ctx.Err() != nil {
		return nil
	}
	l.run.Tries++
	err := l.write()
	if err == nil && l.run.Tries > 1 {
		return nil
	}
	return []string{fmt.Sprintf("warning: the run %s in %s did not end in order, and the work of its agent could not be taken: "+
		"%v; its container is kept, %d more starts try again, and 'sbx-devc review %s' does at any time%s",
		l.run.ID, l.run.Folder, errors.Join(failure, err), rescueTries-l.run.Tries, l.run.applyName(), byHand(l.run.ID, l.run.Tree, failure))}
}

// TryAgain has the next Reap try to take the work of the run id, which is noted in liveDir,
// however often that has failed.
func TryAgain(liveDir, id string) {
	if l := takeDead(filepath.Join(liveDir, id+liveSuffix)); l != nil {
		l.run.Tries = 0
		_ = l.write() // else it stays as it was, which is all that happens
		l.leave()
	}
}
