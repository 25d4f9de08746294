package sandbox

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/filelock"
	"github.com/org/claude-sandbox/internal/redact"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/workspace"
)

// liveRun is what must be known of a run to clean up behind it.
type liveRun struct {
	ID       string `json:"id"`
	Folder   string `json:"folder"`             // the project's
	Settings string `json:"settings,omitempty"` // Result.SettingsFolder, "" = Folder
	StateDir string `json:"stateDir"`           // Host.StateDir, absolute
	Engine   string `json:"engine"`             // engine.Host
	Machine  string `json:"machine"`            // this one's name
	PID      int    `json:"pid"`                // of the program that supervises it
	// Placed is what may have been put into the project, relative to it.
	Placed []workspace.Placeholder `json:"placed,omitempty"`
	Ended  bool                    `json:"ended,omitempty"`  // nothing but Placed is left of it
	Mounts bool                    `json:"mounts,omitempty"` // of the folder, in its container
	// Kept is the folder of what outlives the run, see package kept, "" = nothing does, and
	// Persist its paths of the agent's home.
	Kept    string   `json:"kept,omitempty"`
	Persist []string `json:"persist,omitempty"`
	WorkDir string   `json:"workDir,omitempty"` // where the agent began; "" in a note of an earlier version
	Secrets bool     `json:"secrets,omitempty"` // the run had secrets, which only it knew; its summary says where they came from
	// Tree is for a copy of the project in a volume of the engine; nil = it is in StateDir, or
	// there is none.
	Tree  *carriedTree `json:"tree,omitempty"`
	Begun bool         `json:"begun,omitempty"` // the agent has begun: the firewall is verified, and the mounts are the plan's
	Tries int          `json:"tries,omitempty"` // to take the commits, which failed
	// AgentEnded is when the agent of a dead run had ended, zero while the engine was not asked.
	AgentEnded time.Time `json:"agentEnded,omitzero"`
}

// liveSuffix ends the names of complete notes.
const liveSuffix = ".json"

// live is the note that a run goes on: a file that the run holds as long as its
// program lives, see package filelock. It holds one liveRun a line, and the last
// one counts. All methods do nothing on nil.
type live struct {
	file *os.File
	name string
	run  liveRun
}

// noteLive notes a run in h.LiveDir, before anything of it is on the engine or in the project;
// nil = it is not noted. secrets are those that the run looks for.
func noteLive(e *engine.Engine, p *runplan.Plan, h Host, secrets *redact.Finder) (*live, error) {
	if h.LiveDir == "" {
		return nil, nil
	}
	note := liveRun{ID: p.ID, Folder: p.Folder(), Settings: p.Asked.ProjectDir, Engine: e.Host(), PID: os.Getpid(),
		Tree: carriedTreeOf(p), WorkDir: p.Agent.WorkingDir,
		Secrets: len(p.Secrets) > 0 || secrets != nil,
		Mounts:  !p.Place.Mode.IsCopy() && !p.Carried() && p.Place.Mode != workspace.None}
	for _, made := range p.Project.Placeholders {
		if rel, err := filepath.Rel(note.Folder, made.Path); err == nil {
			made.Path = rel
			note.Placed = append(note.Placed, made)
		}
	}
	if h.Kept != nil {
		note.Kept, note.Persist = h.Kept.Dir(), p.Asked.Persist
	}
	var noted *live
	var err error
	if note.StateDir, err = filepath.Abs(h.StateDir); err == nil {
		note.Machine, err = os.Hostname()
	}
	if err == nil {
		noted, err = newLive(h.LiveDir, note)
	}
	if err != nil {
		return nil, fmt.Errorf("noting that this run goes on: %w", err)
	}
	return noted, nil
}

// newLive makes the file under another name first: under its own it is held and
// complete from the first moment on.
func newLive(dir string, note liveRun) (*live, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	l := &live{name: filepath.Join(dir, note.ID+liveSuffix), run: note}
	fresh := l.name + ".new"
	var err error
	if l.file, err = os.OpenFile(fresh, os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600); err != nil {
		return nil, err
	}
	held, err := filelock.Try(l.file)
	if err == nil && !held {
		err = errors.New("somebody else holds " + fresh)
	}
	if err == nil {
		err = l.write()
	}
	if err == nil {
		err = os.Rename(fresh, l.name)
	}
	if err != nil {
		_ = l.file.Close()
		_ = os.Remove(fresh)
		return nil, err
	}
	return l, nil
}

func (l *live) write() error {
	line, err := json.Marshal(l.run)
	if err != nil {
		return err
	}
	_, err = l.file.Write(append(line, '\n'))
	return err
}

// placed notes what was put into the project. If that fails, more is noted than
// there is, and only empty folders and files of ours are ever removed.
func (l *live) placed(made []workspace.Placeholder) {
	if l != nil {
		l.run.Placed = made
		_ = l.write()
	}
}

// begun notes that the agent has begun.
func (l *live) begun() {
	if l != nil {
		l.run.Begun = true
		_ = l.write()
	}
}

// end removes the note: nothing of the run is left.
func (l *live) end() {
	if l != nil {
		_ = os.Remove(l.name)
		_ = filelock.Release(l.file)
		_ = os.Remove(l.name) // where an open file cannot be removed
	}
}

// leave lets go of the note and leaves it for the next to reap.
func (l *live) leave() {
	if l != nil {
		_ = filelock.Release(l.file)
	}
}

// retire lets go of the note of a run of which nothing is left but what it has put into
// the project.
func (l *live) retire() {
	if l.run.Ended = true; len(l.run.Placed) == 0 {
		l.end()
		return
	}
	_ = l.write() // else it is taken for a run that was killed, of which nothing is left
	l.leave()
}

// Supervisor returns the process that supervises the run id, which is noted in liveDir
// (Host.LiveDir) and goes on; false when it does not.
func Supervisor(liveDir, id string) (pid int, ok bool) {
	run, ok := goesOn(filepath.Join(liveDir, id+liveSuffix))
	return run.PID, ok && run.PID > 1
}

// Begun reports whether the agent of the run id, which is noted in liveDir, has begun, and
// whether the run goes on.
func Begun(liveDir, id string) (begun, alive bool) {
	run, ok := goesOn(filepath.Join(liveDir, id+liveSuffix))
	return run.Begun, ok && run.PID > 1
}

// IsUnreaped reports whether the run id, which is noted in liveDir, goes on, or was killed and
// its containers hold work that is not saved yet.
func IsUnreaped(liveDir, id string) bool {
	name := filepath.Join(liveDir, id+liveSuffix)
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	l := &live{file: f, name: name}
	return l.isOurs() && l.read() && !l.run.Ended
}

// goesOn returns the run of the note name if its program lives.
func goesOn(name string) (liveRun, bool) {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return liveRun{}, false
	}
	defer f.Close()
	l := &live{file: f, name: name}
	if free, err := filelock.Try(f); err != nil || free || !l.isOurs() || !l.read() {
		return liveRun{}, false
	}
	return l.run, true
}

// takeDead opens the note name if its run's program is dead; nil if it lives, or
// the note is not whole, or of another machine that shares the folder.
func takeDead(name string) *live {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil
	}
	l := &live{file: f, name: name}
	if held, err := filelock.Try(f); err != nil || !held || !filelock.HasName(f) || !l.isOurs() || !l.read() {
		_ = f.Close()
		return nil
	}
	return l
}

// isOurs reports whether this user wrote the note: it names containers, folders
// and files to remove, and the folder of notes may be one that others write to.
func (l *live) isOurs() bool {
	info, err := l.file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	uid, _ := workspace.Owner(info)
	return uid == os.Geteuid()
}

// read takes the last whole line.
func (l *live) read() bool {
	lines := bufio.NewScanner(l.file)
	lines.Buffer(nil, 4<<20)
	found := false
	for lines.Scan() {
		var note liveRun
		if json.Unmarshal(lines.Bytes(), &note) == nil && note.ID != "" {
			l.run, found = note, true
		}
	}
	machine, err := os.Hostname()
	return found && err == nil && l.run.Machine == machine && filepath.Base(l.name) == l.run.ID+liveSuffix
}
