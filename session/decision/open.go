package decision

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/internal/pathglob"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/sandbox/changes"
	"github.com/org/claude-sandbox/session/review"
	"github.com/org/claude-sandbox/session/runs"
	"github.com/org/claude-sandbox/workspace/gitdir"
)

// Run is a run that is over, with everything that a decision about it needs.
type Run struct {
	runs.Work
	Folder string // the run's
	Review *review.Review
	Taken  Taken
	input  review.Input // without set and diff
	ended  int64        // see changes.Set.Ended
}

// Open reads a run from its folder and reviews the changes of its files.
func Open(folder string) (*Run, error) {
	r := &Run{Folder: folder}
	var err error
	if r.Work, err = runs.WorkOf(folder); err != nil {
		return nil, err
	}
	if r.Taken, err = Read(folder); err != nil {
		return nil, exitcode.With(exitcode.Config, err)
	}
	r.input = review.Input{Run: r.Work.Run, Project: r.Project, NoAudit: true}
	if err := errors.Join(r.readTranscript(), r.readAudit()); err != nil {
		return nil, exitcode.With(exitcode.Config, err)
	}
	return r, r.review()
}

// review reviews the changes of the run's files.
func (r *Run) review() (err error) {
	in := r.input
	if in.Set, in.Patch, err = readChanges(r.Folder); err != nil {
		return err
	}
	if r.Review, err = review.New(in); err != nil {
		return exitcode.With(exitcode.Config, err)
	}
	r.ended = in.Set.Ended
	return nil
}

// readChanges reads what changed in the files, and its diff. A run whose agent never
// began has neither.
func readChanges(folder string) (*changes.Set, []byte, error) {
	set, err := changes.Load(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return &changes.Set{}, nil, nil
	}
	if err != nil {
		return nil, nil, exitcode.With(exitcode.Config, err)
	}
	patch, err := os.ReadFile(filepath.Join(folder, changes.PatchFile))
	if err != nil {
		return nil, nil, exitcode.With(exitcode.NoInput, err)
	}
	return set, patch, nil
}

func (r *Run) readTranscript() error {
	f, err := os.Open(filepath.Join(r.Folder, sandbox.TranscriptFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // who wrote what is unknown then
	}
	if err != nil {
		return err
	}
	defer f.Close()
	r.input.WorkDir = agent.WorkDir(f)
	if _, err := f.Seek(0, 0); err != nil {
		return err
	}
	r.input.Calls, err = agent.Calls(f)
	return err
}

func (r *Run) readAudit() error {
	f, err := os.Open(filepath.Join(r.Folder, sandbox.AuditFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	r.input.NoAudit = false
	return audit.Each(f, func(rec audit.Record) { r.input.Audit = append(r.input.Audit, rec) })
}

// ofCommits reviews the commits of one branch of the run's: what they bring to the
// repository that it has not; bundled are all branches of its bundle. Files that the user had not committed, and the agent
// committed as they are, are the user's own.
func (r *Run) ofCommits(ctx context.Context, c gitdir.Commits, bundled []gitdir.Commits) (*review.Review, error) {
	found, names, err := gitdir.Diff(ctx, r.Folder, c, bundled)
	if err != nil {
		return nil, err
	}
	var pairs []changes.Pair
	shown := map[string]bool{} // contents, by git's name
	for _, d := range found {
		if r.isUsersOwn(path.Join(c.Repository, d.Path), d) {
			continue
		}
		secrets := secretsOf(c, &d)
		shown[d.NewID] = true
		shownPath, secretLink := c.HidePath(d.Path)
		p := changes.Pair{Path: shownPath, Before: gitState(d.OldMode, d.OldSize, d.Old), After: gitState(d.NewMode, d.NewSize, d.New),
			Old: d.Old, New: d.New, Secrets: secrets}
		switch {
		case d.NewMode == 0o160000 && secretLink:
			p.Note = "a submodule, at a commit whose id holds a secret of the run"
		case d.NewMode == 0o160000:
			p.Note = "a submodule, at commit " + d.NewID
		case p.Before != nil && p.Before.What == changes.File && d.Old == nil, p.After != nil && p.After.What == changes.File && d.New == nil:
			p.Note = changes.NoteLarge
		}
		pairs = append(pairs, p)
	}
	in := r.input
	in.Earlier = earlier(c, shown)
	in.Run, in.Set = c.Branch, changes.Of(pairs, names)
	var patch bytes.Buffer
	if err := in.Set.WritePatch(&patch); err != nil {
		return nil, err
	}
	in.Patch = patch.Bytes()
	return review.New(in)
}

// secretsOf are the run's secrets in the new content of a file, which gets asterisks in
// their place.
func secretsOf(c gitdir.Commits, d *gitdir.Difference) (found []changes.Secret) {
	for _, s := range c.Hide(d.NewID, d.New) {
		at := changes.Secret{Name: s.Name, Line: gitdir.LineOf(d.New, s.At)}
		if bytes.IndexByte(d.New, 0) >= 0 { // the diff does not show it
			at.Line = 0
		}
		if !slices.Contains(found, at) {
			found = append(found, at)
		}
	}
	return found
}

// earlier are the secrets in commits that are not in the new files of the last one.
func earlier(c gitdir.Commits, shown map[string]bool) (found []review.Earlier) {
	for _, s := range c.Secrets {
		e := review.Earlier{Path: s.Path, Finding: review.Finding{Kind: review.Value,
			Text: "in a commit: the value of " + s.Name}}
		switch {
		case s.InBranch:
			e.Path, e.Text = "branch "+c.Branch, "the agent's name for it holds the value of "+s.Name
		case s.InLink:
			e.Text = "in a commit: the id of a submodule's commit holds the value of " + s.Name
		case s.InName:
			e.Text = "its name holds the value of " + s.Name
		case s.Path == "":
			e.Path = "message of " + s.Object[:min(len(s.Object), 12)]
			e.Text = "the value of " + s.Name
		case shown[s.Object]:
			continue
		}
		if !slices.Contains(found, e) {
			found = append(found, e)
		}
	}
	if c.Unsearched {
		found = append(found, review.Earlier{Path: c.Branch, Finding: review.Finding{Kind: review.NotShown,
			Text: "not all searched for secrets: the run was killed, or there is too much of it"}})
	}
	return found
}

// isUsersOwn reports whether what a commit holds at name, below the project, is the file
// that the project has there, which the run did not change. It reads files alone, and no
// link: a commit may put a folder in the place of one that leads to the user's own files.
func (r *Run) isUsersOwn(name string, d gitdir.Difference) bool {
	if len(r.Review.Unlooked) > 0 || d.New == nil || d.NewMode != 0o100644 && d.NewMode != 0o100755 {
		return false
	}
	for i := range r.Review.Files {
		changed := cmp.Or(string(r.Review.Files[i].RawPath), r.Review.Files[i].Path)
		if within := name + "/"; len(within) > len(changed) && strings.EqualFold(within[:len(changed)+1], changed+"/") {
			return false
		}
	}
	root, err := os.OpenRoot(r.Project)
	if err != nil {
		return false
	}
	defer root.Close()
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if info, err := root.Lstat(dir); err != nil || !info.IsDir() {
			return false
		}
	}
	info, err := root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() != int64(len(d.New)) || (info.Mode()&0o100 != 0) != (d.NewMode == 0o100755) {
		return false
	}
	content, err := filekind.ReadIn(root, name, int64(len(d.New)))
	return err == nil && bytes.Equal(content, d.New)
}

// gitState is what git's mode says of a path; nil where it is not there.
func gitState(mode uint32, size int64, content []byte) *changes.State {
	switch mode {
	case 0:
		return nil
	case 0o120000:
		return &changes.State{What: changes.Symlink, Mode: 0o777, Target: string(content)}
	case 0o160000:
		return &changes.State{What: changes.Special}
	}
	return &changes.State{What: changes.File, Mode: mode & 0o777, Size: size}
}

// Settled is what Settle did.
type Settled struct {
	Outcomes          []Outcome
	Accepted, Refused int // hunks
	Left              int // paths that are left as they are
}

// Settle makes the project hold the hunks that stay, of those that are decided, and
// remembers the decisions about paths that it could settle. A hunk without a decision
// is left as it is. It errs where the run's copy is gone.
func (r *Run) Settle(decided Taken) (*Settled, error) {
	if r.Gone {
		return nil, r.goneError()
	}
	outcomes, err := r.settle(decided, false)
	if err != nil {
		return nil, err
	}
	s := r.note(decided, outcomes)
	if err := r.Taken.Save(r.Folder); err != nil {
		return nil, fmt.Errorf("the files are settled: %w", err)
	}
	return s, nil
}

// note remembers what is decided about paths that hold it now.
func (r *Run) note(decided Taken, outcomes []Outcome) *Settled {
	s := &Settled{Outcomes: outcomes}
	failed := map[string]bool{}
	for _, o := range outcomes {
		if o.Err != nil {
			s.Left++
			failed[o.Path] = true
		}
	}
	for f, h := range r.hunks() {
		if stay, known := decided[h.ID]; known && !failed[f.Path] {
			r.Taken[h.ID] = stay
		}
	}
	for id, stays := range decided {
		switch _, done := r.Taken[id]; {
		case !done: // its path is left as it is
		case stays:
			s.Accepted++
		default:
			s.Refused++
		}
	}
	return s
}

// hunks yields each hunk with its file.
func (r *Run) hunks() iter.Seq2[*review.File, *review.Hunk] {
	return func(yield func(*review.File, *review.Hunk) bool) {
		for i := range r.Review.Files {
			f := &r.Review.Files[i]
			for j := range f.Hunks {
				if !yield(f, &f.Hunks[j]) {
					return
				}
			}
		}
	}
}

// Left is what Settle would do, and what it could not do, without paths that hold what
// they shall already.
func (r *Run) Left(decided Taken) ([]Outcome, error) {
	outcomes, err := r.settle(decided, true)
	return slices.DeleteFunc(outcomes, func(o Outcome) bool { return o.Done == "" && o.Err == nil }), err
}

func (r *Run) settle(decided Taken, dry bool) ([]Outcome, error) {
	former, err := os.Open(filepath.Join(r.Folder, changes.FormerFile))
	if err == nil {
		defer former.Close()
	}
	ended := r.ended
	if info, err := os.Stat(filepath.Join(r.Folder, changes.SetFile)); ended == 0 && err == nil {
		ended = info.ModTime().UnixNano()
	}
	return Settle(r.Work, former, ended, r.Review.Files, Decisions{Now: decided, Earlier: r.Taken}, dry)
}

// Auto accepts what globs name: with auto what is not dangerous, with dangerous
// everything. Hunks that are decided already stay so.
func (r *Run) Auto(auto, dangerous []string) Taken {
	decided := Taken{}
	for f, h := range r.hunks() {
		if _, known := r.Taken[h.ID]; !known && (pathglob.MatchAny(dangerous, f.Path) || !f.Dangerous() && pathglob.MatchAny(auto, f.Path)) {
			decided[h.ID] = true
		}
	}
	return decided
}

// All accepts all undecided hunks.
func (r *Run) All() Taken { return r.Auto(nil, []string{"**"}) }

// None refuses everything, whatever was decided before.
func (r *Run) None() Taken {
	decided := Taken{}
	for _, h := range r.hunks() {
		decided[h.ID] = false
	}
	return decided
}

// Undecided is the number of undecided hunks.
func (r *Run) Undecided() (n int) {
	for _, h := range r.hunks() {
		if _, known := r.Taken[h.ID]; !known {
			n++
		}
	}
	return n
}

// Decided is how many hunks were accepted, and how many refused.
func (r *Run) Decided() (accepted, refused int) {
	for _, h := range r.hunks() {
		switch stays, known := r.Taken[h.ID]; {
		case known && stays:
			accepted++
		case known:
			refused++
		}
	}
	return accepted, refused
}

// accepted are the paths of which at least one hunk was accepted.
func (r *Run) accepted() (paths []string) {
	for f, h := range r.hunks() {
		if r.Taken[h.ID] && (len(paths) == 0 || paths[len(paths)-1] != f.Path) {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

// runTrailer names the run in a commit's message.
const runTrailer = "Sandbox-Run"

// Commit makes a branch with a commit of what is accepted. It errs when nothing is.
func (r *Run) Commit(ctx context.Context) (branch string, err error) {
	paths := r.accepted()
	if len(paths) == 0 {
		return "", exitcode.With(exitcode.NoInput, errors.New("nothing is accepted, and there is nothing to commit"))
	}
	branch = "sbx/" + r.Work.Run + "-accepted"
	message := fmt.Sprintf("Changes of a run that a person accepted\n\n%s: %s\n", runTrailer, r.Work.Run)
	if _, err := gitdir.Commit(ctx, r.Project, branch, message, paths); err != nil {
		return "", exitcode.With(exitcode.Failed, fmt.Errorf("committing what is accepted: %w", err))
	}
	return branch, nil
}
