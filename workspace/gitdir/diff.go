package gitdir

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/internal/redact"
)

// Bounds on reading the trees of commits: the agent made them.
const (
	maxDiffed = 100_000  // paths
	maxPath   = 4096     // bytes of a path, as in Linux
	maxBlob   = 1 << 20  // bytes of one file that is read
	maxBlobs  = 64 << 20 // and of all
)

// Difference is a path that commits change. Modes are git's (100644, 100755, 120000,
// 160000); 0 = it is not there.
type Difference struct {
	Path             string
	OldMode, NewMode uint32
	OldSize, NewSize int64
	Old, New         []byte // content, or the target of a link; nil where it was not read
	NewID            string // git's name of the new content
}

// Diff compares the last commit of a branch with what the host's repository has of it:
// the commit at which both histories part, or nothing. bundled are all branches of the
// bundle in folder, the run's, c among them. The bundle passes git's checks in a repository
// of ours, as in Apply. Nothing is written to the host's. names are all paths of the last
// commit.
func Diff(ctx context.Context, folder string, c Commits, bundled []Commits) (found []Difference, names []string, err error) {
	err = withBundle(ctx, folder, c, bundled, func(clean *scratch) (err error) {
		found, names, err = clean.compare(ctx, &scratch{dir: c.Dir}, c.Head)
		return err
	})
	return found, names, err
}

// Search looks for secrets in all that the commits bring, and in the agent's name of the
// branch, as Take does. bundled is that of Diff.
func Search(ctx context.Context, folder string, c *Commits, bundled []Commits, secrets *redact.Finder) error {
	var in []SecretIn
	c.From, in = hideBranch(c.From, secrets)
	for _, s := range in {
		c.addSecret(s)
	}
	return withBundle(ctx, folder, *c, bundled, func(clean *scratch) error { return clean.search(ctx, c, secrets) })
}

// withBundle has a function work on a repository of ours that has the objects of a bundle.
func withBundle(ctx context.Context, folder string, c Commits, bundled []Commits, use func(*scratch) error) (err error) {
	store := Store{Dir: c.Dir, Common: c.Common}
	if store.Config, err = readConfig(store.Common, store.Dir); err != nil {
		return err
	}
	work, err := os.MkdirTemp(folder, "review-")
	if err != nil {
		return fmt.Errorf("reading the agent's commits: %w", err)
	}
	defer os.RemoveAll(work)
	clean, err := newScratch(filepath.Join(work, "clean"), store)
	if err == nil {
		err = clean.receive(ctx, filepath.Join(folder, c.Bundle), bundled)
	}
	if err == nil {
		err = use(clean)
	}
	if err != nil {
		return fmt.Errorf("reading the agent's commits: %w", err)
	}
	return nil
}

// compare is Diff of a commit that is here.
func (r *scratch) compare(ctx context.Context, host *scratch, head string) (found []Difference, names []string, err error) {
	if names, err = r.paths(ctx, head); err != nil { // first: git holds a whole comparison in memory
		return nil, nil, err
	}
	found, err = r.diff(ctx, r.base(ctx, host, head), head)
	return found, names, err
}

// paths are all paths of a commit but those of folders. Git lists folders, too: trees may lead
// to each other along paths without end, at which there is no file.
func (r *scratch) paths(ctx context.Context, commit string) (paths []string, err error) {
	text, err := r.git(ctx, nil, "ls-tree", "-r", "-t", "-z", "--full-tree", commit)
	if err != nil {
		return nil, err
	}
	for text != "" {
		head, rest, ok := strings.Cut(text, "\x00")
		about, name, ok2 := strings.Cut(head, "\t")
		if !ok || !ok2 {
			return nil, errRaw
		}
		if len(name) > maxPath {
			return nil, errPath
		}
		if !strings.HasPrefix(about, "040000 ") {
			paths = append(paths, name)
		}
		text = rest
	}
	return paths, nil
}

// touched lists the regular files that the commits of a branch change. Content that is not
// read, for its size, is left out, and so are links and submodules.
func (r *scratch) touched(ctx context.Context, host *scratch, c Commits) (files []Touched) {
	found, _, err := r.compare(ctx, host, c.Head)
	if err != nil {
		return nil
	}
	sum := func(mode uint32, content []byte) (in string, ok bool) {
		if mode != 0 && content != nil {
			at := sha256.Sum256(content)
			in = hex.EncodeToString(at[:])
		}
		return in, mode == 0 || content != nil && mode&0o170000 == 0o100000
	}
	for _, d := range found {
		before, wasFile := sum(d.OldMode, d.Old)
		now, isFile := sum(d.NewMode, d.New)
		if wasFile && isFile {
			files = append(files, Touched{Path: path.Join(c.Repository, d.Path), Before: before, Now: now})
		}
	}
	return files
}

// base is the commit at which a branch and the host's HEAD part; "" = they share none.
func (r *scratch) base(ctx context.Context, host *scratch, head string) string {
	here := host.at(ctx, "HEAD^{commit}")
	if here == "" {
		return ""
	}
	base, err := r.git(ctx, nil, "merge-base", here, head)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(base)
}

// diff compares two commits; an empty base is the empty tree.
func (r *scratch) diff(ctx context.Context, base, head string) ([]Difference, error) {
	if base == "" {
		empty, err := r.git(ctx, strings.NewReader(""), "hash-object", "-t", "tree", "--stdin")
		if err != nil {
			return nil, err
		}
		base = strings.TrimSpace(empty)
	}
	text, err := r.git(ctx, nil, "diff-tree", "-r", "-t", "-z", "--raw", "--no-renames", "--no-abbrev", base, head)
	if err != nil {
		return nil, err
	}
	found, ids, err := parseRaw(text)
	if err != nil {
		return nil, err
	}
	return found, r.fill(ctx, found, ids)
}

var (
	errRaw  = errors.New("git's list has another form than expected")
	errPath = fmt.Errorf("they hold a path of more than %d bytes", maxPath)
)

// folderMode is git's mode of a folder.
const folderMode = 0o40000

// parseRaw reads ":OLDMODE NEWMODE OLD NEW STATUS\0PATH\0". ids are the names of both
// contents of each. A folder is left out.
func parseRaw(text string) (found []Difference, ids [][2]string, err error) {
	for text != "" {
		head, rest, ok := strings.Cut(text, "\x00")
		name, rest, ok2 := strings.Cut(rest, "\x00")
		fields := strings.Fields(strings.TrimPrefix(head, ":"))
		if !ok || !ok2 || len(fields) != 5 {
			return nil, nil, errRaw
		}
		old, errOld := strconv.ParseUint(fields[0], 8, 32)
		now, errNow := strconv.ParseUint(fields[1], 8, 32)
		if errOld != nil || errNow != nil {
			return nil, nil, errRaw
		}
		if len(name) > maxPath {
			return nil, nil, errPath
		}
		if text = rest; old == folderMode || now == folderMode {
			continue
		}
		if len(found) == maxDiffed {
			return nil, nil, fmt.Errorf("they change more than %d paths", maxDiffed)
		}
		found = append(found, Difference{Path: name, OldMode: uint32(old), NewMode: uint32(now), NewID: fields[3]})
		ids = append(ids, [2]string{fields[2], fields[3]})
	}
	return found, ids, nil
}

// fill reads the contents, within the bounds.
func (r *scratch) fill(ctx context.Context, found []Difference, ids [][2]string) error {
	var names []string
	for i, d := range found {
		for side, mode := range []uint32{d.OldMode, d.NewMode} {
			if mode != 0 && mode != 0o160000 {
				names = append(names, ids[i][side])
			}
		}
	}
	o, err := r.read(ctx, names)
	if err != nil {
		return err
	}
	for i := range found {
		d := &found[i]
		d.OldSize, d.NewSize = o.sizes[ids[i][0]], o.sizes[ids[i][1]]
		d.Old, d.New = o.contents[ids[i][0]], o.contents[ids[i][1]]
	}
	return nil
}

// objects are blobs, trees and commits by their names.
type objects struct {
	kinds    map[string]string // "blob", "tree", "commit" or "tag"
	sizes    map[string]int64
	contents map[string][]byte // those within the bounds
	order    []string          // of contents
	all      bool              // nothing is beyond the bounds
}

// read reads objects, within the bounds. A name may stand there more than once, and one
// that is missing, as in a partial clone, is left out.
func (r *scratch) read(ctx context.Context, names []string) (o objects, err error) {
	o = objects{kinds: map[string]string{}, sizes: map[string]int64{}, contents: map[string][]byte{}, all: true}
	if len(names) == 0 {
		return o, nil
	}
	text, err := r.git(ctx, strings.NewReader(strings.Join(names, "\n")+"\n"), "cat-file",
		"--batch-check=%(objectname) %(objecttype) %(objectsize)")
	if err != nil {
		return o, err
	}
	left := int64(maxBlobs)
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) != 3 || o.kinds[fields[0]] != "" {
			continue
		}
		name, size := fields[0], int64(0)
		if size, err = strconv.ParseInt(fields[2], 10, 64); err != nil {
			return o, errAnswer
		}
		o.kinds[name], o.sizes[name] = fields[1], size
		switch {
		case fields[1] == "tag":
		case size > maxBlob || size > left:
			o.all = false
		default:
			left -= size
			o.order = append(o.order, name)
		}
	}
	if len(o.order) == 0 {
		return o, nil
	}
	if text, err = r.git(ctx, strings.NewReader(strings.Join(o.order, "\n")+"\n"), "cat-file", "--batch"); err != nil {
		return o, err
	}
	for _, name := range o.order {
		head, rest, _ := strings.Cut(text, "\n")
		size := int(o.sizes[name])
		if head != fmt.Sprintf("%s %s %d", name, o.kinds[name], size) || len(rest) <= size {
			return o, errAnswer
		}
		o.contents[name], text = []byte(rest[:size]), rest[size+1:]
	}
	return o, nil
}

var errAnswer = errors.New("git's answer has another form than expected")
