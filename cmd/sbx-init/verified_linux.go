package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/firewall"
)

// An image may hold settings that are right behind this firewall alone, such as those
// with which Claude Code asks nobody for leave. It keeps them in verifiedFolder, and
// programs find them through verifiedName, which is there only while this start's
// firewall is verified and its policy names what is open. A container with another
// entrypoint, or with mode audit or host, has none of them.
const (
	verifiedFolder = "/etc/sbx/if-verified"
	// verifiedName is in the audit log's folder, a link to verifiedFolder.
	verifiedName = "verified"
)

// markVerified makes the link where mode narrows what is open. It does so on a tmpfs
// alone, because the mark of a start must not get into an image.
func markVerified(log string, mode firewall.Mode) error {
	if mode != firewall.ModeAllowlist && mode != firewall.ModeNone {
		return nil
	}
	var system unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(log), &system); err != nil || system.Type != unix.TMPFS_MAGIC {
		return nil
	}
	if err := os.Symlink(verifiedFolder, filepath.Join(filepath.Dir(log), verifiedName)); err != nil {
		return fmt.Errorf("marking the firewall as verified: %w", err)
	}
	return nil
}

// unmarkVerified removes the link, if there is one. A read-only place does not say so by
// itself.
func unmarkVerified(log string) error {
	name := filepath.Join(filepath.Dir(log), verifiedName)
	if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.Remove(name); err != nil {
		return fmt.Errorf("removing the mark of a verified firewall: %w", err)
	}
	return nil
}
