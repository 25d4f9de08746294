package workspace

import (
	"io/fs"
	"os"
	"slices"

	"github.com/org/claude-sandbox/workspace/obeyed"
)

// mayWrite reports whether the agent may write a file or folder by its owner or its
// mode. owner is that of the project, which the agent's user is; root never is.
func mayWrite(info fs.FileInfo, owner int) bool {
	uid, _ := Owner(info)
	mode := info.Mode()
	return uid < 0 || mode.Perm()&0o002 != 0 || mode&fs.ModeSymlink != 0 || uid != 0 && uid == owner && mode.Perm()&0o200 != 0
}

// closedEntries are the entries of the project's folder that belong to somebody else
// and that the agent may not write, by name.
func closedEntries(dir string, owner int) (names []string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || slices.Contains(obeyed.ProjectPaths(), e.Name()) || e.Name() == ".git" {
			continue // it is not the agent's in any case
		}
		if uid, _ := Owner(info); owner > 0 && uid != owner && !mayWrite(info, owner) {
			names = append(names, e.Name())
		}
	}
	return names
}
