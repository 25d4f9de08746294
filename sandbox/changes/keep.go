package changes

import (
	"context"
	"sync"
)

// Copies are made in portions, because every file of a project with a stale index
// is copied while somebody waits for the agent: one opened folder and one write
// for many files, and several of them at a time.
const (
	portionFiles = 128
	portionSize  = 1 << 20 // bytes; one file may be larger
	keepers      = 4
)

// portion is files of one folder that lie one after the other in the store.
type portion struct {
	folder string
	files  []*node
	at     int64 // in the store
	size   int64
}

// portions gives files their places in the store, in their order, until it is
// full. Files that are too large are left out.
func (b *Before) portions(files []string) (all []*portion) {
	var p *portion
	var size int64
	for _, rel := range files {
		n := b.tree.at(rel)
		if n.size > maxFile {
			continue
		}
		if size+n.size > maxKept {
			return all
		}
		if p == nil || p.folder != dirOf(rel) || len(p.files) == portionFiles || p.size+n.size > portionSize {
			p = &portion{folder: dirOf(rel), at: size}
			all = append(all, p)
		}
		p.files = append(p.files, n)
		p.size += n.size
		size += n.size
	}
	return all
}

// keep copies portions into the store and notes what is where.
func (b *Before) keep(ctx context.Context, all []*portion) {
	next := make(chan *portion)
	var noting sync.Mutex
	var working sync.WaitGroup
	for range min(keepers, len(all)) {
		working.Go(func() {
			for p := range next {
				kept := b.copy(p)
				noting.Lock()
				for rel, at := range kept {
					b.kept[rel] = at
				}
				noting.Unlock()
			}
		})
	}
	for _, p := range all {
		if ctx.Err() != nil {
			break
		}
		next <- p
	}
	close(next)
	working.Wait()
}

// copy copies one portion and returns what it has copied.
func (b *Before) copy(p *portion) map[string]keptAt {
	folder := b.root
	if p.folder != "." {
		var err error
		if folder, err = b.root.OpenRoot(p.folder); err != nil {
			return nil
		}
		defer folder.Close()
	}
	kept := make(map[string]keptAt, len(p.files))
	content := make([]byte, 0, p.size)
	for _, n := range p.files {
		text, err := readFile(folder, n.name, n)
		if err != nil || int64(len(text)) != n.size {
			continue
		}
		kept[join(p.folder, n.name)] = keptAt{p.at + int64(len(content)), n.size}
		content = append(content, text...)
	}
	if _, err := b.store.WriteAt(content, p.at); err != nil {
		return nil
	}
	return kept
}
