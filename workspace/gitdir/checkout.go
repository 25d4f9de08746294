package gitdir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
)

// Head is the commit that a repository is at.
type Head struct {
	Commit string
	Branch string // "" = none is checked out
}

// ErrNoCommit reports a repository without a commit.
var ErrNoCommit = errors.New("the repository has no commit yet")

// Head reads the commit and the branch of a host's repository.
func (s Store) Head() (h Head, err error) {
	own, err := os.OpenRoot(s.Dir)
	if err != nil {
		return h, err
	}
	defer own.Close()
	text, err := headText(own)
	if err != nil {
		return h, err
	}
	name, isRef := strings.CutPrefix(strings.TrimSpace(text), "ref: ")
	if !isRef {
		h.Commit = name
	} else if filepath.IsLocal(filepath.FromSlash(name)) && strings.HasPrefix(name, "refs/") {
		h.Branch = strings.TrimPrefix(name, "refs/heads/")
		if text, err := readSmall(s.Common, name); err == nil {
			h.Commit = strings.TrimSpace(text)
		} else if packed, err := readUpTo(s.Common, "packed-refs", maxRefFile); err == nil {
			h.Commit = parsePacked(packed, "refs/")[name]
		}
	}
	if !hashText.MatchString(h.Commit) {
		return h, diag.WithHint(ErrNoCommit, "commit something, or work on a copy: --workspace copy")
	}
	return h, nil
}

// CheckOut writes the files of a commit into the folder to, which is empty, and git's
// index of them to the file index. work is a folder for what is made on the way, which
// the caller removes. A repository of ours is asked, with the host's objects behind it:
// no configuration, hook or filter of the host's has a part in it. lacking says, for
// people, which files are not those of a checkout of the user's: submodules, and files
// that a filter would fetch.
func (s Store) CheckOut(ctx context.Context, commit, work, to, index string) (lacking []string, err error) {
	r, err := newScratch(work, s)
	if err != nil {
		return nil, err
	}
	r.extra = []string{"-c", "core.bare=false", "-c", "core.logAllRefUpdates=false", "--work-tree=" + to}
	r.index = index
	if _, err := r.git(ctx, nil, "read-tree", "--reset", "-u", commit); err != nil {
		return nil, fmt.Errorf("checking out %s: %w", commit, err)
	}
	modules, err := r.git(ctx, nil, "ls-files", "--stage", "-z")
	if err != nil {
		return nil, err
	}
	filtered, err := r.git(ctx, nil, "ls-files", "-z", "--", ":(attr:filter=lfs)")
	if err != nil {
		return nil, err
	}
	some := func(what string, list []string) {
		if len(list) > 0 {
			lacking = append(lacking, fmt.Sprintf("%s (%d), such as %s", what, len(list), list[0]))
		}
	}
	var subs []string
	for entry := range strings.SplitSeq(modules, "\x00") {
		if _, name, ok := strings.Cut(entry, "\t"); ok && strings.HasPrefix(entry, "160000 ") {
			subs = append(subs, name)
		}
	}
	some("the files of submodules", subs)
	some("the files of Git LFS", strings.FieldsFunc(filtered, func(c rune) bool { return c == 0 }))
	return lacking, nil
}
