package trust

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/org/claude-sandbox/internal/atomicfile"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/internal/filelock"
	"github.com/org/claude-sandbox/internal/userdir"
)

// The names in the user's folder.
const (
	storeName = "trust.json"
	lockName  = "trust.lock"
	copies    = "trusted"
)

// schemaVersion is the form of trust.json.
const schemaVersion = 1

// maxStore bounds trust.json and a copy, in bytes: content is bounded by package
// settings, and base64 makes it longer.
const maxStore = 64 << 20

// ErrBusy reports that another process keeps the store locked.
var ErrBusy = errors.New("another sbx-devc is writing it")

// Standing is what the store says of a project's content.
type Standing int

// The standings.
const (
	Unknown Standing = iota // nothing of this project was accepted
	Changed                 // something else was accepted
	Trusted                 // exactly this was accepted
)

// Answer is what the store says of a project's content.
type Answer struct {
	Standing  Standing
	Accepted  Content  // of Changed: what was accepted; nil when its copy is gone
	Elsewhere []string // of Unknown: the projects of which the same content was accepted
}

// Entry is a project of which content was accepted.
type Entry struct {
	Project string    `json:"project"` // see Project
	Digest  string    `json:"sha256"`  // see Content.Digest
	Time    time.Time `json:"time"`
	By      string    `json:"by"` // the command
}

// Store is what one user has accepted. It may be used by several goroutines and
// processes at once.
type Store struct {
	dir  userdir.Dir
	now  func() time.Time
	wait time.Duration // for another writer
}

// Open returns the store in the user's folder, for a question about the project in
// the folder project; "" = about none. It creates nothing. A folder that must not be
// believed is an error, see userdir.Dir.Check.
func Open(dir userdir.Dir, project string) (*Store, error) {
	if err := dir.Check(project); err != nil {
		return nil, err
	}
	return &Store{dir: dir, now: time.Now, wait: 10 * time.Second}, nil
}

// Look says what was accepted of a project, which Project named.
func (s *Store) Look(project string, c Content) (Answer, error) {
	entries, err := s.read()
	if err != nil {
		return Answer{}, err
	}
	return s.answer(entries, project, c.Digest()), nil
}

func (s *Store) answer(entries []Entry, project, digest string) Answer {
	var a Answer
	for _, e := range entries {
		switch {
		case e.Project == project && e.Digest == digest:
			return Answer{Standing: Trusted}
		case e.Project == project:
			a.Standing = Changed
			a.Accepted = s.copyOf(e.Digest)
		case e.Digest == digest:
			a.Elsewhere = append(a.Elsewhere, e.Project)
		}
	}
	if a.Standing == Changed {
		a.Elsewhere = nil
	}
	return a
}

// Accept remembers content as accepted in the place of what was accepted of the
// project before. by names the command.
func (s *Store) Accept(project string, c Content, by string) error {
	return s.change(func(entries []Entry) ([]Entry, error) { return s.with(entries, project, c, by) })
}

// Keep accepts now if old is what was accepted, and reports whether it did: for a
// command that changes settings by the user's word.
func (s *Store) Keep(project string, old, now Content, by string) (kept bool, err error) {
	if a, err := s.Look(project, old); err != nil || a.Standing != Trusted {
		return false, err // and nothing is created
	}
	err = s.change(func(entries []Entry) ([]Entry, error) {
		if s.answer(entries, project, old.Digest()).Standing != Trusted {
			return entries, nil
		}
		kept = true
		return s.with(entries, project, now, by)
	})
	return kept && err == nil, err
}

func (s *Store) with(entries []Entry, project string, c Content, by string) ([]Entry, error) {
	e := Entry{project, c.Digest(), s.now().UTC().Truncate(time.Second), by}
	if err := atomicfile.WriteBytes(s.copyPath(e.Digest), 0o600, c.encode()); err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e Entry) bool { return e.Project == project })
	return append(entries, e), nil
}

// Remove forgets a project, and reports whether something of it was accepted.
func (s *Store) Remove(project string) (removed bool, err error) {
	if entries, err := s.read(); err != nil || len(entries) == 0 {
		return false, err // and nothing is created
	}
	err = s.change(func(entries []Entry) ([]Entry, error) {
		kept := slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool { return e.Project == project })
		removed = len(kept) < len(entries)
		return kept, nil
	})
	return removed, err
}

// List returns every project, sorted by name.
func (s *Store) List() ([]Entry, error) {
	entries, err := s.read()
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Project, b.Project) })
	return entries, err
}

// form is trust.json.
type form struct {
	SchemaVersion int     `json:"schemaVersion"`
	Projects      []Entry `json:"projects"`
}

// read returns what the store holds; a store that is missing holds nothing.
func (s *Store) read() ([]Entry, error) {
	text, err := readOwn(s.dir.File(storeName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var f form
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err = d.Decode(&f)
	switch {
	case err == nil && d.More():
		err = errors.New("text follows its end")
	case err == nil && f.SchemaVersion != schemaVersion:
		err = fmt.Errorf("it has the form of version %d, and this program knows %d", f.SchemaVersion, schemaVersion)
	}
	if err != nil {
		name := s.dir.File(storeName)
		return nil, diag.WithHint(fmt.Errorf("the list of trusted projects, %s, cannot be read: %w", name, err),
			"correct it, or move it away with 'mv %q %q': every project's settings are then asked about once more", name, name+".broken")
	}
	return f.Projects, nil
}

// change replaces the entries by what edit makes of them, as the only writer.
func (s *Store) change(edit func([]Entry) ([]Entry, error)) error {
	if err := s.dir.Make(); err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir.File(copies), 0o700); err != nil {
		return err
	}
	lock, err := s.lock()
	if err != nil {
		return err
	}
	defer lock.Close()
	before, err := s.read()
	if err != nil {
		return err
	}
	after, err := edit(slices.Clone(before))
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(form{schemaVersion, after}, "", "  ")
	if err != nil {
		return err
	}
	if err := atomicfile.WriteBytes(s.dir.File(storeName), 0o600, append(text, '\n')); err != nil {
		return err
	}
	s.removeCopies(before, after)
	return nil
}

// removeCopies removes the copies that nothing refers to any more. One that stays is
// of no consequence.
func (s *Store) removeCopies(before, after []Entry) {
	gone := map[string]bool{}
	for _, e := range before {
		gone[e.Digest] = true
	}
	for _, e := range after {
		delete(gone, e.Digest)
	}
	for digest := range gone {
		if isDigest(digest) {
			_ = os.Remove(s.copyPath(digest))
		}
	}
}

// lock waits until no other process changes the store. Closing the file ends it.
func (s *Store) lock() (*os.File, error) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), s.wait, fmt.Errorf("the list of trusted projects is locked: %w", ErrBusy))
	defer cancel()
	return filelock.Wait(ctx, s.dir.File(lockName))
}

func (s *Store) copyPath(digest string) string {
	return filepath.Join(s.dir.File(copies), digest+".json")
}

// copyOf returns the accepted content of that digest; nil when its copy is gone or is
// another text.
func (s *Store) copyOf(digest string) Content {
	if !isDigest(digest) {
		return nil
	}
	text, err := readOwn(s.copyPath(digest))
	if err != nil {
		return nil
	}
	var c Content
	if json.Unmarshal(text, &c) != nil || c.Digest() != digest {
		return nil
	}
	return c
}

// readOwn reads a file that is the user's alone.
func readOwn(name string) ([]byte, error) {
	f, err := filekind.Open(name)
	if err != nil {
		return nil, diag.OrHint(err, "move it away")
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := userdir.CheckOwner(name, info); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxStore+1))
	if err == nil && len(text) > maxStore {
		err = diag.WithHint(fmt.Errorf("%s is larger than %d bytes", name, maxStore), "move it away")
	}
	return text, err
}

func isDigest(text string) bool {
	return len(text) == 64 && !bytes.ContainsFunc([]byte(text), func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'f') })
}
