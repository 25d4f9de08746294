package mountwatch

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/mountinfo"
	"github.com/org/claude-sandbox/workspace/obeyed"
)

const (
	// lookPause is how often a watch looks where it is not told of renames.
	lookPause = 100 * time.Millisecond
)

// Watch notices when a read-only mount is not where it was any more.
//
// The protected paths of a workspace are read-only mounts over a folder of the
// host that is writable. The kernel takes a mount away from every namespace when
// somebody elsewhere removes its mount point or renames something over it, as
// git does with its config; and it moves one along when the mount point is
// renamed. Anything that comes to that place next is writable here, and no capability
// that we have could mount it again.
//
// Mounts that can be written to protect nothing: a cache that goes is no danger.
// Only one over a .git is, because the host's own is behind it. A
// folder that is mounted onto itself, so that it cannot be renamed, holds
// read-only mounts, and they share its fate.
type Watch struct {
	info  int           // /proc/self/mountinfo, which tells of mounts that come and go
	moves int           // inotify: renames in the folders that lead to the mounts, which mountinfo does not tell of
	pause time.Duration // between two looks; < 0 = until something happens
	kept  map[string]string
	files []heldFile
	buf   []byte
}

// heldFile is a file of git's that is mounted read-only, and what it held. Its
// mount does not protect its content: the file may have another name that is
// not mounted, a hard link's or, in a shared folder of a host that does not tell
// upper from lower case, the same in other letters. See obeyed.IsGitFile.
type heldFile struct {
	point string
	file  *os.File // opened while we had the right to
	sum   [sha256.Size]byte
}

// Start begins to remember what is mounted read-only. No later change is
// missed, however late Await is called.
func Start() (*Watch, error) {
	fail := func(err error) (*Watch, error) {
		return nil, fmt.Errorf("watching what is mounted read-only: %w", err)
	}
	fd, err := unix.Open("/proc/self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fail(&os.PathError{Op: "open", Path: "/proc/self/mountinfo", Err: err})
	}
	w := &Watch{info: fd, moves: -1, pause: -1, buf: make([]byte, 64<<10)}
	if w.kept, err = w.readOnly(); err != nil {
		unix.Close(fd)
		return fail(err)
	}
	if err := w.holdFiles(); err != nil {
		unix.Close(fd)
		return fail(err)
	}
	if err := w.watchMoves(); err != nil {
		// No place may be left: the host's own programs share the number of
		// watches that a user may have.
		w.pause = lookPause
	}
	return w, nil
}

// holdFiles remembers what is in the files of git's.
func (w *Watch) holdFiles() error {
	for _, point := range w.kept {
		if !obeyed.IsGitFile(point) {
			continue
		}
		f, err := os.Open(point)
		if errors.Is(err, fs.ErrPermission) {
			continue // and who runs the command here cannot write to it
		}
		if err != nil {
			return err
		}
		held := heldFile{point: point, file: f}
		info, err := f.Stat()
		if err == nil && info.Mode().IsRegular() {
			held.sum, err = held.read()
		}
		if err != nil || !info.Mode().IsRegular() {
			f.Close()
			if err != nil {
				return err
			}
			continue
		}
		w.files = append(w.files, held)
	}
	return nil
}

// maxGitFile is how much of a file of git's is looked at, in bytes.
const maxGitFile = 16 << 20

func (h heldFile) read() (sum [sha256.Size]byte, err error) {
	hash := sha256.New()
	_, err = io.Copy(hash, io.NewSectionReader(h.file, 0, maxGitFile))
	return [sha256.Size]byte(hash.Sum(nil)), err
}

// written lists the files whose content has changed.
func (w *Watch) written() (points []string, err error) {
	for _, h := range w.files {
		sum, err := h.read()
		if err != nil {
			return nil, &os.PathError{Op: "read", Path: h.point, Err: err}
		}
		if sum != h.sum {
			points = append(points, h.point)
		}
	}
	slices.Sort(points)
	return points, nil
}

// watchMoves asks to be told of renames in each folder that leads to a mount, and
// of changes to the files of git's.
func (w *Watch) watchMoves() (err error) {
	if w.moves, err = unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK); err != nil {
		w.moves = -1
		return err
	}
	for _, h := range w.files {
		if _, err := unix.InotifyAddWatch(w.moves, h.point, unix.IN_MODIFY|unix.IN_ATTRIB); err != nil {
			return err
		}
	}
	for _, point := range w.kept {
		for dir := path.Dir(point); ; dir = path.Dir(dir) {
			if _, err := unix.InotifyAddWatch(w.moves, dir, unix.IN_MOVED_FROM|unix.IN_ONLYDIR); err != nil {
				return err
			}
			if dir == "/" {
				break
			}
		}
	}
	return nil
}

// readOnly lists the read-only mounts by their number. Those of the kernel's own
// file systems, with which engines hide parts of it, have mount points that
// cannot be removed.
func (w *Watch) readOnly() (map[string]string, error) {
	if _, err := unix.Seek(w.info, 0, 0); err != nil {
		return nil, os.NewSyscallError("lseek", err)
	}
	used := 0
	for {
		n, err := unix.Read(w.info, w.buf[used:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, os.NewSyscallError("read", err)
		}
		if n == 0 {
			break
		}
		if used += n; used == len(w.buf) {
			w.buf = append(w.buf, make([]byte, used)...)
		}
	}
	points := map[string]string{}
	for m := range mountinfo.Parse(string(w.buf[:used])) {
		if protects(m) && !strings.HasPrefix(m.Point, "/proc/") && !strings.HasPrefix(m.Point, "/sys/") {
			points[m.ID] = m.Point
		}
	}
	return points, nil
}

// protects reports whether something of the host's is behind a mount that must
// not be written to here: it is read-only, or the agent's own git directory.
func protects(m mountinfo.Mount) bool { return m.ReadOnly || obeyed.IsGitName(path.Base(m.Point)) }

// gone lists the mount points that have lost their mount. Mounts that change
// while the kernel lists them may be left out, so it looks twice.
func (w *Watch) gone() (points []string, err error) {
	for range 2 {
		now, err := w.readOnly()
		if err != nil {
			return nil, err
		}
		points = nil
		for id, point := range w.kept {
			if at, stands := now[id]; !stands || at != point && !samePlace(at, point) {
				points = append(points, point)
			}
		}
		if len(points) == 0 {
			return nil, nil
		}
	}
	slices.Sort(points)
	return points, nil
}

// samePlace reports whether two spellings are one place to the kernel, which names
// a mount by the one that was looked up last. A mount that was renamed is at one
// of the two alone.
func samePlace(at, point string) bool {
	if !strings.EqualFold(at, point) {
		return false
	}
	one, err := os.Lstat(at)
	other, otherErr := os.Lstat(point)
	return err == nil && otherErr == nil && os.SameFile(one, other)
}

// Await returns when a mount has gone or a file of git's has changed, with an
// error that says which.
func (w *Watch) Await() error {
	events := make([]byte, 16<<10)
	for {
		// In a folder that is shared with another kernel, only who asks for a
		// name hears that something else is there now.
		for _, h := range w.files {
			var st unix.Stat_t
			_ = unix.Lstat(h.point, &st)
		}
		points, err := w.gone()
		if err != nil {
			return fmt.Errorf("watching what is mounted read-only: %w", err)
		}
		if len(points) > 0 {
			return lostMounts(points)
		}
		if points, err = w.written(); err != nil {
			return fmt.Errorf("watching what git obeys: %w", err)
		}
		if len(points) > 0 {
			return changedFiles(points)
		}
		// One that is -1 is passed over. Errors are always told of.
		fds := []unix.PollFd{{Fd: int32(w.info), Events: unix.POLLPRI}, {Fd: int32(w.moves), Events: unix.POLLIN}}
		timeout := -1
		if w.pause >= 0 {
			timeout = int(w.pause.Milliseconds())
		}
		if _, err := unix.Poll(fds, timeout); err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("watching what is mounted read-only: %w", os.NewSyscallError("poll", err))
		}
		for fds[1].Revents != 0 { // all that wait, for one look
			if n, err := unix.Read(w.moves, events); err != nil || n < len(events)/2 {
				break
			}
		}
	}
}

func lostMounts(points []string) error {
	err := fmt.Errorf("%s: removed, renamed or replaced from outside while it was protected here; everything in this container was "+
		"ended, because the agent could have written to the next file in that place", few(points))
	return diag.WithHint(err, "look at these paths on the host, before git, an editor or a prompt there obeys them, and start again; "+
		"in a dev container 'git config', 'git remote add', 'git push -u', 'git checkout' and 'git clean' on the host do this")
}

func changedFiles(points []string) error {
	err := fmt.Errorf("%s: written to while it was protected here, from outside or by another name that the file has, as in other "+
		"letters where the host does not tell upper from lower case; everything in this container was ended", few(points))
	return diag.WithHint(err, "look at these files on the host, before git or a prompt there obeys them, and start again; git itself "+
		"never writes to them in place")
}

// few names some of the points.
func few(points []string) string {
	const shown = 8
	what := strings.Join(points[:min(len(points), shown)], ", ")
	if n := len(points) - shown; n > 0 {
		what += fmt.Sprintf(" and %d more", n)
	}
	return what
}
