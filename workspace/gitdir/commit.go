package gitdir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/filekind"
)

// Commit makes a branch with one commit on top of what is checked out in the repository
// around a folder: the given paths below the folder, as they are there now. A path that
// is gone is removed, and one that git ignores there stays away. It changes neither files
// nor the index, runs no hook and no filter, and replaces no branch. It returns the
// commit's name; the error wraps ErrIgnored where nothing is left to commit.
func Commit(ctx context.Context, folder, branch, message string, paths []string) (string, error) {
	dir, top, err := repositoryAround(folder)
	if err != nil {
		return "", err
	}
	prefix, err := filepath.Rel(top, folder)
	if err != nil {
		return "", err
	}
	prefix = filepath.ToSlash(prefix)
	found := &scratch{dir: dir}
	head := found.at(ctx, "HEAD^{commit}")
	if head == "" {
		return "", diag.WithHint(errors.New("the repository has no commit yet"), "make a first one")
	}
	if found.at(ctx, "refs/heads/"+branch) != "" {
		return "", diag.WithHint(fmt.Errorf("the branch %s is there already", branch), "rename it with 'git branch -m %s NAME'", branch)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return "", err
	}
	defer root.Close()
	work, err := os.MkdirTemp("", "sbx-commit-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	found.index = filepath.Join(work, "index")
	if _, err := found.git(ctx, nil, "read-tree", head); err != nil {
		return "", err
	}
	if paths, err = found.withoutIgnored(ctx, top, prefix, paths); err != nil {
		return "", err
	}
	if len(paths) == 0 {
		return "", ErrIgnored
	}
	var lines strings.Builder
	for _, rel := range paths {
		mode, id, err := found.store(ctx, root, rel, strings.Repeat("0", len(head)))
		if err != nil {
			return "", fmt.Errorf("%s: %w", rel, err)
		}
		fmt.Fprintf(&lines, "%s %s\t%s\x00", mode, id, path.Join(prefix, rel))
	}
	if _, err := found.git(ctx, strings.NewReader(lines.String()), "update-index", "-z", "--index-info"); err != nil {
		return "", err
	}
	tree, err := found.git(ctx, nil, "write-tree")
	if err != nil {
		return "", err
	}
	owner := Identity(ctx, dir)
	found.extra = []string{"-c", "user.name=" + owner.Name, "-c", "user.email=" + owner.Email, "-c", "commit.gpgSign=false"}
	commit, err := found.git(ctx, strings.NewReader(message), "commit-tree", strings.TrimSpace(tree), "-p", head, "-F", "-")
	if err != nil {
		return "", err
	}
	commit = strings.TrimSpace(commit)
	_, err = found.git(ctx, strings.NewReader(fmt.Sprintf("create refs/heads/%s %s\n", branch, commit)), "update-ref", "-m", "sbx-devc review",
		"--stdin")
	return commit, err
}

// ErrIgnored reports that git ignores all that is to be committed.
var ErrIgnored = errors.New("git ignores everything that is to be committed")

// withoutIgnored leaves out of paths below prefix, in the work tree top, what git ignores and
// the commit that the index was made of does not have. Where git cannot tell, as of files of
// a submodule, nothing is left out.
func (r *scratch) withoutIgnored(ctx context.Context, top, prefix string, paths []string) ([]string, error) {
	in := *r
	in.extra = []string{"-C", top}
	here := "./" + prefix + "/" // without the dot a name that begins with a colon would be more than a name
	out, err := in.git(ctx, strings.NewReader(here+strings.Join(paths, "\x00"+here)+"\x00"), "check-ignore", "--stdin", "-z")
	if err != nil { // also where none is ignored
		return paths, ctx.Err()
	}
	ignored := map[string]bool{}
	for name := range strings.SplitSeq(out, "\x00") {
		ignored[strings.TrimPrefix(name, here)] = true
	}
	return slices.DeleteFunc(slices.Clone(paths), func(rel string) bool { return ignored[rel] }), nil
}

// repositoryAround is the git directory of a folder, and the top of its work tree.
func repositoryAround(folder string) (dir, top string, err error) {
	for at := folder; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			if dir = HostOf(at); dir == "" {
				return "", "", fmt.Errorf("%s is no repository", filepath.Join(at, ".git"))
			}
			return dir, at, nil
		}
		if at == filepath.Dir(at) {
			return "", "", fmt.Errorf("%s is in no repository", folder)
		}
	}
}

// store puts the content of a path into the repository; git reads it from its standard
// input alone. For a path that is gone the mode is 0 and the name is none.
func (r *scratch) store(ctx context.Context, root *os.Root, rel, none string) (mode, id string, err error) {
	name := filepath.FromSlash(rel)
	info, err := root.Lstat(name)
	var content io.Reader
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "0", none, nil
	case err != nil:
		return "", "", err
	case info.Mode()&fs.ModeSymlink != 0:
		mode = "120000"
		var to string
		to, err = root.Readlink(name)
		content = strings.NewReader(to)
	case info.Mode().IsRegular():
		mode = "100644"
		if info.Mode()&0o100 != 0 {
			mode = "100755"
		}
		var f *os.File
		if f, err = filekind.OpenIn(root, rel); err == nil {
			defer f.Close()
			content = f // as a file, of which git does not take all into memory
		}
	default:
		return "", "", errors.New("it is neither a file nor a link")
	}
	if err != nil {
		return "", "", err
	}
	id, err = r.git(ctx, content, "hash-object", "-w", "--stdin", "--no-filters")
	return mode, strings.TrimSpace(id), err
}

// Drop removes a branch that Apply made, if it is still where Apply put it and is
// checked out nowhere. It reports whether it did. The bundle stays.
func Drop(ctx context.Context, c Commits) (bool, error) {
	host := &scratch{dir: c.Dir}
	ref := "refs/heads/" + c.Branch
	if !IsApplied(ctx, c) {
		return false, nil
	}
	list, err := host.git(ctx, nil, "worktree", "list", "--porcelain")
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(list) {
		if strings.TrimSpace(line) == "branch "+ref {
			return false, fmt.Errorf("the branch %s is checked out, and stays", c.Branch)
		}
	}
	_, err = host.git(ctx, strings.NewReader(fmt.Sprintf("delete %s %s\n", ref, c.Head)), "update-ref", "--stdin")
	return err == nil, err
}

// IsApplied reports whether the branch is in the host's repository as Apply makes it.
func IsApplied(ctx context.Context, c Commits) bool {
	host := &scratch{dir: c.Dir}
	return host.at(ctx, "refs/heads/"+c.Branch) == c.Head
}
