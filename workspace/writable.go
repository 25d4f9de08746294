package workspace

import (
	"fmt"
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
	byAll := mode.Perm()&0o002 != 0 || mode&fs.ModeSymlink != 0
	byOwner := uid == owner && uid != 0 && mode.Perm()&0o200 != 0
	return uid < 0 || byAll || byOwner
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

// devContainerUID is the user of a dev container that root starts: the one of our
// images. For other users the dev container CLI gives the container's user their uid.
const devContainerUID = 1000

// ClosedToDevContainer says why the user of a dev container that the user caller
// starts could not change the project in dir, with the command that helps; "" = it
// can.
func ClosedToDevContainer(dir string, caller int) string {
	info, err := os.Stat(dir)
	if err != nil || caller < 0 {
		return ""
	}
	uid := caller
	if uid == 0 {
		uid = devContainerUID
	}
	owner, _ := Owner(info)
	if onReadOnly(dir) || owner == uid && mayWrite(info, uid) || info.Mode().Perm()&0o002 != 0 {
		return ""
	}
	why := fmt.Sprintf("the project belongs to user %d, and the agent in the dev container is user %d, who can read it and not change "+
		"it: 'chown -R %d:%d %q' lets it",
		owner, uid, uid, uid, dir)
	if caller == 0 {
		why += fmt.Sprintf(", and 'git config --global --add safe.directory %q' is for your own git then; "+
			"'sbx-devc run' needs neither", dir)
	}
	return why
}
