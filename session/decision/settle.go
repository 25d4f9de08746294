package decision

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/sparsefile"
	"github.com/org/claude-sandbox/sandbox/changes"
	"github.com/org/claude-sandbox/session/review"
	"github.com/org/claude-sandbox/session/runs"
)

// Why a path is left as it is.
var (
	// ErrChanged reports a path that holds something else than the run left there, or
	// than its copy began with.
	ErrChanged = errors.New("it has changed since the run, and is left as it is")
	// ErrUncommitted reports one that is not as the last commit, which a clone began with.
	ErrUncommitted = errors.New("it is not as the commit that the run began with: the user's own changes, or later ones; it is left as it is")
	// ErrNotKept reports a former content that nobody kept.
	ErrNotKept = errors.New("the run did not keep what it held before; it is left as it is")
	// ErrMany reports a folder whose files were not looked at one by one.
	ErrMany = errors.New("it stands for many files, which were not looked at one by one; it is left as it is")
)

// Outcome is what became of a path.
type Outcome struct {
	Path string
	Done string // in words, such as "as it was before"; "" with Err
	Err  error
}

// Settle makes the project hold the hunks that stay and none of the others. former
// holds what binary files held (changes.FormerFile). It returns what it did, for each
// path that it had to touch. ended is when the run's changes were written, in
// nanoseconds since 1970. It errs when a folder cannot be opened.
func Settle(w runs.Work, former io.ReaderAt, ended int64, files []review.File, stays func(hunk string) bool) ([]Outcome, error) {
	project, err := os.OpenRoot(w.Project)
	if err != nil {
		return nil, err
	}
	defer project.Close()
	tree, err := os.OpenRoot(w.Tree)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	s := &settler{project: project, tree: tree, former: former, ended: ended, inPlace: w.InPlace(), cloned: w.Cloned}
	var steps []*step
	var outcomes []Outcome
	var folders []*folderStep
	for i := range files {
		if files[i].Change.Folded {
			st, err := s.planFolder(&files[i], files, stays)
			if err != nil {
				outcomes = append(outcomes, Outcome{Path: files[i].Path, Err: err})
			} else if st != nil {
				folders = append(folders, st)
			}
			continue
		}
		st, err := s.plan(&files[i], stays)
		switch {
		case err != nil:
			outcomes = append(outcomes, Outcome{Path: files[i].Path, Err: err})
		case st != nil:
			steps = append(steps, st)
		}
	}
	slices.SortStableFunc(steps, inOrder)
	for _, st := range steps {
		if slices.ContainsFunc(folders, func(f *folderStep) bool { return f.remove && strings.HasPrefix(st.path, f.path+"/") }) {
			continue // it goes with the folder
		}
		outcomes = append(outcomes, Outcome{st.path, st.words(s.inPlace), s.do(st)})
		if at := &outcomes[len(outcomes)-1]; at.Err != nil {
			at.Done = ""
		}
	}
	for _, st := range folders {
		o := Outcome{Path: st.path, Done: map[bool]string{true: "removed", false: "taken"}[st.remove], Err: s.doFolder(st)}
		if o.Err != nil {
			o.Done = ""
		}
		outcomes = append(outcomes, o)
	}
	if s.inPlace {
		s.removeEmpty(files)
	}
	return outcomes, nil
}

// inOrder puts removals first, the deepest of them before all, and then folders before
// what they hold.
func inOrder(a, b *step) int {
	gone := func(s *step) int { return map[bool]int{true: 0, false: 1}[s.want.state == nil] }
	if c := cmp.Compare(gone(a), gone(b)); c != 0 {
		return c
	}
	if gone(a) == 0 {
		return strings.Compare(b.path, a.path)
	}
	return strings.Compare(a.path, b.path)
}

// settler has the folders that a decision is about.
type settler struct {
	project, tree *os.Root
	former        io.ReaderAt // nil = nothing was kept
	ended         int64       // of the run, in nanoseconds since 1970
	inPlace       bool
	cloned        bool // the run began with a commit, and not with the project's files
}

// thing is what a path holds.
type thing struct {
	state   *changes.State // nil = nothing
	content []byte         // of a file; nil = the tree's
	sum     string         // of that, in hex; "" = it is not known
	when    int64          // the kernel's time, where sum is not known
}

// step is a path to be written.
type step struct {
	path       string
	have, want thing
}

func (s *step) words(inPlace bool) string {
	switch {
	case s.want.state == nil:
		return "removed"
	case inPlace && s.have.state == nil:
		return "brought back"
	case inPlace:
		return "refused hunks are as before"
	}
	return "taken"
}

// plan says what must happen to a file; nil for nothing.
func (s *settler) plan(f *review.File, stays func(string) bool) (*step, error) {
	var out []review.Hunk // that do not stay
	for _, h := range f.Hunks {
		if !stays(h.ID) {
			out = append(out, h)
		}
	}
	all := len(out) == len(f.Hunks)
	if s.inPlace && len(out) == 0 || !s.inPlace && all {
		return nil, nil
	}
	c := f.Change
	after := thing{state: c.After, sum: c.Sum, when: c.When}
	var mixed thing
	var err error
	switch {
	case len(out) == 0:
		mixed = after
	case all:
		mixed, err = s.before(f)
	default:
		mixed, err = s.mix(f, out)
	}
	if err != nil {
		return nil, err
	}
	if s.inPlace {
		return &step{f.Path, after, mixed}, nil
	}
	before, err := s.before(f)
	if err != nil {
		return nil, err
	}
	return &step{f.Path, before, mixed}, nil
}

// before is what the path held before the run.
func (s *settler) before(f *review.File) (thing, error) {
	c := f.Change
	was := thing{state: c.Before}
	if c.Before == nil || c.Before.What != changes.File {
		return was, nil
	}
	switch {
	case c.Kind == changes.Mode: // its content is what it was
		var err error
		was.sum, err = s.sumOfResult(f.Path)
		return was, err
	case c.Before.Size == 0:
		was.content = []byte{}
	case c.Note == changes.NoteBinary || c.HadSecret():
		var err error
		if was.content, err = s.kept(f); err != nil {
			return was, err
		}
	case c.Note == "" && len(f.Before()) > 0:
		content := []byte(nil)
		if c.After != nil && c.After.What == changes.File && c.Kind == changes.Changed {
			var err error
			if content, err = s.result(f); err != nil {
				return was, err
			}
		}
		var err error
		if was.content, err = review.Without(content, nil, f.Before()); err != nil {
			return was, err
		}
	}
	if was.content == nil || int64(len(was.content)) != c.Before.Size {
		return was, ErrNotKept
	}
	return was, nil
}

// kept is what a file held before the run, where the run kept it as a whole.
func (s *settler) kept(f *review.File) ([]byte, error) {
	c := f.Change
	if c.Former.Size != c.Before.Size || s.former == nil {
		return nil, ErrNotKept
	}
	content := make([]byte, c.Former.Size)
	if _, err := s.former.ReadAt(content, c.Former.At); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotKept, err)
	}
	return content, nil
}

// mix is the result of the run without some of its hunks.
func (s *settler) mix(f *review.File, out []review.Hunk) (thing, error) {
	content, err := s.result(f)
	if err != nil {
		return thing{}, err
	}
	state := *f.Change.After
	if out[0].Part == review.Bits {
		state.Mode, out = f.Change.Before.Mode, out[1:]
	}
	var former []byte
	if f.Change.HadSecret() {
		if former, err = s.kept(f); err != nil {
			return thing{}, err
		}
	}
	if content, err = review.Without(content, former, out); err != nil {
		return thing{}, err
	}
	return thing{state: &state, content: content}, nil
}

// maxResult bounds a file that is read whole: the diff shows none that is larger.
const maxResult = 1 << 20

// result reads the file as the run left it.
func (s *settler) result(f *review.File) ([]byte, error) {
	file, err := openRegular(s.tree, f.Path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrChanged, err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxResult+1))
	if err != nil {
		return nil, err
	}
	if f.Change.Sum == "" || sumOf(content) != f.Change.Sum {
		return nil, ErrChanged
	}
	return content, nil
}

// sumOfResult is the sum of a file as the run left it, whose content the run did not
// change.
func (s *settler) sumOfResult(rel string) (string, error) {
	sum, err := sumOfFile(s.tree, rel)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrChanged, err)
	}
	return sum, nil
}

func sumOfFile(root *os.Root, rel string) (string, error) {
	f, err := openRegular(root, rel)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func sumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// openRegular opens a regular file below folders that are no links.
func openRegular(root *os.Root, rel string) (*os.File, error) {
	if err := noLinks(root, path.Dir(rel)); err != nil {
		return nil, err
	}
	info, err := root.Lstat(filepath.FromSlash(rel))
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	return root.Open(filepath.FromSlash(rel))
}

// noLinks errs when a folder on the way is none: nothing is written behind a link.
func noLinks(root *os.Root, dir string) error {
	for at := dir; at != "."; at = path.Dir(at) {
		info, err := root.Lstat(filepath.FromSlash(at))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return fmt.Errorf("%s is no folder", at)
		}
	}
	return nil
}

// do writes one path, if it holds what it must.
func (s *settler) do(st *step) error {
	if err := noLinks(s.project, path.Dir(st.path)); err != nil {
		return fmt.Errorf("%w: %w", ErrChanged, err)
	}
	if err := s.holds(st.path, st.have); err != nil {
		if s.cloned && errors.Is(err, ErrChanged) {
			return ErrUncommitted
		}
		return err
	}
	name := filepath.FromSlash(st.path)
	want := st.want.state
	if want == nil {
		return s.project.Remove(name)
	}
	if err := s.makeFolders(filepath.Dir(name)); err != nil {
		return err
	}
	uid, gid := s.owner(name)
	if was := st.have.state; was != nil && (was.What == changes.Folder) != (want.What == changes.Folder) {
		if err := s.project.Remove(name); err != nil { // an empty folder, or what stands in a folder's place
			return err
		}
	}
	switch want.What {
	case changes.Folder:
		if err := s.makeFolder(name, uid, gid); err != nil {
			return err
		}
		return s.project.Chmod(name, permissions(want))
	case changes.Symlink:
		return s.replace(st, func(temporary string) error { return s.link(want.Target, temporary, uid, gid) })
	case changes.File:
		return s.replace(st, func(temporary string) error { return s.write(st, temporary, uid, gid) })
	}
	return errors.New("it is a socket, a pipe or a device, and is not made")
}

// permissions are those of a state, without setuid, setgid and sticky: nobody gives
// rights away by a decision.
func permissions(state *changes.State) fs.FileMode { return fs.FileMode(state.Mode & 0o777) }

// replace makes something next to the path and puts it in its place.
func (s *settler) replace(st *step, make func(temporary string) error) error {
	name := filepath.FromSlash(st.path)
	temporary := filepath.Join(filepath.Dir(name), ".sbx-"+rand.Text())
	err := make(temporary)
	if err == nil {
		if st.have.state == nil || st.have.state.What != changes.Folder && st.want.state.What != changes.Folder {
			err = s.holds(st.path, st.have) // once more: making it took a while
		}
	}
	if err == nil {
		err = s.project.Rename(temporary, name)
	}
	if err != nil {
		_ = s.project.Remove(temporary)
	}
	return err
}

// write writes the file that a path shall hold.
func (s *settler) write(st *step, temporary string, uid, gid int) (err error) {
	f, err := s.project.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if st.want.content != nil {
		if _, err = f.Write(st.want.content); err != nil {
			return err
		}
	} else {
		from, err := openRegular(s.tree, st.path)
		if err != nil {
			return err
		}
		defer from.Close()
		if err := copyResult(f, from, st.want.sum); err != nil {
			return err
		}
	}
	if uid >= 0 {
		if err := f.Chown(uid, gid); err != nil {
			return err
		}
	}
	return f.Chmod(permissions(st.want.state))
}

// copyResult copies a file as the run left it, with its holes where it is too large to have
// a sum. sum is its SHA-256, "" = none.
func copyResult(to, from *os.File, sum string) error {
	if sum == "" {
		_, err := sparsefile.Copy(to, from, math.MaxInt64-1)
		return err
	}
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(to, h), from); err != nil {
		return err
	}
	if hex.EncodeToString(h.Sum(nil)) != sum {
		return ErrChanged
	}
	return nil
}

// holds errs with ErrChanged when a path does not hold what it should.
func (s *settler) holds(rel string, have thing) error {
	info, err := s.project.Lstat(filepath.FromSlash(rel))
	if errors.Is(err, fs.ErrNotExist) && have.state == nil {
		return nil
	}
	if err != nil || have.state == nil {
		return ErrChanged
	}
	switch have.state.What {
	case changes.Folder:
		if !info.IsDir() {
			return ErrChanged
		}
		return nil
	case changes.Symlink:
		if target, err := s.project.Readlink(filepath.FromSlash(rel)); err != nil || target != have.state.Target {
			return ErrChanged
		}
		return nil
	case changes.File:
		return s.holdsFile(rel, info, have)
	}
	if info.Mode().IsRegular() || info.IsDir() || info.Mode()&fs.ModeSymlink != 0 {
		return ErrChanged
	}
	return nil
}

func (s *settler) holdsFile(rel string, info fs.FileInfo, have thing) error {
	if !info.Mode().IsRegular() || info.Size() != have.state.Size {
		return ErrChanged
	}
	if have.content == nil && have.sum == "" {
		if !s.inPlace {
			return ErrNotKept
		}
		if have.when == 0 || changes.ChangedAt(info) != have.when {
			return ErrChanged
		}
		return nil
	}
	sum := have.sum
	if have.content != nil {
		sum = sumOf(have.content)
	}
	if now, err := sumOfFile(s.project, rel); err != nil || now != sum {
		return ErrChanged
	}
	return nil
}
