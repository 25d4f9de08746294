package workspace

import (
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"

	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/workspace/gitdir"
)

// Husky before version 8 installs whatever HUSKY says, and fails where it cannot write:
// below .husky/_, and versions 5 and 6 into .husky/.gitignore as well. Git on this
// machine obeys both, so the agent has its own.
const (
	huskyOwn    = ".husky/_"
	huskyIgnore = ".husky/.gitignore"
)

// Bounds in bytes: of the .husky/.gitignore that an agent has a copy of (husky's own has
// two), and of the start of package.json that is looked at.
const (
	maxHuskyIgnore = 64 << 10
	packageStart   = 1 << 20
)

// Husky is what a project has of it.
type Husky struct {
	InUse  bool    // .husky is a folder that holds something: an empty one is another run's placeholder
	Ignore *string // the text of .husky/.gitignore, which husky 5 and 6 write; nil = they have no need to
}

// oldHusky is a dependency on husky 5 or 6 in package.json.
var oldHusky = regexp.MustCompile(`"husky"\s*:\s*"[~^]?[56]\b`)

// lookAtHusky reads what decides about husky's mounts.
func (w *Workspace) lookAtHusky() {
	w.Husky.InUse = w.Paths[".husky"] == Folder && !isEmpty(filepath.Join(w.Dir, ".husky"))
	if !w.Husky.InUse {
		return
	}
	switch w.Paths[huskyIgnore] {
	case File:
		if text, err := readOwn(w.Dir, huskyIgnore, maxHuskyIgnore+1); err == nil && len(text) <= maxHuskyIgnore {
			w.Husky.Ignore = &text
		}
	case Missing:
		if text, err := readOwn(w.Dir, "package.json", packageStart); err == nil && oldHusky.MatchString(text) {
			w.Husky.Ignore = new(string)
		}
	}
}

// readOwn reads the start of a regular file of a project. The agent may see it, so that
// no link to a file elsewhere is followed, also where one comes right now.
func readOwn(dir, name string, limit int64) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	f, err := filekind.OpenIn(root, name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit))
	return string(text), err
}

// coverHusky covers what husky writes, below the read-only mount of .husky. Where a cover
// is lost, that mount is what the agent finds.
func (b *mountBuilder) coverHusky(m *Mounts) {
	switch b.workspace.Paths[huskyOwn] { // the engine would follow a link
	case Missing:
		b.hold(huskyOwn, Folder, "", false)
		fallthrough
	case Folder:
		m.Scratch = append(m.Scratch, path.Join(b.target, huskyOwn))
		delete(b.mounts, huskyOwn) // husky 9 makes it git's folder of hooks, which is protected; one place has one mount
	}
	if text := b.workspace.Husky.Ignore; text != nil {
		if b.workspace.Paths[huskyIgnore] == Missing {
			b.hold(huskyIgnore, File, "", false)
		}
		b.mounts[huskyIgnore] = Mount{Target: path.Join(b.target, huskyIgnore)}
		m.Files = append(m.Files, gitdir.File{Path: huskyIgnore, Text: *text})
	}
}
