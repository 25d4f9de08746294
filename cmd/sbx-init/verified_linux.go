package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/mountinfo"
)

// An image may hold settings that are right behind this firewall alone, such as those
// with which Claude Code asks for no permission. It keeps them in verifiedFolder, and
// programs find them through verifiedMark, which is there only while this start's
// firewall is verified and its policy names what is open. A container with another
// entrypoint, or with mode audit or host, has none of them.
const (
	verifiedFolder = "/etc/sbx/if-verified"
	// verifiedMark is a link to verifiedFolder. Each start of a container has a /dev of its
	// own, in memory, in which only root can write.
	verifiedMark = "/dev/sbx-verified"
)

// markVerified makes the link where mode narrows what is open. It does so on a tmpfs
// alone, because the mark of a start must neither get into an image nor into the
// machine's own /dev, which other containers may have.
func markVerified(mode firewall.Mode) error {
	if mode != firewall.ModeAllowlist && mode != firewall.ModeNone || !ownDev() {
		return nil
	}
	if err := os.Symlink(verifiedFolder, verifiedMark); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("marking the firewall as verified: %w", err)
	}
	return nil
}

// ownDev reports whether /dev is a tmpfs. The machine's own is a devtmpfs.
func ownDev() (own bool) {
	text, _ := os.ReadFile("/proc/self/mountinfo")
	for m := range mountinfo.Parse(string(text)) { // the last one lies on top
		if m.Point == filepath.Dir(verifiedMark) {
			own = m.Type == "tmpfs"
		}
	}
	return own
}

// unmarkVerified removes the link, if there is one. A read-only place does not say so by
// itself.
func unmarkVerified() error {
	if _, err := os.Lstat(verifiedMark); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.Remove(verifiedMark); err != nil {
		return fmt.Errorf("removing the mark of a verified firewall: %w", err)
	}
	return nil
}
