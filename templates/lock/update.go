package lock

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"golang.org/x/mod/semver"

	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/templates/merge"
)

// ErrNewer reports files of a later template than this program's.
var ErrNewer = errors.New("this sbx-devc is older than the dev container")

// Result is what an update comes to. With conflicts nothing of it is to be
// written.
type Result struct {
	Lock      *Lock
	Files     []templates.File // that change, without the lock
	Conflicts []FileConflict
	Edited    []string // files that differ from what the template wrote: the user's edits, kept
	Missing   []string // files of the template that are not there; they stay away
	Notes     []string // sentences for the user
}

// FileConflict is a conflict in the file at Path.
type FileConflict struct {
	Path string
	merge.Conflict
}

// rendered returns what the template in this program would write for the same
// input. Options of the lock that it no longer has are left out and named in
// notes; others that it does not have are an error. The error wraps ErrNewer
// when the lock is of a later version: to merge an older template takes back
// what the later one protects.
func (l *Lock) rendered(in Input, initSHA256 map[string]string) (next *Lock, files []templates.File, notes []string, err error) {
	t, err := templates.Load(in.Template)
	if err != nil {
		return nil, nil, nil, err
	}
	if semver.Compare("v"+l.Template.Version, "v"+t.Version) > 0 && l.Template.ID == t.ID {
		err := fmt.Errorf("%w: its files are of template %s %s, and this one has %s", ErrNewer, t.ID, l.Template.Version, t.Version)
		return nil, nil, nil, diag.WithHint(err, "use a newer sbx-devc")
	}
	in.Options = maps.Clone(in.Options)
	for _, name := range slices.Sorted(maps.Keys(in.Options)) {
		_, known := t.Options[name]
		if _, chosen := l.Options[name]; chosen && !known {
			notes = append(notes, fmt.Sprintf("the template %s no longer has the option %s (it was %q)", t.ID, name, in.Options[name]))
			delete(in.Options, name)
		}
	}
	next, files, err = New(in, initSHA256)
	if err != nil {
		return nil, nil, nil, err
	}
	return next, files, notes, nil
}

// Update merges what the template says now into the files as they are. read
// returns the file at a path, or nil when there is none. It is pure but for
// read.
func Update(l *Lock, in Input, initSHA256 map[string]string, read func(path string) []byte, prefer merge.Side) (*Result, error) {
	next, files, notes, err := l.rendered(in, initSHA256)
	if err != nil {
		return nil, err
	}
	r := &Result{Lock: next, Notes: notes}
	var merged []templates.File
	for _, f := range files {
		base, mine := l.BaseFile(f.Path), read(f.Path)
		if mine != nil {
			if err := WellFormed([]templates.File{{Path: f.Path, Content: mine}}); err != nil {
				return nil, err
			}
		}
		if mine != nil && !bytes.Equal(withoutReturns(base), withoutReturns(mine)) {
			r.Edited = append(r.Edited, f.Path)
		}
		content, conflicts, note, err := mergeFile(f.Path, base, f.Content, mine, prefer)
		if err != nil {
			return nil, diag.WithHint(fmt.Errorf("%s: %w", f.Path, err), "'sbx-devc validate' shows the place")
		}
		if note != "" {
			r.Notes = append(r.Notes, f.Path+": "+note)
		}
		for _, c := range conflicts {
			r.Conflicts = append(r.Conflicts, FileConflict{f.Path, c})
		}
		if content == nil { // the user removed it, and the template did not change it
			r.Missing = append(r.Missing, f.Path)
			continue
		}
		merged = append(merged, templates.File{Path: f.Path, Content: content})
		if !bytes.Equal(content, mine) {
			r.Files = append(r.Files, templates.File{Path: f.Path, Content: content})
		}
	}
	for _, name := range l.Paths() {
		if _, still := next.Base[name]; !still && read(name) != nil {
			r.Notes = append(r.Notes, name+" is no longer part of the template; remove it if nothing else needs it")
		}
	}
	// The names in the merged files count, not the template's.
	r.Lock.Describe(merged, l)
	return r, nil
}

// withoutReturns returns text with line feeds alone: git on Windows checks it out
// with carriage returns, which no one typed.
func withoutReturns(text []byte) []byte {
	return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
}

func mergeFile(
	name string, base, template, mine []byte, prefer merge.Side,
) (merged []byte, conflicts []merge.Conflict, note string, err error) {
	switch ext := path.Ext(name); {
	case ext == ".json" || ext == ".jsonc":
		merged, conflicts, err = merge.JSONC(base, template, mine, prefer)
	case path.Base(name) == "Dockerfile":
		merged, conflicts, note = merge.Dockerfile(base, template, mine, prefer)
	default:
		merged, conflicts = merge.Text(base, template, mine, prefer)
	}
	return merged, conflicts, note, err
}

// WellFormed returns which of the files is not JSON or YAML although its name
// says so, and where; nil when none is. A file that cannot be read cannot be compared:
// an answer without it would be a guess.
func WellFormed(files []templates.File) error {
	for _, f := range files {
		var err error
		switch path.Ext(f.Path) {
		case ".json", ".jsonc":
			if doc, findings := jsonc.Parse("", f.Content); doc == nil {
				err = fmt.Errorf("line %d: %s", findings[0].Line, findings[0].Message)
			}
		case ".yaml", ".yml":
			err = compose.WellFormed(f.Content)
		}
		if err != nil {
			return diag.WithHint(fmt.Errorf("%s: the file is not well formed: %w", f.Path, err), "'sbx-devc validate' shows the place")
		}
	}
	return nil
}

// OnlyMoved reports whether the new lock differs from old in nothing but
// versions and digests that the files have already.
func (r *Result) OnlyMoved(old *Lock, files []templates.File) bool {
	now := *old
	now.Describe(files, old)
	return len(old.Stale(files, nil).Other) == 0 && bytes.Equal(now.Encode(), r.Lock.Encode())
}
