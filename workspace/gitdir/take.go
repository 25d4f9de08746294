package gitdir

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/lazyregexp"
	"github.com/org/claude-sandbox/internal/redact"
)

// Bounds on what is taken from a volume, which holds what the agent likes.
const (
	maxTaken    = 4 << 30 // bytes of the archive
	maxEntries  = 500_000 // files and folders in it
	maxRefs     = 100_000
	maxRefFile  = 32 << 20 // bytes of packed-refs
	maxBranches = 32       // with new commits, of one repository
	maxTried    = 128      // branches that are looked at; git starts twice for each
	maxRefName  = 1 << 10  // bytes of a branch's name
)

// Commits are new commits of the agent's on one branch.
type Commits struct {
	Repository string `json:"repository,omitempty"` // its folder below the workspace; "" = the workspace itself
	From       string `json:"from,omitempty"`       // the agent's branch, "[redacted]" if its name holds a secret; "" = none was checked out
	Branch     string `json:"branch"`               // that they become here: sbx/RUN
	Head       string `json:"head"`                 // the last one
	Count      int    `json:"count"`                // that no branch here has
	Bundle     string `json:"bundle"`               // the file in the run's folder
	Dir        string `json:"gitDir"`               // the host's git directory
	Common     string `json:"commonDir"`            // and where its refs and objects are

	Secrets    []SecretIn `json:"secrets,omitempty"`    // of the run, in what its commits bring
	Unsearched bool       `json:"unsearched,omitempty"` // not all of it was searched for secrets

	// Touched are the regular files that they change, as Take reads them; nil = unknown.
	Touched []Touched `json:"-"`
}

// Touched is a regular file that commits change: below the workspace, with the SHA-256 of
// its content before and after them, "" where it is not there.
type Touched struct {
	Path        string
	Before, Now string
}

// ByBundle groups commits by the bundle that they are in.
func ByBundle(commits []Commits) (groups [][]Commits) {
	for _, c := range commits {
		i := slices.IndexFunc(groups, func(g []Commits) bool { return g[0].Bundle == c.Bundle })
		if i < 0 {
			groups = append(groups, nil)
			i = len(groups) - 1
		}
		groups[i] = append(groups[i], c)
	}
	return groups
}

// In is the folder whose repository the commits are of, in a project.
func (c Commits) In(project string) string {
	return filepath.Join(project, filepath.FromSlash(c.Repository))
}

// Taker takes the agent's commits out of volumes.
type Taker struct {
	Run    string // its id, for the names of the branches
	Folder string // an existing one, for bundles
	// Secrets are looked for in all that the commits bring and in the names of branches; nil = none.
	Secrets *redact.Finder
	work    string
	taken   []Commits
	notes   []string
}

// Take reads the archive of a volume, and writes a bundle for each repository
// in it that has new commits on its branches or at its HEAD. The bundle has
// passed git's own checks in a repository of ours. Parts that are left out are named in
// the notes, whose words may be the agent's.
func (t *Taker) Take(ctx context.Context, p Private, archive io.Reader) (err error) {
	if len(p.Stores) == 0 {
		return nil // a repository that the agent made has no place here
	}
	if t.work, err = os.MkdirTemp(t.Folder, "commits-"); err != nil {
		return fmt.Errorf("taking the agent's commits: %w", err)
	}
	defer os.RemoveAll(t.work)
	var stores []*arrival
	for i, s := range p.Stores {
		if s.Objects == "" {
			continue // its branches are those of the one around it
		}
		a := &arrival{store: s, repository: repositoryName(p, s), refs: map[string]string{}}
		if a.quarantine, err = newScratch(filepath.Join(t.work, fmt.Sprintf("in-%d", i)), s.Store); err != nil {
			return err
		}
		stores = append(stores, a)
	}
	if err := t.read(ctx, archive, stores); err != nil {
		return fmt.Errorf("taking the agent's commits: %w", err)
	}
	for _, a := range stores {
		if err := t.finish(ctx, a); err != nil {
			t.notes = append(t.notes, fmt.Sprintf("the agent's commits in %s do not come back: %v", a.name(), err))
		}
	}
	return nil
}

// Taken are the commits of all archives so far, and notes what was left out.
func (t *Taker) Taken() (commits []Commits, notes []string) { return t.taken, t.notes }

// repositoryName is the folder of a store's files below the workspace.
func repositoryName(p Private, s Inner) string {
	if s.Sub == "" {
		return strings.TrimPrefix(path.Dir(p.Path), ".")
	}
	if s.Checkout != "" {
		return s.Checkout
	}
	return path.Join(p.Path, s.Sub)
}

// arrival is what has come of one repository.
type arrival struct {
	store      Inner
	repository string
	quarantine *scratch
	loose      *packWriter
	head       string            // the text of HEAD
	packed     string            // the text of packed-refs
	refs       map[string]string // loose ones, by name
}

func (a *arrival) name() string {
	if a.repository == "" {
		return "the project"
	}
	return a.repository
}

var (
	looseName = lazyregexp.New(`^objects/[0-9a-f]{2}/[0-9a-f]{38}([0-9a-f]{24})?$`)
	packName  = lazyregexp.New(`^objects/pack/[^/]+\.pack$`)
	hashText  = lazyregexp.New(`^[0-9a-f]{40}([0-9a-f]{24})?$`)
)

// read takes regular files of known names from the archive; nothing of it is
// ever unpacked.
func (t *Taker) read(ctx context.Context, archive io.Reader, stores []*arrival) error {
	limited := &io.LimitedReader{R: archive, N: maxTaken}
	tr := tar.NewReader(limited)
	refs := 0
	for range maxEntries {
		if err := ctx.Err(); err != nil {
			return err
		}
		h, err := tr.Next()
		if errors.Is(err, io.EOF) && limited.N > 0 {
			return nil
		}
		if err != nil {
			if limited.N <= 0 {
				err = fmt.Errorf("its git directory holds more than %d MiB", maxTaken>>20)
			}
			return err
		}
		_, name, _ := strings.Cut(path.Clean(h.Name), "/") // the volume's own
		a, name := storeOf(stores, name)
		if a == nil || h.Typeflag != tar.TypeReg {
			continue
		}
		if strings.HasPrefix(name, "refs/heads/") {
			if refs++; refs > maxRefs {
				return fmt.Errorf("it has more than %d branches", maxRefs)
			}
		}
		if err := t.file(ctx, a, name, h.Size, tr); err != nil {
			if limited.N <= 0 {
				err = fmt.Errorf("its git directory holds more than %d MiB", maxTaken>>20)
			}
			return err
		}
	}
	return fmt.Errorf("its git directory holds more than %d files", maxEntries)
}

// storeOf finds whose a file is, and its name there.
func storeOf(stores []*arrival, name string) (found *arrival, rel string) {
	for _, a := range stores {
		in, ok := strings.CutPrefix(name, a.store.Sub+"/")
		if a.store.Sub == "" {
			in, ok = name, true
		}
		if ok && (found == nil || len(a.store.Sub) > len(found.store.Sub)) {
			found, rel = a, in
		}
	}
	return found, rel
}

func (t *Taker) file(ctx context.Context, a *arrival, name string, size int64, r io.Reader) error {
	small := func(limit int64) (string, error) {
		if size > limit {
			return "", nil
		}
		text, err := io.ReadAll(io.LimitReader(r, limit))
		return string(text), err
	}
	var err error
	switch {
	case name == "HEAD":
		a.head, err = small(maxSmall)
	case name == "packed-refs":
		a.packed, err = small(maxRefFile)
	case strings.HasPrefix(name, "refs/heads/"):
		a.refs[name], err = small(1 << 10)
	case looseName.MatchString(name):
		if a.loose == nil {
			if a.loose, err = newPackWriter(filepath.Join(t.work, "loose-"+path.Base(a.quarantine.dir)), a.quarantine.sha256); err != nil {
				return err
			}
		}
		if bad := a.loose.add(r); bad != nil && a.loose.failed == nil {
			err = t.damaged("an object of the agent's in %s is damaged: %v", a.name(), bad)
		}
		err = errors.Join(err, a.loose.failed)
	case packName.MatchString(name):
		// The agent's index of it is not believed.
		if _, bad := a.quarantine.git(ctx, r, "index-pack", "--stdin"); bad != nil {
			err = t.damaged("a pack of the agent's in %s is damaged: %v", a.name(), bad)
		}
	}
	return err
}

// maxNotes is how many things may be damaged before nothing is taken.
const maxNotes = 20

// damaged notes something that is left out, and errs when it is too much.
func (t *Taker) damaged(format string, args ...any) error {
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
	if len(t.notes) > maxNotes {
		return errors.New("too much of it is damaged")
	}
	return nil
}

// finish makes the bundle of a repository whose objects have arrived.
func (t *Taker) finish(ctx context.Context, a *arrival) error {
	if a.head == "" && a.packed == "" && len(a.refs) == 0 {
		return errors.New("its git directory has neither HEAD nor a branch any more")
	}
	if a.loose != nil {
		pack, err := a.loose.close()
		if err != nil {
			return err
		}
		_, err = a.quarantine.git(ctx, pack, "index-pack", "--stdin")
		pack.Close()
		if err != nil {
			return err
		}
	}
	name := "commits.bundle"
	if n := len(t.bundles()); n > 0 {
		name = fmt.Sprintf("commits-%d.bundle", n)
	}
	branches, clean, err := t.accepted(ctx, a, filepath.Join(t.Folder, name))
	if err != nil || len(branches) == 0 {
		return err
	}
	host := &scratch{dir: a.store.Dir}
	for i, c := range branches {
		branches[i].Bundle = name
		if t.Secrets != nil {
			if err := clean.search(ctx, &branches[i], t.Secrets); err != nil {
				t.notes = append(t.notes, fmt.Sprintf("the commits of %s were not searched for secrets: %v", c.Branch, err))
			}
		}
		branches[i].Touched = clean.touched(ctx, host, c)
	}
	t.taken = append(t.taken, branches...)
	return nil
}

// maxRefusals is how often branches are sought again after git refused some: a refused one
// may have hidden others, which it was made of.
const maxRefusals = 4

// accepted writes the bundle of those branches in which git finds nothing wrong, and returns
// them with a repository that has its objects. One branch that git refuses keeps no other one
// back. It errs when git refuses all.
func (t *Taker) accepted(ctx context.Context, a *arrival, bundle string) (branches []Commits, clean *scratch, err error) {
	refused, said := map[string]bool{}, len(t.notes)
	var why []string
	for range maxRefusals {
		t.notes = t.notes[:said] // of an earlier try
		branches, none := t.branches(ctx, a, refused)
		if none != nil || len(branches) == 0 {
			return nil, nil, errors.Join(err, none)
		}
		clean, bad := a.check(ctx, bundle, branches)
		if bad == nil {
			t.notes = append(t.notes, why...)
			return branches, clean, nil
		}
		err = bad
		for i, b := range branches {
			if len(branches) > 1 {
				if _, bad = a.check(ctx, bundle, branches[i:i+1]); bad == nil {
					continue
				}
			}
			refused[b.Head] = true
			why = append(why, fmt.Sprintf("the branch %s of the agent's in %s does not come back: %v", b.From, a.name(), bad))
		}
	}
	return nil, nil, errors.Join(err, ctx.Err())
}

// check writes a bundle of branches and returns a clean repository that has its objects, as
// the host's gets them. Where git refuses one, no bundle is left.
func (a *arrival) check(ctx context.Context, bundle string, branches []Commits) (*scratch, error) {
	dir := a.quarantine.dir + "-clean"
	err := os.RemoveAll(dir)
	if err == nil {
		err = a.quarantine.bundle(ctx, bundle, branches)
	}
	var clean *scratch
	if err == nil {
		clean, err = newScratch(dir, a.store.Store)
	}
	if err == nil {
		err = clean.receive(ctx, bundle, branches)
	}
	if err != nil {
		_ = os.Remove(bundle) // where there is one
	}
	return clean, err
}

func (t *Taker) bundles() (names []string) {
	for _, c := range t.taken {
		if !slices.Contains(names, c.Bundle) {
			names = append(names, c.Bundle)
		}
	}
	return names
}

// branches lists the agent's branches with commits that the host does not have, HEAD first,
// without those whose last commit is refused.
func (t *Taker) branches(ctx context.Context, a *arrival, refused map[string]bool) ([]Commits, error) {
	heads := parsePacked(a.packed, "refs/heads/")
	for name, text := range a.refs {
		heads[name] = strings.TrimSpace(text)
	}
	from, head := "", strings.TrimSpace(a.head)
	if ref, ok := strings.CutPrefix(head, "ref: "); ok {
		from, head = strings.TrimPrefix(ref, "refs/heads/"), heads[ref]
	}
	if len(from) > maxRefName {
		from = ""
	}
	from, inName := hideBranch(from, t.Secrets)
	candidates := []Commits{{From: from, Head: head, Branch: "sbx/" + t.Run, Secrets: inName}}
	used := map[string]bool{}
	seen := map[string]bool{head: true}
	left := 0
	for _, ref := range sortedKeys(heads) {
		if hash := heads[ref]; !seen[hash] && !a.quarantine.known[hash] {
			if len(candidates) > maxTried || len(ref) > maxRefName {
				left++
				continue
			}
			from, inName := hideBranch(strings.TrimPrefix(ref, "refs/heads/"), t.Secrets)
			seen[hash] = true
			candidates = append(candidates, Commits{From: from, Head: hash, Branch: branchName(t.Run, from, used), Secrets: inName})
		}
	}
	var out []Commits
	var without []string // their last commits
	for _, c := range candidates {
		if !hashText.MatchString(c.Head) || a.quarantine.known[c.Head] || refused[c.Head] {
			continue
		}
		if len(out) == maxBranches {
			left++
			continue
		}
		var err error
		if c.Count, err = a.quarantine.count(ctx, c.Head, without); err != nil {
			if err := t.damaged("the branch %s of the agent's in %s does not come back: %v", c.From, a.name(), err); err != nil {
				return nil, err
			}
			continue
		}
		if c.Count == 0 {
			continue
		}
		c.Repository, c.Dir, c.Common = a.repository, a.store.Dir, a.store.Common
		out, without = append(out, c), append(without, c.Head)
	}
	if left > 0 {
		t.notes = append(t.notes, fmt.Sprintf("%d more branches of the agent's in %s do not come back: at "+
			"most %d do, of the first %d", left, a.name(), maxBranches, maxTried))
	}
	return out, nil
}

// unusual are the characters that names of branches are made without here.
var unusual = lazyregexp.New(`[^A-Za-z0-9_-]+`)

// branchName is the name that a branch of the agent's gets: of one part, so that
// no two names can be in each other's way.
func branchName(run, from string, used map[string]bool) string {
	short := strings.Trim(unusual.ReplaceAllString(from, "-"), "-")
	short = short[:min(len(short), 100)]
	if short == "" {
		short = "branch"
	}
	name := short
	for i := 2; used[name]; i++ {
		name = fmt.Sprintf("%s-%d", short, i)
	}
	used[name] = true
	return "sbx/" + run + "-" + name
}
