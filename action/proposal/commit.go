package proposal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/action/patch"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/workspace/obeyed"
)

// maxFile bounds a file that changes, in bytes.
const maxFile = 16 << 20

// Message is what a commit says.
type Message struct {
	Text  string
	Name  string // of author and committer
	Email string
}

// entry is one file of a commit.
type entry struct{ mode, hash string }

// tree is what the commit holds.
type tree struct {
	files   map[string]entry
	folders map[string]bool
	folded  map[string]string // path by its folded form, folders too
}

// Commit makes a commit of the changes on top of base, and returns its hash; "" when they
// change nothing. refused is why one of them has no place there; then none is made.
func (r Repository) Commit(ctx context.Context, base string, files []patch.File, m Message) (
	commit string, refused []patch.Finding, err error) {
	index, remove, err := scratch()
	if err != nil {
		return "", nil, err
	}
	defer remove()
	env := []string{"GIT_INDEX_FILE=" + index}
	if _, err := r.git(ctx, call{args: []string{"read-tree", base}, env: env}); err != nil {
		return "", nil, err
	}
	list, err := r.git(ctx, call{args: []string{"ls-files", "--stage", "-z"}, env: env})
	if err != nil {
		return "", nil, err
	}
	t := readTree(list)
	conversions, err := r.conversions(ctx, files)
	if err != nil {
		return "", nil, err
	}
	var update strings.Builder
	for i := range files {
		f := &files[i]
		was, exists := t.files[f.Path]
		why := t.noPlace(f, was, exists)
		if why == "" {
			var line string
			if line, why, err = r.changed(ctx, f, was, conversions[f.Path]); err != nil {
				return "", nil, err
			}
			update.WriteString(line)
		}
		if why != "" {
			refused = append(refused, patch.Finding{Path: visible.Line(f.Path), Why: why})
		}
	}
	if len(refused) > 0 {
		return "", refused, nil
	}
	_, err = r.git(ctx, call{args: []string{"update-index", "-z", "--index-info"}, stdin: strings.NewReader(update.String()), env: env})
	if err != nil {
		return "", nil, err
	}
	after, err := r.git(ctx, call{args: []string{"write-tree"}, env: env})
	if err != nil {
		return "", nil, err
	}
	after = strings.TrimSpace(after)
	before, err := r.line(ctx, "rev-parse", "--verify", base+"^{tree}")
	if err != nil || before == after {
		return "", nil, err
	}
	var who []string
	for _, role := range []string{"AUTHOR", "COMMITTER"} {
		who = append(who, "GIT_"+role+"_NAME="+m.Name, "GIT_"+role+"_EMAIL="+m.Email)
	}
	commit, err = r.git(ctx, call{args: []string{"commit-tree", "-p", base, "-F", "-", after}, stdin: strings.NewReader(m.Text), env: who})
	return strings.TrimSpace(commit), nil, err
}

// changed writes a file's new content and returns its line for the index, or why the patch
// does not fit.
func (r Repository) changed(ctx context.Context, f *patch.File, was entry, c conversion) (line, why string, err error) {
	var old string
	if was.hash != "" {
		size, err := r.line(ctx, "cat-file", "-s", was.hash)
		if err != nil {
			return "", "", err
		}
		if n, err := strconv.Atoi(size); err != nil || n > maxFile {
			return "", fmt.Sprintf("it has more than %d MiB", maxFile>>20), nil
		}
		if old, err = r.git(ctx, call{args: []string{"cat-file", "blob", was.hash}}); err != nil {
			return "", "", err
		}
	}
	hashing := call{args: []string{"hash-object", "-w", "--stdin"}, config: append(c.without, [2]string{"core.safecrlf", "false"})}
	content, misfit := f.Apply([]byte(old))
	if c.applies(old) {
		seen, err := r.checkedOut(ctx, f.Path, was, c)
		if err != nil {
			return "", "", err
		}
		if asSeen, err := f.Apply([]byte(seen)); err == nil && string(asSeen) != seen {
			content, misfit = asSeen, nil
			hashing.args = append(hashing.args, "--path="+f.Path)
		}
	}
	if misfit != nil {
		return "", "the patch does not fit this commit: " + misfit.Error() + c.hint(), nil
	}
	if f.Removed {
		return "0 " + strings.Repeat("0", len(was.hash)) + "\t" + f.Path + "\x00", "", nil
	}
	if why := c.unfiltered(was.hash == "", content); why != "" {
		return "", why, nil
	}
	hashing.stdin = bytes.NewReader(content)
	hash, err := r.git(ctx, hashing)
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) && c.encoding != "" {
		return "", "git does not take it as " + c.encoding + ", its attribute working-tree-encoding: " + err.Error(), nil
	} else if err != nil {
		return "", "", err
	}
	mode := f.NewMode
	if mode == "" {
		mode = was.mode
	}
	return mode + " " + strings.TrimSpace(hash) + "\t" + f.Path + "\x00", "", nil
}

// readTree reads the list of an index: "mode hash stage\tpath", each ended by NUL.
func readTree(list string) tree {
	t := tree{files: map[string]entry{}, folders: map[string]bool{}, folded: map[string]string{}}
	for line := range strings.SplitSeq(list, "\x00") {
		about, name, ok := strings.Cut(line, "\t")
		fields := strings.Fields(about)
		if !ok || len(fields) != 3 {
			continue
		}
		t.files[name] = entry{fields[0], fields[1]}
		t.folded[obeyed.FoldedPath(name)] = name
		for dir := path.Dir(name); dir != "." && !t.folders[dir]; dir = path.Dir(dir) {
			t.folders[dir] = true
			t.folded[obeyed.FoldedPath(dir)] = dir
		}
	}
	return t
}

// noPlace says why a file's change has no place in the commit; "" = it has.
func (t tree) noPlace(f *patch.File, was entry, exists bool) string {
	for dir := path.Dir(f.Path); dir != "."; dir = path.Dir(dir) {
		if other, there := t.folded[obeyed.FoldedPath(dir)]; there && other != dir {
			return "some file systems take its folder for " + visible.Line(other)
		}
		if _, file := t.files[dir]; file {
			return visible.Line(dir) + " is a file, a link or a submodule there"
		}
	}
	switch {
	case f.Added && exists, !f.Added && !exists:
		return map[bool]string{true: "it is there already", false: "it is not there"}[exists]
	case t.folders[f.Path]:
		return "a folder is there"
	case f.Added:
		if other, there := t.folded[obeyed.FoldedPath(f.Path)]; there {
			return "some file systems take it for " + visible.Line(other)
		}
		return ""
	case was.mode != patch.Plain && was.mode != patch.Executable:
		return "it is a link or a submodule there"
	case f.OldMode != "" && f.OldMode != was.mode:
		return "its mode there is " + was.mode
	}
	return ""
}
