package kept

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/atomicfile"
	"github.com/org/claude-sandbox/internal/diag"
)

// isBelow reports whether a path is relative, in its shortest form, and stays below the
// folder that it starts from.
func isBelow(rel string) bool {
	leaves := path.IsAbs(rel) || rel == ".." || strings.HasPrefix(rel, "../")
	return path.Clean(rel) == rel && rel != "." && !leaves
}

// CheckPaths reads the paths in the agent's home that a user wants to keep: relative, or
// below "~/" or home. It returns them relative to home. Claude's own folder is none of
// them, and none is in another.
func CheckPaths(home string, texts []string) (paths []string, err error) {
	for _, text := range texts {
		rel := strings.TrimPrefix(strings.TrimPrefix(text, "~/"), home+"/")
		switch first, _, _ := strings.Cut(rel, "/"); {
		case !isBelow(rel) || first == "~" || strings.Contains(rel, "\x00"):
			return nil, diag.WithHint(fmt.Errorf("%q is no folder in the agent's home", text), "give it as in .cache/tool or ~/.cache/tool")
		case first == ".claude" || first == ".claude.json":
			return nil, diag.WithHint(fmt.Errorf("%q is Claude's own", text), "--profile keeps the parts of it that run nothing")
		}
		for _, other := range paths {
			if rel == other || strings.HasPrefix(rel, other+"/") || strings.HasPrefix(other, rel+"/") {
				return nil, diag.WithHint(fmt.Errorf("%q and %q are in each other", other, rel), "leave one out")
			}
		}
		paths = append(paths, rel)
	}
	slices.Sort(paths)
	return paths, nil
}

// treeFile is the file of a kept path.
func (s *Store) treeFile(rel string) string {
	sum := sha256.Sum256([]byte(rel))
	return filepath.Join(s.dir, "home-"+hex.EncodeToString(sum[:8])+".tar")
}

// FillTree writes an archive of the folder to with what was kept of the path rel, which
// may be nothing, as a user's.
func (s *Store) FillTree(w io.Writer, rel, to string, uid, gid int) error {
	out := tar.NewWriter(w)
	file, err := os.Open(s.treeFile(rel))
	if errors.Is(err, fs.ErrNotExist) {
		return Pack(w, to, nil, uid, gid)
	}
	if err != nil {
		return err
	}
	defer file.Close()
	return errors.Join(clean(out, file, to, uid, gid), out.Close())
}

// TakeTree keeps the folder whose archive in is, as engine.OpenTar reads it, in the place of what was kept of the
// path before. With an error that stays.
func (s *Store) TakeTree(in io.Reader, rel string) error {
	return atomicfile.Write(s.treeFile(rel), 0o600, func(w io.Writer) error {
		out := tar.NewWriter(w)
		return errors.Join(clean(out, in, "kept", 0, 0), out.Close())
	})
}
