package mountwatch

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/workspace/obeyed"
)

// CheckSpellings refuses to go on where another name leads past a mount over a
// .git to what is below it: on a file system that does not tell upper from lower
// case, the kernel may take each spelling for a place of its own. The mounts cover
// the spellings of .git itself; the folders above it have too many.
func (w *Watch) CheckSpellings() error {
	for _, point := range slices.Sorted(maps.Values(w.kept)) {
		if !obeyed.IsGitName(path.Base(point)) {
			continue
		}
		for _, other := range otherSpellings(point) {
			covered, err := w.covers(other)
			if err != nil {
				return fmt.Errorf("looking at %s: %w", other, err)
			}
			if !covered {
				err := fmt.Errorf("%s leads past what is mounted at %s: the file system of the project takes both for one name", other, point)
				return diag.WithHint(err, "work in a clone on a file system that tells upper from lower case")
			}
		}
	}
	return nil
}

// otherSpellings lists the paths that a file system may take for point: with one
// of its folders in other letters, and with the names of .git. HFS+ overlooks
// letters without a width as well.
func otherSpellings(point string) (paths []string) {
	for dir := path.Dir(point); dir != "/"; dir = path.Dir(dir) {
		if other := obeyed.SwapCase(path.Base(dir)); leadsTo(path.Dir(dir), path.Base(dir), other) {
			paths = append(paths, path.Join(path.Dir(dir), other, strings.TrimPrefix(point, dir)))
		}
	}
	for _, name := range append(obeyed.GitNames(), ".g\u200cit") {
		if leadsTo(path.Dir(point), path.Base(point), name) {
			paths = append(paths, path.Join(path.Dir(point), name))
		}
	}
	return paths
}

// leadsTo reports whether other leads to what is at name in a folder: it is there,
// and is not listed as an entry of its own.
func leadsTo(dir, name, other string) bool {
	if _, err := os.Lstat(path.Join(dir, other)); err != nil || name == other {
		return false
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return true
	}
	listed := map[string]bool{}
	for _, e := range entries {
		listed[e.Name()] = true
	}
	return !listed[name] || !listed[other]
}

// covers reports whether a path is in one of the mounts that protect something. A
// missing one is in none, and nothing is behind it.
func (w *Watch) covers(file string) (bool, error) {
	var at unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, file, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_MNT_ID, &at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case err != nil:
		return false, os.NewSyscallError("statx", err)
	case at.Mask&unix.STATX_MNT_ID == 0:
		return false, errors.New("the kernel does not say in which mount it is; Linux 5.8 does")
	}
	_, kept := w.kept[strconv.FormatUint(at.Mnt_id, 10)]
	return kept, nil
}
