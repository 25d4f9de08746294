package scaffold

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/templates/lock"
	"github.com/org/claude-sandbox/workspace/obeyed"
)

// ConfigPath is where init writes the configuration, and looks for one.
const ConfigPath = ".devcontainer/devcontainer.json"

// plainPath is the other place that editors look at, and oldPath the place where
// nothing looks for it.
const (
	plainPath = ".devcontainer.json"
	oldPath   = plainPath + ".old"
)

// Folder is a project's folder. Paths below it are slash-separated.
type Folder string

// Path returns the place of a file on the disk.
func (d Folder) Path(name string) string { return filepath.Join(string(d), filepath.FromSlash(name)) }

// Read returns a regular file; nil when there is none, or only a link: nothing is
// written through one either.
func (d Folder) Read(name string) []byte {
	info, err := os.Lstat(d.Path(name))
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	text, err := filekind.Read(d.Path(name), maxFile)
	if err != nil {
		return nil
	}
	return text
}

// maxFile bounds the files of a dev container, in bytes.
const maxFile = 16 << 20

// Holds reports whether the file is there in just this form.
func (d Folder) Holds(f templates.File) bool {
	text := d.Read(f.Path)
	return text != nil && bytes.Equal(text, f.Content)
}

// isThere reports whether something of this name is there that is no folder.
func (d Folder) isThere(name string) bool {
	info, err := os.Lstat(d.Path(name))
	return err == nil && !info.IsDir()
}

// Changed returns the files that are not there in just this form.
func (d Folder) Changed(files []templates.File) []templates.File {
	return slices.DeleteFunc(slices.Clone(files), d.Holds)
}

// Existing is a dev container that is in a folder already.
type Existing int

// The dev containers that there are.
const (
	None    Existing = iota
	Ours             // written by init
	Foreign          // the user's own
	Plain            // the user's own, as a file .devcontainer.json
)

// Existing says which dev container is there.
func (d Folder) Existing() Existing {
	there := func(name string) bool {
		info, err := os.Stat(d.Path(name)) // a link is one as well
		return err == nil && !info.IsDir()
	}
	switch {
	case there(lock.Path):
		return Ours
	case there(ConfigPath):
		return Foreign
	case there(plainPath):
		return Plain
	}
	return None
}

// KeepHint says how to keep the dev container that is there; "" when there is none.
func (d Folder) KeepHint() string {
	switch d.Existing() {
	case Ours:
		return "'sbx-devc update' keeps your edits"
	case Foreign:
		return "--extend keeps this dev container and adds the firewall to it"
	}
	return ""
}

// OpenWith opens the dev container as it would be with these files.
func (d Folder) OpenWith(files []templates.File, use func(*devcontainer.Project)) error {
	more := map[string][]byte{}
	for _, f := range files {
		more[f.Path] = f.Content
	}
	return devcontainer.OpenWith(d.Path(ConfigPath), more, func(p *devcontainer.Project) error { use(p); return nil })
}

// Errors returns the errors that validate has about a dev container.
func Errors(p *devcontainer.Project) []diag.Finding {
	return slices.DeleteFunc(lint.Check(p), func(f diag.Finding) bool { return f.Severity != diag.SeverityError })
}

// Worse returns every error that the dev container would have with these files,
// if they are more than it has now, and nil if not.
func (d Folder) Worse(files []templates.File) []diag.Finding {
	errorsWith := func(files []templates.File) (errs []diag.Finding) {
		_ = d.OpenWith(files, func(p *devcontainer.Project) { errs = Errors(p) }) // none without a configuration
		return errs
	}
	before, after := errorsWith(nil), errorsWith(files)
	if len(after) <= len(before) {
		return nil
	}
	return after
}

// MakeFolders makes the empty folders that mounts need, and says which; undo takes
// them away again.
func (d Folder) MakeFolders(seen templates.Observation) (notes []string, undo func(), err error) {
	if undo, err = seen.EnsureFolders(string(d)); err != nil {
		return nil, nil, err
	}
	if seen.NoHooks {
		notes = append(notes, "made an empty .git/hooks, so that it can be protected")
	}
	if len(seen.NoFolders) > 0 {
		made := fmt.Sprintf("made %d empty folders, which the container covers; 'sbx-devc clean' removes them", len(seen.NoFolders))
		notes = append(notes, made)
	}
	return notes, undo, nil
}

// Write writes the files and makes the folders that their mounts need: all of it
// or nothing. notes says what was made. An error carries
// exitcode.Refused for files that are in the way and are not to be overwritten, and else
// exitcode.CantWrite.
func (d Folder) Write(seen templates.Observation, files []templates.File, overwrite bool) (notes []string, err error) {
	notes, undo, err := d.MakeFolders(seen)
	if err == nil {
		if err = templates.WriteFiles(string(d), files, overwrite); err != nil {
			undo()
		}
	}
	switch {
	case err == nil:
		return notes, nil
	case errors.Is(err, templates.ErrExists):
		return nil, exitcode.With(exitcode.Refused, err)
	}
	return nil, exitcode.With(exitcode.CantWrite, fmt.Errorf("writing into %s: %w", d, err))
}

// EmptyFolders lists the folders that MakeFolders or a run made, as long as they are empty.
func (d Folder) EmptyFolders() (empty []string) {
	names := obeyed.ProjectPaths()
	if _, err := os.Lstat(filepath.Join(string(d), obeyed.BareStop)); err == nil {
		// A run's as well. They go first: next to an agent's HEAD and config they would make
		// a repository, as soon as the stop is gone.
		names = append(names, ".git", "refs", "objects", obeyed.BareStop)
	}
	for _, p := range names {
		folder := filepath.Join(string(d), p)
		entries, err := os.ReadDir(folder)
		if info, statErr := os.Lstat(folder); err == nil && statErr == nil && info.IsDir() && len(entries) == 0 {
			empty = append(empty, p)
		}
	}
	return empty
}

// RemoveFolders removes the folders that MakeFolders or a run made, as long as
// they are empty, and returns which.
func (d Folder) RemoveFolders() (removed []string, err error) {
	for _, p := range d.EmptyFolders() {
		if err := os.Remove(filepath.Join(string(d), p)); err != nil {
			return removed, exitcode.With(exitcode.CantWrite, fmt.Errorf("removing the empty folder: %w", err))
		}
		removed = append(removed, p)
	}
	return removed, nil
}
