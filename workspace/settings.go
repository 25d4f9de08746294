package workspace

import (
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/workspace/obeyed"
)

// maxSettings is how many settings of agents and editors are protected. A
// project has a few; each is a mount.
const maxSettings = 64

// PartPaths lists what a run protects for a project in the folder part of the repository
// in dir, where the user stands in the folder stands: what programs obey in the project,
// and whatever would make a repository of it, of stands, or of a folder above them. All
// but dir are relative to dir, slash-separated, and exist.
func PartPaths(dir, part, stands string) (protect []string) {
	project := filepath.Join(dir, filepath.FromSlash(part))
	known, _ := protectable(project)
	opening, _ := openingFiles(project)
	for _, name := range slices.Concat(obeyed.ProjectPaths(), known, opening) {
		protect = append(protect, path.Join(part, name))
	}
	for _, step := range union(Steps(part), Steps(stands)) {
		protect = append(protect, path.Join(step, ".git"))
		folder := filepath.Join(dir, filepath.FromSlash(step))
		if bareKind(folder) == "" {
			for _, name := range bareStops(folder) {
				protect = append(protect, path.Join(step, name))
			}
		}
	}
	return union(protect, nil)
}

// protectable lists what exists of agents' and editors' settings in the
// project's folder: see obeyed.Settings. Nothing can be mounted over a link, so
// one is only looked at afterwards, as a missing one is: it has nothing behind it
// that somebody once approved. The notes say what is left out.
func protectable(dir string) (rels, notes []string) {
	for _, pattern := range obeyed.Settings() {
		for _, rel := range matching(dir, pattern) {
			if kind := plainKind(dir, rel); kind == File || kind == Folder {
				rels = append(rels, rel)
			}
		}
	}
	slices.Sort(rels)
	if len(rels) > maxSettings {
		notes = append(notes, fmt.Sprintf("more than %d settings of agents and editors: %s and all later ones are not protected from "+
			"the agent", maxSettings, rels[maxSettings]))
		rels = rels[:maxSettings]
	}
	return rels, notes
}

// matching lists the paths below dir that a pattern may mean: itself, or, where
// its last part has a wildcard, names of the folder. Names beyond scanLimit are
// not looked at.
func matching(dir, pattern string) (rels []string) {
	folder, last := path.Split(pattern)
	if !strings.Contains(last, "*") {
		return []string{pattern}
	}
	f, err := os.Open(filepath.Join(dir, filepath.FromSlash(folder)))
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(scanLimit) // what was read before an error counts
	for _, name := range names {
		if ok, _ := path.Match(last, name); ok { // the patterns are ours and good
			rels = append(rels, folder+name)
		}
	}
	return rels
}

// readStart reads the beginning of a regular file, at most limit bytes. It waits for no pipe.
func readStart(file string, limit int64) ([]byte, error) {
	f, err := filekind.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}
