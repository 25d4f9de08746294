package changes

import (
	"context"
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// maxSummed bounds the content that is summed before and after a run, in bytes.
const maxSummed = 4 << 30

// sums are the content of files on file systems in memory, by path. The kernel
// sets no time there when a program writes through a mapping that it has only
// read before (vma_wants_writenotify in mm/mmap.c), so times do not show it.
type sums struct {
	of     map[string][sha256.Size]byte
	left   int64
	missed int             // files that were not summed
	timed  map[uint64]bool // by device: the file system is none of these
}

// sum notes the content of files whose times show not every change.
func (b *Before) sum(ctx context.Context) {
	b.sums = sums{of: map[string][sha256.Size]byte{}, left: maxSummed, timed: map[uint64]bool{}}
	b.tree.each(".", func(rel string, n *node) {
		if n.what != File || n.size == 0 || b.sums.timed[n.id.dev] {
			return
		}
		f, err := b.root.OpenFile(filepath.FromSlash(rel), os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err == nil {
			defer f.Close()
			if b.sums.timed[n.id.dev] = !isInMemory(f); b.sums.timed[n.id.dev] {
				return
			}
		}
		content, ok := [sha256.Size]byte{}, false
		if err == nil && n.size <= b.sums.left && ctx.Err() == nil {
			b.sums.left -= n.size
			content, ok = sumOf(f, n)
		}
		if !ok {
			b.sums.missed++
			return
		}
		b.sums.of[rel] = content
	})
}

// differs reports whether a file whose times are as before holds something else.
func (b *Before) differs(rel string, n *node) bool {
	before, ok := b.sums.of[rel]
	if !ok {
		return false // Compare says how many these are
	}
	f, err := b.root.OpenFile(filepath.FromSlash(rel), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return true
	}
	defer f.Close()
	after, ok := sumOf(f, n)
	return !ok || before != after
}

// sumOf sums an open file, which must be the one that the walk saw.
func sumOf(f *os.File, n *node) (sum [sha256.Size]byte, ok bool) {
	if info, err := f.Stat(); err != nil || newNode(n.name, info).id != n.id || info.Size() != n.size {
		return sum, false
	}
	h := sha256.New()
	read, err := io.Copy(h, io.LimitReader(f, n.size))
	h.Sum(sum[:0])
	return sum, err == nil && read == n.size
}
