//go:build unix

package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/workspace"
)

// Attack: notes that this user's runs did not write have Reap remove containers,
// files and folders. It obeys none, and does not even ask the engine.
func TestAttackForgedNotes(t *testing.T) {
	testenv.Root(t) // to give a note to somebody else
	machine, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	dir, elsewhere := t.TempDir(), t.TempDir()
	note, err := json.Marshal(liveRun{ID: "x", Folder: elsewhere, StateDir: elsewhere, Machine: machine,
		Placed: []workspace.Placeholder{{Path: "precious", Kind: workspace.File}}})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "x.json")
	write := func(name string, text []byte) error {
		return os.WriteFile(name, append(bytes.Clone(text), '\n'), 0o600)
	}
	other := filepath.Join(elsewhere, "x.json")
	for what, c := range map[string]struct {
		make  func() error
		reads bool // it is a dead run of ours
	}{
		"our own":            {func() error { return write(name, note) }, true},
		"another user's":     {func() error { return errors.Join(write(name, note), os.Chown(name, 12345, 12345)) }, false},
		"a link to our own":  {func() error { return errors.Join(write(other, note), os.Symlink(other, name)) }, false},
		"a pipe":             {func() error { return syscall.Mkfifo(name, 0o600) }, false},
		"a folder":           {func() error { return os.Mkdir(name, 0o700) }, false},
		"half a line":        {func() error { return write(name, note[:len(note)/2]) }, false},
		"another run's name": {func() error { return write(name, []byte(`{"id":"../x","machine":"`+machine+`"}`)) }, false},
		"another machine's":  {func() error { return write(name, []byte(`{"id":"x","machine":"another"}`)) }, false},
	} {
		if err := c.make(); err != nil {
			t.Fatal(what, err)
		}
		asked := false
		Reap(t.Context(), dir, func(context.Context) (*engine.Engine, error) {
			asked = true
			return nil, errors.New("no engine")
		}, nil)
		if asked != c.reads {
			t.Errorf("%s: the engine was asked: %v", what, asked)
		}
		if err := os.RemoveAll(name); err != nil {
			t.Fatal(err)
		}
	}
}

// Attack: a run is stopped while another program cleans up behind it, and its process's number
// is somebody else's by now.
func TestAttackTheNumberOfADeadRun(t *testing.T) {
	dir := t.TempDir()
	machine, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	l, err := newLive(dir, liveRun{ID: "x", Machine: machine, PID: os.Getpid()})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := Supervisor(dir, "x"); !ok {
		t.Error("a run that goes on has no process")
	}
	l.leave()
	Reap(t.Context(), dir, func(context.Context) (*engine.Engine, error) {
		if pid, ok := Supervisor(dir, "x"); ok || !IsUnreaped(dir, "x") {
			t.Errorf("the process of a dead run is %d; unreaped: %v", pid, IsUnreaped(dir, "x"))
		}
		return nil, errors.New("no engine")
	}, nil)
}
