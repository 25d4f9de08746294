package gitdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
)

// Apply checks the bundle of one repository, whose branches are commits, and
// makes them in the host's repository. A branch that is there already at the
// same commit is left alone; at another commit, it is an error, and none is
// made. It touches neither files nor HEAD, and runs no hook. folder is the run's.
func Apply(ctx context.Context, folder string, commits []Commits) error {
	first := commits[0]
	if !IsGitDir(first.Dir) || !IsGitDir(first.Common) {
		return diag.WithHint(fmt.Errorf("the repository %s of the run is gone", first.Dir), "'git fetch %s' takes the commits into "+
			"another clone", filepath.Join(folder, first.Bundle))
	}
	store := Store{Dir: first.Dir, Common: first.Common}
	config, err := readConfig(store.Common, store.Dir)
	if err != nil {
		return err
	}
	store.Config = config
	host := &scratch{dir: store.Dir, partial: store.isPartial()}
	var create strings.Builder
	for _, c := range commits {
		ref := "refs/heads/" + c.Branch
		switch host.at(ctx, ref) {
		case "":
		case c.Head:
			continue
		default:
			return diag.WithHint(fmt.Errorf("the branch %s is in %s already, at another commit", c.Branch, store.Dir), "rename it with 'git "+
				"branch -m %s NAME', and try again", c.Branch)
		}
		fmt.Fprintf(&create, "create %s %s\n", ref, c.Head)
	}
	if create.Len() == 0 {
		return nil
	}
	work, err := os.MkdirTemp(folder, "apply-")
	if err != nil {
		return fmt.Errorf("checking the bundle: %w", err)
	}
	defer os.RemoveAll(work)
	bundle := filepath.Join(folder, first.Bundle)
	clean, err := newScratch(filepath.Join(work, "clean"), store)
	if err == nil {
		err = clean.receive(ctx, bundle, commits)
	}
	if err == nil {
		err = host.receive(ctx, bundle, commits)
	}
	if err != nil {
		return fmt.Errorf("the commits cannot be taken into %s: %w", store.Dir, err)
	}
	if _, err := host.git(ctx, strings.NewReader(create.String()), "update-ref", "-m", "sbx-devc apply", "--stdin"); err != nil {
		return fmt.Errorf("making the branches in %s: %w", store.Dir, err)
	}
	return nil
}

// KeepsHead says whether the branch of c has every commit of what is checked out
// in the host's repository, so that 'git reset' to it loses none. born is false
// where there is no commit yet. A HEAD that git cannot read may have any.
func KeepsHead(ctx context.Context, c Commits) (keeps, born bool) {
	host := &scratch{dir: c.Dir}
	head := host.at(ctx, "HEAD^{commit}")
	if head == "" {
		return host.isUnborn(ctx, c.Common), false
	}
	_, err := host.git(ctx, nil, "merge-base", "--is-ancestor", head, c.Head)
	return err == nil, true
}

// isUnborn reports whether HEAD names a branch that is not there.
func (r *scratch) isUnborn(ctx context.Context, common string) bool {
	ref, err := r.git(ctx, nil, "symbolic-ref", "--quiet", "HEAD")
	if err != nil {
		return false
	}
	ref = strings.TrimSpace(ref)
	found, err := r.git(ctx, nil, "for-each-ref", ref) // passes over one that is damaged
	_, fileErr := os.Lstat(filepath.Join(common, filepath.FromSlash(ref)))
	return err == nil && found == "" && errors.Is(fileErr, fs.ErrNotExist)
}
