package workspace

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/workspace/obeyed"
)

// place is something of the workspace as it was when it was mounted.
type place struct {
	rel  string
	path string
	info os.FileInfo
	open *os.File // keeps its number from being another's; nil = could not be opened
	text []byte   // what it holds, if it is a file of git's; see obeyed.IsGitFile
}

// maxGitFile bounds a file of git's that is compared, in bytes.
const maxGitFile = 16 << 20

// Places are protected paths as they were when they were mounted.
type Places []place

// remember looks at paths below dir, slash-separated. A missing one is an error.
func remember(dir string, rels []string) (all Places, err error) {
	for _, rel := range rels {
		at := place{rel: rel, path: filepath.Join(dir, filepath.FromSlash(rel))}
		if at.info, err = os.Lstat(at.path); err != nil {
			all.Close()
			return nil, err
		}
		if runtime.GOOS != "windows" { // where an open file could not be replaced by its owner
			at.open, _ = os.OpenFile(at.path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe
		}
		if at.info.Mode().IsRegular() && obeyed.IsGitFile(at.rel) {
			at.text, _ = filekind.Read(at.path, maxGitFile) // what we cannot read is not ours
		}
		all = append(all, at)
	}
	return all, nil
}

// Replaced lists those whose path leads to something else now, or nowhere, and
// files of git's that hold something else. The agent could write to one by
// another name, such as .git/CONFIG where upper and lower case are the same here
// and not in the engine's virtual machine.
func (all Places) Replaced() (rels []string) {
	for _, p := range all {
		now, err := os.Lstat(p.path)
		switch {
		case err != nil || !os.SameFile(now, p.info):
			rels = append(rels, p.rel)
		case p.text != nil:
			if text, err := filekind.Read(p.path, maxGitFile); err != nil || !bytes.Equal(text, p.text) {
				rels = append(rels, p.rel)
			}
		}
	}
	return rels
}

// Close lets go of the places.
func (all Places) Close() {
	for _, p := range all {
		if p.open != nil {
			p.open.Close()
		}
	}
}
