package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/filelock"
	"github.com/org/claude-sandbox/session"
)

// ErrRefused says that a file cannot be a journal, because the agent could change it or
// somebody could have made it lead elsewhere.
var ErrRefused = errors.New("refused")

// file takes whole lines, is renamed when it is full, and is done after its first failure.
type file struct {
	max  int64 // bytes
	old  int   // files that are kept: name.1, the newest, to name.old
	name string
	warn func(string)

	mu    sync.Mutex
	root  *os.Root     // of its folder; nil = begin comes later, or it is done
	f     *os.File     // the last one opened
	early bytes.Buffer // until begin
	done  bool
}

// openFile opens the file of --log. name is as the user wrote it. The first of the agent's
// folders is the project.
func openFile(name string, folders []string, warn func(string)) (*file, error) {
	root, err := session.OpenFolder(name, folders[0])
	if err != nil {
		return nil, err
	}
	f := &file{max: 10 << 20, old: 3, root: root, name: filepath.Base(name), warn: warn}
	inside := slices.ContainsFunc(folders, func(folder string) bool {
		_, written := session.InProject(name, folder)
		_, resolved := session.InProject(filepath.Join(root.Name(), f.name), folder)
		return written || resolved
	})
	switch info, statErr := root.Lstat(f.name); {
	case inside:
		err = fmt.Errorf("%w: %s is in the project, or in a folder of the run's, where the agent could change it", ErrRefused, name)
		err = diag.WithHint(err, "name a file elsewhere, such as ~/sbx-devc.log")
	case statErr == nil && info.Mode()&os.ModeSymlink != 0:
		err = fmt.Errorf("%w: %s is a symbolic link", ErrRefused, name)
		err = diag.WithHint(err, "name the file itself")
	case statErr == nil && !info.Mode().IsRegular():
		err = fmt.Errorf("%w: %s is no regular file", ErrRefused, name)
	default:
		if err = f.open(); err == nil {
			err = f.endLine()
		}
	}
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	return f, nil
}

// maxOpens bounds how often a file is opened again that another run renames meanwhile.
const maxOpens = 100

// open opens the file by its name.
func (w *file) open() error {
	for range maxOpens {
		if w.f != nil {
			_ = w.f.Close()
		}
		var err error
		if w.f, err = w.root.OpenFile(w.name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
			return err
		}
		opened, err := w.f.Stat()
		if err != nil {
			return err
		}
		now, err := w.root.Lstat(w.name)
		switch {
		case err == nil && !now.Mode().IsRegular():
			return fmt.Errorf("%w: %s is no regular file", ErrRefused, w.name)
		case err == nil && os.SameFile(now, opened):
			return nil
		}
	}
	return fmt.Errorf("%s is renamed all the time", w.name)
}

// endLine ends a line that an earlier run left open, as on a full disk.
func (w *file) endLine() error {
	opened, err := w.f.Stat()
	if err != nil || opened.Size() == 0 {
		return err
	}
	last := make([]byte, 1)
	if _, err = w.f.ReadAt(last, opened.Size()-1); err == nil && last[0] != '\n' {
		_, err = w.f.WriteString("\n")
	}
	return err
}

// begin gives the file its folder, which err says the lack of, and writes what came before.
func (w *file) begin(root *os.Root, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.root = root; err == nil {
		err = w.open()
	}
	if err == nil {
		_, err = w.early.WriteTo(w.f)
	}
	w.early = bytes.Buffer{}
	w.settle(err)
}

// Write takes one record. It never fails: a failure is told.
func (w *file) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.done:
	case w.root == nil:
		if int64(w.early.Len()+len(line)) <= w.max {
			w.early.Write(line)
		}
	default:
		w.settle(w.write(line))
	}
	return len(line), nil
}

func (w *file) write(line []byte) error {
	opened, err := w.f.Stat()
	if err != nil {
		return err
	}
	// Another run may have renamed the file that they share.
	if !w.named(opened) {
		if err := w.open(); err != nil {
			return err
		}
	} else if opened.Size() > 0 && opened.Size()+int64(len(line)) > w.max {
		if err := w.rotate(); err != nil {
			return err
		}
	}
	n, err := w.f.Write(line)
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	return err
}

// named reports whether the file that was opened still has the name.
func (w *file) named(opened os.FileInfo) bool {
	now, err := w.root.Lstat(w.name)
	return err == nil && os.SameFile(now, opened)
}

// rotate renames the file and opens a new one, unless another run does.
func (w *file) rotate() error {
	if held, err := filelock.Try(w.f); err != nil || !held {
		return err
	}
	if opened, err := w.f.Stat(); err != nil || !w.named(opened) { // it did, before we held the file
		return errors.Join(err, w.open())
	}
	for i := w.old - 1; i >= 0; i-- {
		from := w.name
		if i > 0 {
			from = fmt.Sprintf("%s.%d", w.name, i)
		}
		err := w.root.Rename(from, fmt.Sprintf("%s.%d", w.name, i+1))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return w.open()
}

// settle tells of the first failure, after which nothing is written.
func (w *file) settle(err error) {
	if err == nil || w.done {
		return
	}
	w.end()
	if w.warn != nil {
		w.warn(fmt.Sprintf("warning: %s cannot be written, and ends here: %v", w.name, err))
	}
}

func (w *file) end() {
	w.done = true
	if w.f != nil {
		_ = w.f.Close()
	}
	if w.root != nil {
		_ = w.root.Close()
	}
}

func (w *file) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.done {
		w.end()
	}
}
