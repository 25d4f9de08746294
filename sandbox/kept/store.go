package kept

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/org/claude-sandbox/internal/atomicfile"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/internal/filelock"
)

// Root is the folder of all stores of a user.
type Root string

// nameForm is the form of a profile's name: a plain file's name on every system.
var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// CheckName errs on a text that is no name of a profile.
func CheckName(name string) error {
	if nameForm.MatchString(name) {
		return nil
	}
	return diag.WithHint(fmt.Errorf("%q is no name of a profile", name), "accepted: lower case letters, digits, - and _, at most 63")
}

// Files of a store. The profile's own folder has preferencesFile, the others are the
// project's.
const (
	claudeFile      = "claude.tar"
	preferencesFile = "preferences.json"
	serversFile     = "servers.json"
	projectFile     = "project"
	lockFile        = "lock"
)

// profile is the folder of a profile, "" = of none: what a project keeps without one.
func (r Root) profile(name string) string {
	if name == "" {
		return filepath.Join(string(r), "projects")
	}
	return filepath.Join(string(r), "profiles", name)
}

// Store is what one project keeps under one profile. It is held until Close.
type Store struct {
	dir     string // of the project
	profile string // the folder around it
	named   bool   // there is a profile, so Claude's own files are kept
	lock    *os.File
}

// holder is what a lock says of who holds it.
type holder struct {
	Run   string    `json:"run"`
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
}

// HasProfile reports whether an earlier run left something under the profile, in any project.
func (r Root) HasProfile(profile string) bool { return filekind.IsFolder(r.profile(profile)) }

// Open opens and holds what the project, a folder without symbolic links, keeps under a
// profile, "" = without one. A folder that takes the place of a removed one, as a new clone
// does, is another project. run says who holds it. A store that another run holds is
// an error with the exit code 75 that names it.
func (r Root) Open(profile, project, run string) (*Store, error) {
	if profile != "" {
		if err := CheckName(profile); err != nil {
			return nil, exitcode.With(exitcode.Usage, err)
		}
	}
	sum := sha256.Sum256([]byte(project + "\x00" + filekind.Identity(project)))
	dir := filepath.Join(r.profile(profile), hex.EncodeToString(sum[:8]))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, exitcode.With(exitcode.CantWrite, fmt.Errorf("making the folder of what is kept: %w", err))
	}
	s, err := open(dir, run)
	if held := (*HeldError)(nil); errors.As(err, &held) {
		what := "what this project keeps"
		if profile != "" {
			what = "the profile " + profile + " of this project"
		}
		return nil, exitcode.With(exitcode.Locked, diag.WithHint(fmt.Errorf("%s is in use by the run %s (process %d, since %s)", what,
			held.Run, held.PID, held.Since.Local().Format(time.DateTime)),
			"wait for its end or stop it; another profile, or none, works at the same time"))
	}
	if err != nil {
		return nil, exitcode.With(exitcode.CantWrite, fmt.Errorf("opening what is kept: %w", err))
	}
	s.named = profile != ""
	return s, atomicfile.WriteBytes(filepath.Join(dir, projectFile), 0o600, []byte(project))
}

// Reopen opens the store in a folder that Store.Dir returned, after its run was killed.
func Reopen(dir, run string) (*Store, error) {
	s, err := open(dir, run)
	if err == nil {
		s.named = filepath.Base(filepath.Dir(s.profile)) == "profiles"
	}
	return s, err
}

// HeldError says who holds a store.
type HeldError struct{ holder }

func (e *HeldError) Error() string { return "in use by the run " + e.Run }

// open holds the store in a folder for a run, which it names in the lock.
func open(dir, run string) (*Store, error) {
	s, err := hold(dir, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	text, _ := json.Marshal(holder{run, os.Getpid(), time.Now()}) // of plain data
	err = s.lock.Truncate(0)
	if err == nil {
		_, err = s.lock.WriteAt(text, 0)
	}
	if err != nil {
		_ = s.lock.Close()
		return nil, err
	}
	return s, nil
}

// hold holds the store in a folder, whose lock is opened with the flags. A store that a run
// holds is a HeldError.
func hold(dir string, flags int) (*Store, error) {
	lock, err := os.OpenFile(filepath.Join(dir, lockFile), flags, 0o600)
	if err != nil {
		return nil, err
	}
	free, err := filelock.Try(lock)
	if err == nil && !free {
		held := &HeldError{}
		text, _ := io.ReadAll(io.LimitReader(lock, 4<<10))
		_ = json.Unmarshal(text, &held.holder) // it may be under way
		err = held
	}
	if err != nil {
		_ = lock.Close()
		return nil, err
	}
	return &Store{dir: dir, profile: filepath.Dir(dir), lock: lock}, nil
}

// Dir is the store's folder, for Reopen.
func (s *Store) Dir() string { return s.dir }

// KeepsClaude reports whether Claude's own files are kept, and not the user's paths alone.
func (s *Store) KeepsClaude() bool { return s.named }

// Close lets go of the store.
func (s *Store) Close() { _ = s.lock.Close() }

// Kept is what a profile keeps of one project.
type Kept struct {
	Project string    `json:"project"`
	Bytes   int64     `json:"bytes"`
	Used    time.Time `json:"used"`
	InUse   string    `json:"inUse,omitempty"` // by this run
	dir     string
}

// List lists what a profile keeps, "" = what projects keep without one.
func (r Root) List(profile string) (list []Kept, err error) {
	entries, err := os.ReadDir(r.profile(profile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		k := Kept{dir: filepath.Join(r.profile(profile), e.Name())}
		text, _ := os.ReadFile(filepath.Join(k.dir, projectFile))
		k.Project = string(text)
		files, _ := os.ReadDir(k.dir)
		for _, f := range files {
			if info, err := f.Info(); err == nil && strings.HasSuffix(f.Name(), ".tar") {
				k.Bytes += info.Size()
			}
			if info, err := f.Info(); err == nil && info.ModTime().After(k.Used) {
				k.Used = info.ModTime()
			}
		}
		held := (*HeldError)(nil)
		if s, err := hold(k.dir, os.O_RDWR); err == nil {
			s.Close()
		} else if errors.As(err, &held) {
			k.InUse = held.Run
		}
		list = append(list, k)
	}
	return list, nil
}

// Profiles lists the names of profiles that keep something.
func (r Root) Profiles() (names []string) {
	entries, _ := os.ReadDir(filepath.Join(string(r), "profiles"))
	for _, e := range entries {
		if e.IsDir() && nameForm.MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names
}

// Remove removes all that a profile keeps and returns what that was. Nothing is removed
// while a run uses any of it: the error then has the exit code 75.
func (r Root) Remove(profile string) (removed []Kept, err error) {
	if err := CheckName(profile); err != nil {
		return nil, exitcode.With(exitcode.Usage, err)
	}
	list, err := r.List(profile)
	if err != nil {
		return nil, exitcode.With(exitcode.CantWrite, err)
	}
	for _, k := range list {
		s, err := hold(k.dir, os.O_RDWR)
		if held := (*HeldError)(nil); errors.As(err, &held) {
			return nil, exitcode.With(exitcode.Locked, diag.WithHint(fmt.Errorf("the profile %s is in use by the run %s (process %d) in %s",
				profile, held.Run, held.PID, k.Project), "wait for its end or stop it"))
		}
		if err == nil {
			defer s.Close()
		}
	}
	if err := os.RemoveAll(r.profile(profile)); err != nil {
		return nil, exitcode.With(exitcode.CantWrite, err)
	}
	return list, nil
}
