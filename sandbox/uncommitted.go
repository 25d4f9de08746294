package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/sandbox/changes"
	"github.com/org/claude-sandbox/workspace/gitdir"
)

// maxUncommitted is how many of the user's files a warning names.
const maxUncommitted = 3

// noteUncommitted warns of changes that the user had not committed when the run began, and
// that the agent's commits hold, as after 'git add -A'.
func (s *search) noteUncommitted(set *changes.Set) {
	var paths []string
	for _, c := range s.notices.result.Commits {
		paths = append(paths, uncommitted(s.plan.Project.Dir, set, c.Touched)...)
	}
	slices.Sort(paths)
	if paths = slices.Compact(paths); len(paths) == 0 {
		return
	}
	for i, p := range paths {
		paths[i] = visible.Line(s.known.String(p))
	}
	text := strings.Join(paths[:min(len(paths), maxUncommitted)], ", ")
	if more := len(paths) - maxUncommitted; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	s.notices.warn("the agent's commits also hold changes that you had not committed when the run began: " + text)
}

// uncommitted lists the files that commits change although the run did not write what they
// hold of them, or not all of it: the user had. dir is the folder that the agent worked in,
// and set what the run changed there. A file that git converts, as by a filter, is not
// recognized.
func uncommitted(dir string, set *changes.Set, touched []gitdir.Touched) (paths []string) {
	if len(touched) == 0 || len(set.Unseen) > 0 || set.More > 0 {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	changed := map[string]*changes.Change{}
	var folded []string
	for i := range set.Changes {
		if c := &set.Changes[i]; c.Folded {
			folded = append(folded, c.Path+"/")
		} else {
			changed[c.Path] = c
		}
	}
	for _, f := range touched {
		c, known := changed[f.Path]
		switch {
		case known:
			if f.Now != "" && c.Sum == f.Now && c.SumWas != "" && c.SumWas != f.Before {
				paths = append(paths, f.Path)
			}
		case slices.ContainsFunc(folded, func(at string) bool { return strings.HasPrefix(f.Path, at) }):
		case sumIn(root, f.Path) == f.Now:
			paths = append(paths, f.Path)
		}
	}
	return paths
}

// sumIn is the SHA-256 of a regular file below folders that are no links, in hex; "" =
// nothing is there, "?" = something else is, or it cannot be read.
func sumIn(root *os.Root, rel string) string {
	at := ""
	for part := range strings.SplitSeq(rel, "/") {
		at = filepath.Join(at, part)
		info, err := root.Lstat(at)
		switch {
		case os.IsNotExist(err):
			return ""
		case err != nil, at != filepath.FromSlash(rel) && !info.IsDir(), at == filepath.FromSlash(rel) && !info.Mode().IsRegular():
			return "?"
		}
	}
	f, err := root.Open(at)
	if err != nil {
		return "?"
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, 2<<20)); err != nil { // commits' files are smaller that are known
		return "?"
	}
	return hex.EncodeToString(h.Sum(nil))
}
