//go:build unix

package userdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/org/claude-sandbox/internal/diag"
)

// CheckOwner refuses a file or folder that somebody else than the user and root may
// change.
func CheckOwner(name string, info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("%s has no owner", name)
	}
	if st.Uid != uint32(os.Geteuid()) && st.Uid != 0 {
		return diag.WithHint(fmt.Errorf("%s belongs to user %d, and you are user %d", name, st.Uid, os.Geteuid()),
			"run the command as that user; after sudo, 'sudo -H' looks at root's own folder")
	}
	if mode := info.Mode().Perm(); othersWrite(mode, int(st.Gid), os.Geteuid(), os.Getegid()) {
		return diag.WithHint(fmt.Errorf("others than you can write to %s (mode %04o)", name, mode), "chmod go-w %q", name)
	}
	return nil
}

// othersWrite reports whether a file of the group gid can be written by others than the
// user uid. A group of his own, which has his number, has no other member: where users have
// one, their files are group-writable by default.
func othersWrite(mode fs.FileMode, gid, uid, usersGroup int) bool {
	private := uid != 0 && gid == uid && usersGroup == uid
	return mode&0o002 != 0 || mode&0o020 != 0 && !private
}

func systemDir(getenv func(string) string) (string, error) {
	if runtime.GOOS == "darwin" {
		return os.UserConfigDir()
	}
	home := getenv("HOME")
	if !filepath.IsAbs(home) {
		return "", errors.New("HOME is not set to an absolute path")
	}
	return filepath.Join(home, ".config"), nil
}

// OthersRead reports whether others than its owner may read a file.
func OthersRead(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 != 0 }
