// Package mountinfo reads the kernel's list of a process's mounts.
//
//	/proc/PID/mountinfo -> Parse -> Mount, Mount, …
//
// Container names the container that has them, and BootID the kernel.
package mountinfo

import (
	"iter"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Mount is one mount, see proc_pid_mountinfo(5).
type Mount struct {
	ID     string // no other mount has it as long as this one exists
	Device string // major:minor of the file system
	Root   string // what of the file system is mounted, as a path in it
	Point  string // where, as the process sees it
	// ReadOnly is the mount's own flag; the file system may be writable
	// elsewhere.
	ReadOnly bool
	Type     string // of the file system, such as "tmpfs"; "" where the line ends before it
}

// Parse yields the mounts in the kernel's order: of two at one point the later
// one lies on top. A line that is none, or is cut, is left out.
func Parse(text string) iter.Seq[Mount] {
	return func(yield func(Mount) bool) {
		for line := range strings.Lines(text) {
			// id, parent, device, root, mount point, options, …
			f := strings.Fields(line)
			if len(f) < 6 {
				continue
			}
			m := Mount{ID: f[0], Device: f[2], Root: unescape(f[3]), Point: unescape(f[4]),
				ReadOnly: slices.Contains(strings.Split(f[5], ","), "ro")}
			if at := slices.Index(f, "-"); at >= 0 && at+1 < len(f) { // behind optional fields
				m.Type = f[at+1]
			}
			if !yield(m) {
				return
			}
		}
	}
}

// engineFile is the place on its machine of a file that an engine mounts into each container,
// with the container's id: Docker's /var/lib/docker/containers/ID/hostname, Podman's
// …/overlay-containers/ID/userdata/hostname.
var engineFile = regexp.MustCompile(`/(?:[a-z0-9]+-)?containers/([0-9a-f]{64})/(?:userdata/)?(?:hostname|hosts|resolv\.conf)$`)

// Container is the id of the container whose mounts text lists, or of one whose network it
// has joined; "" = they are those of no container of Docker's or Podman's.
func Container(text string) string {
	for m := range Parse(text) {
		if strings.HasPrefix(m.Point, "/etc/") {
			if of := engineFile.FindStringSubmatch(m.Root); of != nil {
				return of[1]
			}
		}
	}
	return ""
}

// unescape resolves the octal escapes that the kernel writes for blanks and the
// like.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// BootID is the id of the kernel's start, by which two containers know whether they share
// one; "" = the kernel does not tell it, and its machine is taken for another one.
func BootID() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
