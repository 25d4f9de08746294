package changes

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/org/claude-sandbox/internal/atomicfile"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/internal/hostprogram"
	"github.com/org/claude-sandbox/internal/redact"
	"github.com/org/claude-sandbox/workspace/obeyed"
)

// RecordFile in Options.Keep is what Take saw, for a process that compares in the place of
// this one, should that be killed. Save writes it, and Close removes it. What Leave leaves was
// modified when the run ended.
const RecordFile = "before.gob"

// recorded is a Before but for its tree, whose entries follow in the order of each.
type recorded struct {
	Version int
	Dir     string
	Repo    []string // its folder and the prefix; nil = there was none
	Store   string   // in the folder of the record; "" = there is none
	Blobs   map[string]string
	Kept    map[string][2]int64
	Taken   time.Time
	Ours    []string
	Out     []string
	Seen    []string
	Sums    map[string][sha256.Size]byte
	Missed  int
	Entries int // of the tree
}

// recordVersion is raised when records of before cannot be read any more.
const recordVersion = 1

// recordedEntry is a node, which is in as many folders as Depth says.
type recordedEntry struct {
	Depth              int
	Name               string
	What               What
	Mode, Links        uint32
	Size, Mtime, Ctime int64
	Dev, Ino           uint64
	Target             string
	Listed             bool
}

// Save writes RecordFile. Nothing else may use b meanwhile.
func (b *Before) Save(keep string) error {
	r := recorded{
		Version: recordVersion, Dir: b.root.Name(), Blobs: b.blobs, Kept: map[string][2]int64{}, Taken: b.taken,
		Ours: slices.Collect(maps.Keys(b.ours)), Out: slices.Collect(maps.Keys(b.out)), Seen: b.seen, Sums: b.sums.of, Missed: b.sums.missed,
		Entries: 1,
	}
	if b.repo != nil {
		r.Repo = []string{b.repo.folder, b.repo.prefix}
	}
	if b.store != nil {
		r.Store = filepath.Base(b.store.Name())
	}
	for rel, at := range b.kept {
		r.Kept[rel] = [2]int64{at.offset, at.size}
	}
	b.tree.each(".", func(string, *node) { r.Entries++ })
	b.record = filepath.Join(keep, RecordFile)
	return atomicfile.Write(b.record, 0o600, func(w io.Writer) error {
		out := bufio.NewWriter(w)
		enc := gob.NewEncoder(out)
		err := enc.Encode(r)
		if err == nil {
			err = encodeTree(enc, b.tree, 0)
		}
		return errors.Join(err, out.Flush())
	})
}

func encodeTree(enc *gob.Encoder, n *node, depth int) error {
	err := enc.Encode(recordedEntry{depth, n.name, n.what, n.mode, n.links, n.size, n.mtime, n.ctime, n.id.dev, n.id.ino, n.target, n.listed})
	for i := range n.kids {
		if err != nil {
			return err
		}
		err = encodeTree(enc, &n.kids[i], depth+1)
	}
	return err
}

// IsLeft reports whether the run's folder keep has a record of before, and not yet what
// changed since.
func IsLeft(keep string) bool {
	return filekind.IsRegular(filepath.Join(keep, RecordFile)) && !filekind.IsRegular(filepath.Join(keep, SetFile))
}

// EndedAt says when a run in the project itself had ended: what changed later, by the
// kernel's time, is not the run's alone, see Change.Later. A file that is gone has no time. Zero
// stands for what Leave said, and where nothing was left for the run's begin.
func (b *Before) EndedAt(at time.Time) {
	if info, err := os.Stat(b.record); at.IsZero() && err == nil {
		at = info.ModTime()
	}
	b.ended = at
}

// Finish compares with what was left in the run's folder keep, saves what changed there, and
// removes the record. accepted is for Accept; unseen are sentences about what is not looked at.
// With an error, which may be that of ctx, everything stays as it was.
func Finish(ctx context.Context, keep string, secrets *redact.Finder, inPlace bool, accepted map[string][]byte,
	unseen ...string) (*Set, error) {
	b, err := Reopen(keep, secrets)
	if err != nil {
		return nil, err
	}
	if inPlace {
		b.EndedAt(time.Time{})
	}
	b.Accept(accepted)
	set := b.Compare(ctx)
	set.Unseen = append(unseen, set.Unseen...)
	if err = ctx.Err(); err == nil {
		err = set.Save(keep)
	}
	if err != nil {
		return nil, errors.Join(err, b.Leave(time.Time{}))
	}
	return set, b.Close()
}

// Reopen reads what Save wrote into a folder that no agent can write to. It errs with
// fs.ErrNotExist where nothing was saved. Close removes the record.
func Reopen(keep string, secrets *redact.Finder) (*Before, error) {
	f, err := os.Open(filepath.Join(keep, RecordFile))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var r recorded
	dec := gob.NewDecoder(bufio.NewReader(f))
	if err := dec.Decode(&r); err != nil {
		return nil, fmt.Errorf("reading what was there before the run: %w", err)
	}
	if r.Version != recordVersion {
		return nil, fmt.Errorf("another version of this program noted what was there before the run (%d)", r.Version)
	}
	b := &Before{
		record: f.Name(), table: obeyed.NewTable(), blobs: r.Blobs, kept: map[string]keptAt{}, taken: r.Taken, ours: map[string]bool{},
		out: map[string]bool{}, seen: r.Seen, sums: sums{of: r.Sums, missed: r.Missed}, secrets: secrets,
	}
	if git, err := hostprogram.Find("git"); err == nil && len(r.Repo) == 2 { // which the agent may have removed
		b.repo = &repository{git, r.Repo[0], r.Repo[1]}
	} else {
		b.blobs = nil
	}
	for rel, at := range r.Kept {
		b.kept[rel] = keptAt{at[0], at[1]}
	}
	for _, rel := range r.Ours {
		b.ours[rel] = true
	}
	for _, rel := range r.Out {
		b.out[rel] = true
	}
	if b.tree, err = decodeTree(dec, r.Entries); err != nil {
		return nil, fmt.Errorf("reading what was there before the run: %w", err)
	}
	if b.root, err = os.OpenRoot(r.Dir); err != nil {
		return nil, err
	}
	if strings.HasPrefix(r.Store, "before-") && filepath.IsLocal(r.Store) {
		if b.store, err = os.Open(filepath.Join(keep, r.Store)); err != nil {
			b.store, b.kept = nil, nil // the diff says what it lacks
		}
	}
	return b, nil
}

func decodeTree(dec *gob.Decoder, entries int) (*node, error) {
	var root *node
	var above []*node // the folders that the next entry may be in, the root first
	for range entries {
		var e recordedEntry
		if err := dec.Decode(&e); err != nil {
			return nil, err
		}
		n := node{name: e.Name, what: e.What, mode: e.Mode, links: e.Links, size: e.Size, mtime: e.Mtime, ctime: e.Ctime,
			id: fileID{e.Dev, e.Ino}, target: e.Target, listed: e.Listed}
		switch {
		case root == nil && e.Depth == 0:
			root = &n
			above = []*node{root}
		case e.Depth < 1 || e.Depth > len(above):
			return nil, errors.New("its entries are out of order")
		default:
			in := above[e.Depth-1]
			in.kids = append(in.kids, n)
			above = append(above[:e.Depth], &in.kids[len(in.kids)-1])
		}
	}
	return root, nil
}
