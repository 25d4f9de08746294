package workspace

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/org/claude-sandbox/workspace/obeyed"
)

// Some file systems of hosts do not tell upper from lower case. The engine's
// kernel may know better or worse than they do: of ext4 it knows that two
// spellings are one place, of a folder that another machine shares it may take
// each spelling for a place of its own. A mount at .git then covers nothing at
// .GIT (measured with FUSE: one place if the server gives both the same number).

// foldsCase reports whether names in the folder dir lead to the same file in
// upper and lower case. It asks for entries that are there; a folder without
// letters in any name is judged by its own.
func foldsCase(dir string) bool {
	names := []string{".git"}
	if f, err := os.Open(dir); err == nil {
		more, _ := f.Readdirnames(64)
		names = append(names, more...)
		f.Close()
	}
	for _, name := range names {
		if folds, known := sameInOtherCase(filepath.Join(dir, name)); known {
			return folds
		}
	}
	folds, _ := sameInOtherCase(dir)
	return folds
}

// sameInOtherCase reports whether a file's name leads to it in other letters,
// too. It is not known of a name without letters and of a missing file.
func sameInOtherCase(file string) (same, known bool) {
	other := obeyed.SwapCase(filepath.Base(file))
	one, err := os.Lstat(file)
	if err != nil || other == filepath.Base(file) {
		return false, false
	}
	two, err := os.Lstat(filepath.Join(filepath.Dir(file), other))
	return err == nil && os.SameFile(one, two), true
}

// otherNames lists the names by which the agent might reach what is at rel below
// dir, a .git, in the same folder, where case is folded. None stands for something
// that is not there: the engine would make it.
func otherNames(dir, rel string) (names []string) {
	at := filepath.Join(dir, filepath.FromSlash(rel))
	if isOnePlace(at) {
		return nil
	}
	is, err := os.Lstat(at)
	for _, name := range obeyed.GitNames() {
		if name == path.Base(rel) {
			continue
		}
		other, otherErr := os.Lstat(filepath.Join(filepath.Dir(at), name))
		// A missing .git is made before it is mounted over; a short name is known then alone.
		if err != nil && strings.EqualFold(name, ".git") || err == nil && otherErr == nil && os.SameFile(is, other) {
			names = append(names, name)
		}
	}
	return names
}
