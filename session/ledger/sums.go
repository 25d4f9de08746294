package ledger

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/org/claude-sandbox/internal/atomicfile"
)

// sumFrom is the size of a day's file, in bytes, from which on sums take the place of its
// entries: some 6,000 answers. An agent can ask for very many cheap ones, and all runs of the
// day read the file.
const sumFrom = 1 << 20

// sumsBegin begins a file of sums. A random text follows, by which somebody who has read the
// old file sees that this is another one.
const sumsBegin = `{"sums":`

// group is what one sum is of.
type group struct{ run, project, model string }

// putSums puts one entry for each run, project and model into the place of a day's entries, and
// returns the file's new size in bytes. The caller holds the file, so that none is added meanwhile.
// The new file takes the name as a whole: a process that ends before leaves the entries.
func putSums(name string) (size int64, err error) {
	sums := map[group]Entry{}
	err = readAll(name, func(e Entry) {
		of := group{e.Run, e.Project, e.Model}
		e.Spent = e.Add(sums[of].Spent)
		sums[of] = e
	})
	if err != nil {
		return 0, err
	}
	text := fmt.Appendf(nil, "%s%q}\n", sumsBegin, rand.Text())
	for _, of := range slices.SortedFunc(maps.Keys(sums), func(a, b group) int {
		return cmp.Or(cmp.Compare(a.run, b.run), cmp.Compare(a.project, b.project), cmp.Compare(a.model, b.model))
	}) {
		line, err := json.Marshal(sums[of])
		if err != nil {
			return 0, err
		}
		text = append(append(text, line...), '\n')
	}
	err = atomicfile.Write(name, 0o600, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	return int64(len(text)), err
}

// removeUnfinished removes files that putSums made before a time and did not name.
func removeUnfinished(dir string, before time.Time) (err error) {
	names, err := filepath.Glob(filepath.Join(dir, ".new-*"))
	for _, name := range names {
		if info, e := os.Lstat(name); e == nil && info.ModTime().Before(before) {
			err = errors.Join(err, os.Remove(name))
		}
	}
	return err
}
