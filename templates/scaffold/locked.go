package scaffold

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/carried"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/templates/lock"
	"github.com/org/claude-sandbox/templates/merge"
)

// ErrExtended reports a dev container of the user's own with our Feature in it,
// which has no lock.
var ErrExtended = errors.New("this dev container is your own, with the firewall's Feature")

// Locked is a dev container with its lock.
type Locked struct {
	Dir   Folder
	Lock  *lock.Lock       // nil for one that was extended, see OpenPinned
	Files []templates.File // those of the lock's files that are there, as they are
}

// ReadLock reads the lock of the project in dir. The error wraps ErrExtended when
// there can be none.
func ReadLock(dir Folder) (*lock.Lock, error) {
	if info, err := os.Stat(string(dir)); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, diag.WithHint(fmt.Errorf("%s is a file", dir), "name the project's folder, the one with .devcontainer in it")
	}
	if text := dir.Read(lock.Path); text != nil {
		return lock.Parse(text)
	}
	if _, err := os.Stat(dir.Path(lock.Path)); !errors.Is(err, fs.ErrNotExist) {
		return nil, diag.WithHint(fmt.Errorf("%s is not a regular file that can be read", dir.Path(lock.Path)),
			"it must be a file of this user's, and neither it nor .devcontainer a link that leads out of the project")
	}
	if config := dir.Read(ConfigPath); config != nil && templates.Extended(config) {
		return nil, fmt.Errorf("%s: %w: there is no template to compare it with", dir, ErrExtended)
	}
	if _, err := filepath.Abs(string(dir)); err != nil {
		return nil, err // the current folder was removed
	}
	return nil, diag.WithHint(fmt.Errorf("%s: no %s", dir, lock.Path), "'sbx-devc init' writes one; a dev container from before has none")
}

// Open reads the lock and the files that it describes. Files that are there and
// cannot be read are an error: to call them missing would be wrong, and to leave
// them out a guess.
func Open(dir Folder) (*Locked, error) {
	l, err := ReadLock(dir)
	if err != nil {
		return nil, err
	}
	d := &Locked{Dir: dir, Lock: l}
	for _, name := range l.Paths() {
		info, err := os.Lstat(dir.Path(name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && !info.Mode().IsRegular() {
			err = diag.WithHint(fmt.Errorf("%s is not a regular file", dir.Path(name)),
				"nothing is read or written through a link; put a file there, or remove it")
		}
		if err != nil {
			return nil, err
		}
		text, err := filekind.Read(dir.Path(name), maxFile)
		if err != nil {
			return nil, err
		}
		d.Files = append(d.Files, templates.File{Path: name, Content: text})
	}
	return d, nil
}

// Wish is how an update is to be made.
type Wish struct {
	Options []string   // of the template, KEY=VALUE, that change
	Prefer  merge.Side // decides conflicts
	Rescan  bool       // look again for what has to be read-only inside
	// Check says that nothing will be written: a lock that lacks only versions and
	// digests that the files have already is then up to date.
	Check bool
}

// Update is what an update comes to. With Conflicts nothing of it is to be
// written.
type Update struct {
	*lock.Result // Files are those that change, with the lock
	Seen         templates.Observation
	Moved        []string // with Check: versions and digests of the files that the lock lacks
}

// Update merges what the template of this program says into the files. The
// error carries exitcode.Usage for options that are wrong.
func (d *Locked) Update(w Wish) (*Update, error) {
	in := d.Lock.Input()
	in.Options = maps.Clone(in.Options)
	if err := SetOptions(in.Options, w.Options); err != nil {
		return nil, err
	}
	u := &Update{}
	var err error
	if w.Rescan {
		if u.Seen, err = templates.Observe(string(d.Dir)); err != nil {
			return nil, err
		}
		if !templates.MountsWorkspace(d.Files) {
			u.Seen = templates.Observation{} // nothing of the project is mounted writable
		}
		in.Facts = u.Seen.Facts
	}
	u.Result, err = lock.Update(d.Lock, in, carried.Sums(), d.Dir.Read, w.Prefer)
	switch {
	case errors.Is(err, templates.ErrOption) && len(w.Options) > 0:
		return nil, exitcode.With(exitcode.Usage, err)
	case err != nil:
		return nil, err
	case len(u.Conflicts) > 0:
		return u, nil
	}
	if w.Check && len(u.Files) == 0 && u.OnlyMoved(d.Lock, d.Files) {
		u.Moved, u.Lock = d.Lock.Stale(d.Files, nil).Moved, d.Lock
	}
	// Git on Windows checks the lock out with carriage returns.
	if text := u.Lock.Encode(); string(text) != strings.ReplaceAll(string(d.Dir.Read(lock.Path)), "\r\n", "\n") {
		u.Files = append(u.Files, templates.File{Path: lock.Path, Content: text})
	}
	return u, nil
}

// Drift is how a dev container differs from its template and its lock.
type Drift struct {
	Findings []string // sentences, each about a file or a place in it
	Moved    []string // versions and digests that are not those of the lock, which is no drift
	Edited   []string // paths of files with edits of the user's, which is none either
}

// Drift compares and writes nothing.
func (d *Locked) Drift() (Drift, error) {
	r, err := lock.Update(d.Lock, d.Lock.Input(), carried.Sums(), d.Dir.Read, merge.Neither)
	if err != nil {
		return Drift{}, err
	}
	stale := d.Lock.Stale(d.Files, carried.Sums())
	out := Drift{Moved: stale.Moved, Edited: r.Edited}
	template := r.Lock.Template.ID + " " + r.Lock.Template.Version
	for _, f := range r.Files {
		out.Findings = append(out.Findings, fmt.Sprintf("%s: behind template %s", f.Path, template))
	}
	for _, c := range r.Conflicts {
		out.Findings = append(out.Findings, fmt.Sprintf("%s %s: changed here and in template %s", c.Path, c.Place, template))
	}
	for _, path := range d.Lock.Paths() {
		if !slices.ContainsFunc(d.Files, func(f templates.File) bool { return f.Path == path }) {
			out.Findings = append(out.Findings, path+": is missing")
		}
	}
	for _, s := range stale.Other {
		out.Findings = append(out.Findings, lock.Path+": "+s)
	}
	return out, nil
}

// OpenPinned is Open for files that must be well formed, also those of a dev container
// that was extended: of that only the Features are locked.
func OpenPinned(dir Folder) (*Locked, error) {
	d, err := Open(dir)
	if errors.Is(err, ErrExtended) {
		d, err = &Locked{Dir: dir, Files: []templates.File{{Path: ConfigPath, Content: dir.Read(ConfigPath)}}}, nil
	}
	if err != nil {
		return nil, err
	}
	return d, lock.WellFormed(d.Files)
}

// Stale returns how the locks differ from the files, in sentences. unknown are
// images whose digest was never looked up, which is not counted as stale.
func (d *Locked) Stale() (stale, unknown []string, err error) {
	if d.Lock != nil {
		s := d.Lock.Stale(d.Files, carried.Sums())
		unknown, s.Unknown = s.Unknown, nil
		stale = s.All()
	}
	features, err := lock.StaleFeatures(d.Files, d.Dir.Read(lock.FeaturesPath))
	return append(stale, features...), unknown, err
}

// Renew asks r for every digest and returns the lock files as they should be. They
// are not to be written when a digest could not be had, for the reasons in failed.
func (d *Locked) Renew(ctx context.Context, r lock.Resolver) (files []templates.File, failed []error) {
	if l := d.Lock; l != nil {
		l.Describe(d.Files, l)
		l.RenewInit(carried.Sums())
		failed = l.LookUp(ctx, r)
		files = append(files, templates.File{Path: lock.Path, Content: l.Encode()})
	}
	features, err := lock.LockFeatures(ctx, d.Files, r)
	if err != nil {
		failed = append(failed, err)
	}
	if features != nil {
		files = append(files, templates.File{Path: lock.FeaturesPath, Content: features})
	}
	return files, failed
}
