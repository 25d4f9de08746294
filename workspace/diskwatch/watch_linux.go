package diskwatch

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/internal/mountinfo"
)

// ErrFull reports that the limit is reached.
var ErrFull = errors.New("the limit of disk is reached")

// pause is the time between two looks at how full the disks are.
const pause = time.Second

// Watch is a limit in force.
type Watch struct {
	limit   int64
	begin   time.Time
	folders []string         // that can be written, on disks
	disks   map[uint64]*disk // by their device
	// programs is the pattern of their folders of descriptors.
	programs string
	spare    int64 // bytes that the disks may grow by before the next count
}

// disk is a file system.
type disk struct {
	folder string // on it
	used   int64  // bytes in use at the last count, or fewer
}

// Start remembers how full the disks are. limit is in bytes.
func Start(limit int64) (*Watch, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("looking for what can be written: %w", err)
	}
	w := &Watch{limit: limit, spare: limit, disks: map[uint64]*disk{}, programs: "/proc/[0-9]*/fd"}
	for m := range mountinfo.Parse(string(text)) {
		if !m.ReadOnly {
			w.add(m.Point)
		}
	}
	// The kernel's time of files may be a tick behind ours.
	w.begin = time.Now().Add(-10 * time.Millisecond)
	return w, nil
}

// add watches a folder that lies on a disk.
func (w *Watch) add(folder string) {
	var stat unix.Stat_t
	var system unix.Statfs_t
	if unix.Stat(folder, &stat) != nil || stat.Mode&unix.S_IFMT != unix.S_IFDIR || unix.Statfs(folder, &system) != nil {
		return
	}
	switch int64(system.Type) {
	case unix.TMPFS_MAGIC, unix.RAMFS_MAGIC, unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.DEVPTS_SUPER_MAGIC, mqueueMagic,
		unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC:
		return
	}
	if system.Flags&unix.ST_RDONLY != 0 {
		return
	}
	w.folders = append(w.folders, folder)
	if w.disks[stat.Dev] == nil {
		w.disks[stat.Dev] = &disk{folder, inUse(system)}
	}
}

const mqueueMagic = 0x19800202 // MQUEUE_MAGIC

// inUse is how many bytes of a file system are in use.
func inUse(s unix.Statfs_t) int64 { return int64(s.Blocks-s.Bfree) * s.Bsize }

// Await returns ErrFull when the limit is reached.
func (w *Watch) Await() error {
	for {
		begin := time.Now()
		if w.full() {
			return ErrFull
		}
		time.Sleep(max(pause, 10*time.Since(begin)))
	}
}

// full looks at the disks, and counts when they have grown by more than what the last
// count left of the limit: others fill and empty them, too.
func (w *Watch) full() bool {
	var growth int64
	now := map[*disk]int64{}
	for _, d := range w.disks {
		var system unix.Statfs_t
		if unix.Statfs(d.folder, &system) != nil {
			continue
		}
		now[d] = inUse(system)
		d.used = min(d.used, now[d])
		growth += now[d] - d.used
	}
	if growth <= w.spare {
		return false
	}
	found, hidden := w.count()
	if found > w.limit || hidden {
		return true
	}
	w.spare = w.limit - found
	for d, used := range now {
		d.used = used
	}
	return false
}

// changed reports whether a file changed since the start.
func (w *Watch) changed(info fs.FileInfo) bool {
	return !time.Unix(info.Sys().(*syscall.Stat_t).Ctim.Unix()).Before(w.begin)
}

// count adds up the files that changed since the start, in bytes on disk. hidden says
// that something in a folder among them cannot be looked at.
func (w *Watch) count() (bytes int64, hidden bool) {
	seen := map[[2]uint64]bool{}
	for _, folder := range w.folders {
		_ = filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
			info, infoErr := os.Lstat(name)
			if infoErr != nil { // it is gone, or behind a folder that cannot be entered, or a path that is too long
				parent, err := os.Lstat(filepath.Dir(name))
				hidden = hidden || !errors.Is(infoErr, fs.ErrNotExist) && err == nil && w.changed(parent)
				return nil
			}
			stat, changed := info.Sys().(*syscall.Stat_t), w.changed(info)
			if err != nil { // a folder that cannot be listed
				hidden = hidden || changed
				return nil
			}
			if id := [2]uint64{stat.Dev, stat.Ino}; changed && !seen[id] {
				seen[id] = true
				bytes += stat.Blocks * 512
			}
			if entry.IsDir() && w.disks[stat.Dev] == nil { // another file system
				return fs.SkipDir
			}
			return nil
		})
	}
	left := maxOpen
	for info := range openFiles(w.programs, &left) {
		stat := info.Sys().(*syscall.Stat_t)
		if id := [2]uint64{stat.Dev, stat.Ino}; w.disks[stat.Dev] != nil && stat.Nlink == 0 && w.changed(info) && !seen[id] {
			seen[id] = true
			bytes += stat.Blocks * 512
		}
	}
	return bytes, hidden || left < 0
}

// maxOpen bounds the descriptors of programs that are looked at. More of them count as
// something that hides.
const maxOpen = 200_000

// openFiles are the regular files that programs hold open, whose folders of descriptors the
// pattern names, as far as the kernel shows them: a program that made itself undumpable, as Claude Code's is, hides its
// own. left is how many descriptors may be looked at; below 0 there were more.
func openFiles(pattern string, left *int) iter.Seq[fs.FileInfo] {
	return func(yield func(fs.FileInfo) bool) {
		programs, _ := filepath.Glob(pattern) // a good one
		for _, folder := range programs {
			f, err := os.Open(folder)
			if err != nil {
				continue
			}
			names, _ := f.Readdirnames(max(*left, 0) + 1)
			f.Close()
			*left -= len(names)
			for _, name := range names {
				if info, err := os.Stat(filepath.Join(folder, name)); err == nil && info.Mode().IsRegular() && !yield(info) {
					return
				}
			}
			if *left < 0 {
				return
			}
		}
	}
}
