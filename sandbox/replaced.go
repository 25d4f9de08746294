package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/org/claude-sandbox/workspace/obeyed"
)

// What is protected is mounted read-only, and the kernel takes a mount away when
// somebody on the host removes its place or renames something over it, as git
// does with its config. The first process of the agent's container notices that
// at once and ends everything there, see cmd/sbx-init. It shares the agent's
// user, who could keep it from the processors for a while, so the places are
// looked at from here, too: while the agent works and when it has ended.

const (
	// placesPause is how often the places are looked at from here.
	placesPause = time.Second
)

// place is something of the workspace as it was when it was mounted.
type place struct {
	rel  string
	path string
	info os.FileInfo
	open *os.File // keeps its number from being another's; nil = could not be opened
	text []byte   // what it holds, if it is a file of git's; see obeyed.IsGitFile
}

// places are what a run protects, as they are right before it starts.
type places []place

// rememberPlaces looks at what is mounted read-only in the workspace.
func (p *Plan) rememberPlaces() (all places, err error) {
	for _, m := range p.Agent.Mounts {
		rel, ok := p.inWorkspace(m)
		if !ok || !m.ReadOnly && m.Volume == "" || !strings.HasPrefix(m.Target, workspaceTarget+"/") {
			continue
		}
		at := place{rel: rel, path: filepath.Join(p.Folder(), filepath.FromSlash(rel))}
		if at.info, err = os.Lstat(at.path); err != nil {
			all.close()
			return nil, swapped(rel, err)
		}
		if runtime.GOOS != "windows" { // where an open file could not be replaced by its owner
			at.open, _ = os.Open(at.path)
		}
		if at.info.Mode().IsRegular() && obeyed.IsGitFile(at.rel) {
			at.text, _ = os.ReadFile(at.path) // what we cannot read is not ours
		}
		all = append(all, at)
	}
	return all, nil
}

// replaced lists those whose path leads to something else now, or nowhere, and
// files of git's that hold something else. The agent could write to one by
// another name, such as .git/CONFIG where upper and lower case are the same here
// and not in the engine's virtual machine.
func (all places) replaced() (rels []string) {
	for _, p := range all {
		now, err := os.Lstat(p.path)
		switch {
		case err != nil || !os.SameFile(now, p.info):
			rels = append(rels, p.rel)
		case p.text != nil:
			if text, err := os.ReadFile(p.path); err != nil || !bytes.Equal(text, p.text) {
				rels = append(rels, p.rel)
			}
		}
	}
	return rels
}

func (all places) close() {
	for _, p := range all {
		if p.open != nil {
			p.open.Close()
		}
	}
}

// unprotected says what lost its protection while the agent worked, "" if
// nothing did. An agent that ends itself with our own exit code is believed: it
// gains a failure.
func unprotected(replaced []string, code int) string {
	if len(replaced) == 0 && code != exitUnprotected {
		return ""
	}
	what := strings.Join(replaced, ", ")
	if what == "" {
		what = "a protected path" // it is back in its place; sbx-init has named it
	}
	return fmt.Sprintf("somebody on this machine removed, renamed or replaced %s while the agent worked, which takes the protection away, or it was written to by another name; the agent was ended, and may have written there in the moment between: "+
		"look at it without git (ls, cat) before git, a prompt or an editor obeys it, and run again", what)
}
