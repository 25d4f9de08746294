package tamper

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/internal/mountinfo"
	"github.com/org/claude-sandbox/internal/pathwalk"
)

// Who is the user that must not be able to change a file.
type Who struct {
	UID    int
	GIDs   []int
	Anyone bool // everybody but root, whatever the ids
}

// String names the user in a message.
func (who Who) String() string {
	if who.Anyone {
		return "a user other than root"
	}
	return fmt.Sprintf("the command's user (uid %d)", who.UID)
}

// ErrUnsafe reports a file that the user could change.
var ErrUnsafe = errors.New("is not safe")

// Check errs with ErrUnsafe, and says how, if the user could make path lead to other
// content, see canChange.
func (who Who) Check(path string) error {
	how, err := who.canChange(path)
	if err == nil && how != "" {
		err = fmt.Errorf("%s %w: %s %s", path, ErrUnsafe, who, how)
	}
	return err
}

// canChange reports how who could make path lead to other content: by writing
// to the file, or by putting another entry in the place of the file, of one of
// its folders or of a symbolic link on the way. "" means not at all. It goes
// by owners and modes, because an owner can give himself any permission; a
// read-only mount stops everybody, and a mount point cannot be replaced.
func (who Who) canChange(path string) (how string, err error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	mounts, err := mountPoints("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	replaced := errors.New("replaceable")
	end, err := pathwalk.Walk("/", abs, func(entry string, info fs.FileInfo) error {
		replaceable, err := who.canReplace(filepath.Dir(entry), entry, info, mounts)
		if err == nil && replaceable {
			err = replaced
		}
		return err
	})
	switch {
	case err == replaced:
		return fmt.Sprintf("can put something else in the place of %s", end), nil
	case err != nil:
		return "", err
	}
	info, err := os.Lstat(end)
	switch {
	case err != nil:
		return "", err
	case info.IsDir():
		return "", &os.PathError{Op: "open", Path: path, Err: syscall.EISDIR}
	}
	writable, err := who.canWrite(end, info)
	if err != nil || !writable {
		return "", err
	}
	return "can write to " + end, nil
}

// canReplace reports whether who can remove or rename entry in dir.
func (who Who) canReplace(dir, entry string, info os.FileInfo, mounts map[string]bool) (bool, error) {
	if mounts[entry] {
		return false, nil // EBUSY for everybody who sees the mount
	}
	parent, err := os.Stat(dir)
	if err != nil {
		return false, err
	}
	writable, err := who.canWrite(dir, parent)
	if err != nil || !writable {
		return false, err
	}
	if parent.Mode()&os.ModeSticky != 0 {
		// Only the owners of the entry and of the folder may.
		return who.is(ownerOf(info)) || who.is(ownerOf(parent)), nil
	}
	return true, nil
}

// canWrite reports whether who can write to the file or folder at path, or
// give himself the right to. An access control list can only name more people
// within the group's bits, which then are its mask; so those count for all.
func (who Who) canWrite(path string, info os.FileInfo) (bool, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		return false, &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	if fs.Flags&unix.ST_RDONLY != 0 {
		return false, nil
	}
	mode := info.Mode().Perm()
	switch {
	case who.is(ownerOf(info)), mode&0o002 != 0:
		return true, nil
	case mode&0o020 != 0:
		return who.inGroup(groupOf(info)) || hasACL(path), nil
	}
	return false, nil
}

func (who Who) is(uid int) bool {
	if who.Anyone {
		return uid != 0
	}
	return uid == who.UID
}

func (who Who) inGroup(gid int) bool {
	if who.Anyone {
		return gid != 0
	}
	return slices.Contains(who.GIDs, gid)
}

func hasACL(path string) bool {
	n, err := unix.Getxattr(path, "system.posix_acl_access", nil)
	return err == nil && n > 0
}

func ownerOf(info os.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }
func groupOf(info os.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Gid) }

// mountPoints lists the mount points that a process's mountinfo names.
func mountPoints(file string) (map[string]bool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	points := map[string]bool{}
	for m := range mountinfo.Parse(string(text)) {
		points[m.Point] = true
	}
	return points, nil
}
