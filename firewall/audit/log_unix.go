//go:build unix

package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// maxLogBytes is the size at which the log starts a new file. The log usually
// lies on a tmpfs, where an agent that asks for names in a loop would otherwise
// fill the memory. 64 MiB holds some 300,000 records.
const maxLogBytes = 64 << 20

// Log appends records to a file, one JSON object per line. It is safe for
// concurrent use. A line is written by one write(2), so that a reader never
// sees two of them mixed and at worst a cut last line.
type Log struct {
	path string
	max  int64
	now  func() time.Time

	mu      sync.Mutex
	file    *os.File // nil while none could be opened
	size    int64
	cut     bool // the last line has no end: the disk was full
	rotated int  // how often a new file was begun
}

// OpenLog opens the log at path for appending and creates it, with mode 0644,
// and its folder, with mode 0755, when they are missing. The caller's umask
// does not matter. It refuses a path whose last element is a symbolic link,
// through which another user could choose the file that root writes to.
func OpenLog(path string) (*Log, error) {
	l := &Log{path: path, max: maxLogBytes, now: time.Now}
	dir := filepath.Dir(path)
	if _, err := os.Stat(dir); os.IsNotExist(err) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("creating the audit log's folder: %w", err)
		}
		if err := os.Chmod(dir, 0o755); err != nil {
			return nil, fmt.Errorf("creating the audit log's folder: %w", err)
		}
	}
	if err := l.open(); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *Log) open() error {
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW, 0o644)
	if err != nil {
		return fmt.Errorf("opening the audit log: %w", err)
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		err = f.Chmod(0o644)
	}
	if err != nil {
		f.Close()
		return fmt.Errorf("opening the audit log: %w", err)
	}
	l.file, l.size, l.cut = f, info.Size(), info.Size() > 0 // one before us may have died within a line
	return nil
}

// Record appends one record; a zero Time becomes the present. A file of 64 MiB
// is renamed to PATH.1, replacing an older one, and a new file begun. When an
// older one was replaced, or the full one is gone, the new file begins by saying
// so: an agent that floods the log must not get rid of its refusals without a
// trace.
func (l *Log) Record(r Record) error {
	if r.Time.IsZero() {
		r.Time = l.now().UTC()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	line, err := lineOf(r)
	if err != nil {
		return err
	}
	if l.size > 0 && l.size+int64(len(line)) > l.max {
		if err := l.rotate(); err != nil {
			return err
		}
	}
	return l.write(line)
}

// write appends a line. If a line did not fit, its beginning may stay; the next
// one does not become a part of it.
func (l *Log) write(line []byte) error {
	if l.cut {
		line = append([]byte{'\n'}, line...)
	}
	n, err := l.file.Write(line)
	l.size += int64(n)
	if n > 0 {
		l.cut = line[n-1] != '\n'
	}
	if err != nil {
		return fmt.Errorf("writing the audit log: %w", err)
	}
	return nil
}

func (l *Log) rotate() error {
	gone := false
	if l.file != nil {
		err := os.Rename(l.path, l.path+RotatedSuffix)
		if gone = errors.Is(err, fs.ErrNotExist); err != nil && !gone {
			return fmt.Errorf("starting a new audit log: %w", err)
		}
		l.file.Close()
		l.file = nil // until there is a new one; the next record tries again
	}
	if err := l.open(); err != nil {
		return err
	}
	if l.rotated++; l.rotated == 1 && !gone {
		return nil
	}
	line, err := lineOf(lost(l.now().UTC()))
	if err != nil {
		return err
	}
	return l.write(line)
}

// lineOf is a record as a line of the log.
func lineOf(r Record) ([]byte, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encoding an audit record: %w", err)
	}
	return append(EscapeJSON(text), '\n'), nil
}

// Close closes the file. Record fails afterwards.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}
