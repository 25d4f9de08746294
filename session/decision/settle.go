package decision

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

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
	// ErrNotKept reports a former content that the run did not keep.
	ErrNotKept = errors.New("the run did not keep what it held before; it is left as it is")
	// ErrHidden reports a file in which a hunk with a secret was refused before: the run keeps no
	// secret, and so not the content of which that hunk was a part.
	ErrHidden = errors.New("a change with a secret was refused in it before, and no secret is kept that could tell whether the file " +
		"changed since; it is left as it is: edit it yourself")
	// ErrMany reports a folder whose files were not looked at one by one.
	ErrMany = errors.New("it stands for many files, which were not looked at one by one; it is left as it is")
)

// Outcome is what became of a path.
type Outcome struct {
	Path string
	Done string // in words, such as "removed"; "" with Err, and where the path held what it shall already
	Err  error
}

// Decisions are those about a run that Settle makes true, and those before them.
type Decisions struct {
	Now     Taken
	Earlier Taken
	inPlace bool // an undecided change stays
}

// stays reports whether the project shall hold a hunk.
func (d Decisions) stays(hunk string) bool {
	if stay, known := d.Now[hunk]; known {
		return stay
	}
	return d.stayed(hunk)
}

// stayed reports whether the project holds a hunk by the earlier decisions.
func (d Decisions) stayed(hunk string) bool {
	if stay, known := d.Earlier[hunk]; known {
		return stay
	}
	return d.inPlace
}

// isAbout reports whether a hunk of the file is decided now.
func (d Decisions) isAbout(f *review.File) bool {
	return slices.ContainsFunc(f.Hunks, func(h review.Hunk) bool { _, now := d.Now[h.ID]; return now })
}

// Settle makes the project hold the hunks that stay and none of the others, in the files
// of which it decides now. former holds what binary files held (changes.FormerFile). It
// returns what it did, for each path that it had to look at. ended is when the run's
// changes were written, in nanoseconds since 1970. With dry it only looks: Done says what
// it would do. It errs when a folder cannot be opened.
func Settle(w runs.Work, former io.ReaderAt, ended int64, files []review.File, d Decisions, dry bool) ([]Outcome, error) {
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
	d.inPlace = w.InPlace()
	s := &settler{project: project, tree: tree, former: former, ended: ended, inPlace: w.InPlace(), cloned: w.Cloned, decided: d, dry: dry}
	steps, folders, outcomes := s.planAll(files)
	outcomes = append(outcomes, s.settleFiles(steps, folders)...)
	outcomes = append(outcomes, s.settleFolders(folders)...)
	for i := range outcomes {
		if outcomes[i].Err != nil {
			outcomes[i].Done = ""
		}
	}
	if s.inPlace && !dry {
		s.removeEmpty(files)
	}
	return outcomes, nil
}

// planAll says what must happen to the files and folders that are decided about, in order,
// and what became of those to which nothing can or must.
func (s *settler) planAll(files []review.File) (steps []*step, folders []*folderStep, outcomes []Outcome) {
	for i := range files {
		f := &files[i]
		if !s.decided.isAbout(f) {
			continue
		}
		var st *step
		var folder *folderStep
		var err error
		if f.Change.Folded {
			folder, err = s.planFolder(f, files)
		} else {
			st, err = s.plan(f)
		}
		switch {
		case err != nil:
			outcomes = append(outcomes, Outcome{Path: f.Path, Err: err})
		case folder != nil:
			folders = append(folders, folder)
		case st != nil && s.isDone(st):
			outcomes = append(outcomes, Outcome{Path: f.Path})
		case st != nil:
			steps = append(steps, st)
		}
	}
	slices.SortStableFunc(steps, inOrder)
	return steps, folders, outcomes
}

// settleFiles does the steps, but those in folders that are removed.
func (s *settler) settleFiles(steps []*step, folders []*folderStep) (outcomes []Outcome) {
	for _, st := range steps {
		if slices.ContainsFunc(folders, func(f *folderStep) bool { return f.remove && strings.HasPrefix(st.path, f.path+"/") }) {
			continue // it goes with the folder
		}
		o := Outcome{Path: st.path, Done: st.words(s.inPlace)}
		if !s.dry {
			o.Err = s.do(st)
		}
		outcomes = append(outcomes, o)
	}
	return outcomes
}

// settleFolders does the steps about folders with very many files.
func (s *settler) settleFolders(folders []*folderStep) (outcomes []Outcome) {
	for _, st := range folders {
		o := Outcome{Path: st.path, Done: map[bool]string{true: "removed", false: "taken"}[st.remove]}
		if s.isFolderDone(st) {
			o.Done = ""
		} else if !s.dry {
			o.Err = s.doFolder(st)
		}
		outcomes = append(outcomes, o)
	}
	return outcomes
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
	decided       Decisions
	dry           bool // nothing is written
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
func (s *settler) plan(f *review.File) (*step, error) {
	out, was := s.without(f, s.decided.stays), s.without(f, s.decided.stayed)
	if s.inPlace && len(out) == 0 || !s.inPlace && len(out) == len(f.Hunks) {
		return nil, nil
	}
	if len(out) == len(f.Hunks) && s.isAsBefore(f) {
		return &step{f.Path, thing{state: f.Change.Before, sum: f.Change.SumWas}, thing{state: f.Change.Before, sum: f.Change.SumWas}}, nil
	}
	if f.Change.Later {
		return nil, ErrChanged
	}
	want, err := s.holding(f, out)
	if err != nil {
		return nil, err
	}
	have, err := s.holding(f, was)
	return &step{f.Path, have, want}, err
}

// without are the hunks of a file that do not stay.
func (s *settler) without(f *review.File, stays func(string) bool) (out []review.Hunk) {
	for _, h := range f.Hunks {
		if !stays(h.ID) {
			out = append(out, h)
		}
	}
	return out
}

// holding is what the path holds as the run left it, without some of its hunks.
func (s *settler) holding(f *review.File, out []review.Hunk) (thing, error) {
	switch c := f.Change; {
	case len(out) == 0:
		return thing{state: c.After, sum: c.Sum, when: c.When}, nil
	case len(out) == len(f.Hunks):
		return s.before(f)
	}
	return s.mix(f, out)
}

// isAsBefore reports whether a file holds what it held before the run, where the run
// noted the sum of that.
func (s *settler) isAsBefore(f *review.File) bool {
	was := thing{state: f.Change.Before, sum: f.Change.SumWas}
	return was.state != nil && was.state.What == changes.File && was.sum != "" && s.isDone(&step{f.Path, thing{state: f.Change.After}, was})
}

// isDone reports whether a path holds what it shall hold already.
func (s *settler) isDone(st *step) bool {
	want, have := st.want.state, st.have.state
	if noLinks(s.project, path.Dir(st.path)) != nil { // below a file there is nothing
		_, err := s.project.Lstat(filepath.FromSlash(st.path))
		return want == nil && errors.Is(err, syscall.ENOTDIR)
	}
	if want != nil && want.What == changes.File && st.want.content == nil && st.want.sum == "" { // such as a very large one
		if s.inPlace || !s.isSame(st.path) {
			return false
		}
	} else if s.holds(st.path, st.want) != nil {
		return false
	}
	if want == nil || want.What == changes.Symlink || have != nil && have.What == want.What && have.Mode == want.Mode {
		return true
	}
	info, err := s.project.Lstat(filepath.FromSlash(st.path))
	return err == nil && info.Mode().Perm() == permissions(want)
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
	state.Size = int64(len(content))
	return thing{state: &state, content: content}, nil
}

// maxResult bounds a file that is read whole: the diff shows none that is larger.
const maxResult = 1 << 20

// result reads the file as the run left it. Hunks that were refused before, in the
// project, are put back first.
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
	isResult := func() bool { return f.Change.Sum != "" && sumOf(content) == f.Change.Sum }
	if isResult() || !s.inPlace {
		return content, changedUnless(isResult())
	}
	refused := slices.DeleteFunc(s.without(f, s.decided.stayed), func(h review.Hunk) bool { return h.Part != review.Content })
	if slices.ContainsFunc(refused, holdsSecret) {
		return nil, ErrHidden
	}
	if content, err = review.With(content, refused); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrChanged, err)
	}
	return content, changedUnless(isResult())
}

// holdsSecret reports whether the diff has asterisks in the place of what a hunk brought.
func holdsSecret(h review.Hunk) bool {
	return slices.ContainsFunc(h.Findings, func(at review.Finding) bool { return at.Kind == review.Value })
}

func changedUnless(ok bool) error {
	if ok {
		return nil
	}
	return ErrChanged
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
