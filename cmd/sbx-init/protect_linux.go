package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/internal/mountinfo"
)

// attacker is whoever must not be able to change a file.
type attacker struct {
	uid    int
	gids   []int
	anyone bool // everybody but root, whatever the ids
}

// maxSymlinks is the kernel's own limit on one path (path_resolution(7)).
const maxSymlinks = 40

// canChange reports how who could make path lead to other content: by writing
// to the file, or by putting another entry in the place of the file, of one of
// its folders or of a symbolic link on the way. "" means not at all. It goes
// by owners and modes, because an owner can give himself any permission; a
// read-only mount stops everybody, and a mount point cannot be replaced.
func canChange(path string, who attacker) (how string, err error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	mounts, err := mountPoints("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	pending := strings.Split(strings.Trim(abs, "/"), "/")
	dir, links := "/", 0
	for len(pending) > 0 {
		name := pending[0]
		pending = pending[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			dir = filepath.Dir(dir)
			continue
		}
		entry := filepath.Join(dir, name)
		info, err := os.Lstat(entry)
		if err != nil {
			return "", err
		}
		replaceable, err := who.canReplace(dir, entry, info, mounts)
		if err != nil {
			return "", err
		}
		if replaceable {
			return fmt.Sprintf("can put something else in the place of %s", entry), nil
		}
		switch {
		case info.Mode()&os.ModeSymlink != 0:
			if links++; links > maxSymlinks {
				return "", &os.PathError{Op: "open", Path: path, Err: syscall.ELOOP}
			}
			target, err := os.Readlink(entry)
			if err != nil {
				return "", err
			}
			if filepath.IsAbs(target) {
				dir = "/"
			}
			pending = append(strings.Split(target, "/"), pending...)
		case info.IsDir():
			dir = entry
		default:
			if len(pending) > 0 {
				return "", &os.PathError{Op: "open", Path: path, Err: syscall.ENOTDIR}
			}
			writable, err := who.canWrite(entry, info)
			if err != nil || !writable {
				return "", err
			}
			return "can write to " + entry, nil
		}
	}
	return "", &os.PathError{Op: "open", Path: path, Err: syscall.EISDIR}
}

// canReplace reports whether who can remove or rename entry in dir.
func (who attacker) canReplace(dir, entry string, info os.FileInfo, mounts map[string]bool) (bool, error) {
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
func (who attacker) canWrite(path string, info os.FileInfo) (bool, error) {
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

func (who attacker) is(uid int) bool {
	if who.anyone {
		return uid != 0
	}
	return uid == who.uid
}

func (who attacker) inGroup(gid int) bool {
	if who.anyone {
		return gid != 0
	}
	for _, g := range who.gids {
		if g == gid {
			return true
		}
	}
	return false
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
