package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// followPause is how often Tail looks for more.
const followPause = 200 * time.Millisecond

// Tail calls show with every line of the log at path, without its end: those of
// the full file PATH.1 first. With follow it goes on with what is written
// later, also to the files that follow, until ctx is done. The error is that of
// show, or of reading.
func Tail(ctx context.Context, path string, follow bool, show func(line []byte) error) error {
	if old, err := os.Open(path + RotatedSuffix); err == nil {
		before := tail{file: old}
		err := before.lines(show)
		old.Close()
		if err != nil {
			return err
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("reading the audit log: %w", err)
	}
	t := tail{file: f}
	defer func() { t.file.Close() }()
	for {
		if err := t.lines(show); err != nil || !follow {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followPause):
		}
		next, err := t.successor(path)
		if err != nil {
			return err
		}
		if next == nil {
			continue
		}
		// Lines that were written between the last look and the rotation.
		if err := t.lines(show); err != nil {
			next.Close()
			return err
		}
		t.file.Close()
		t = tail{file: next}
	}
}

// tail reads a log that is still being written.
type tail struct {
	file *os.File
	cut  []byte // the beginning of a line whose end is not written yet
}

// lines calls show with every whole line since the last call, without its end.
func (t *tail) lines(show func([]byte) error) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := t.file.Read(buf)
		t.cut = append(t.cut, buf[:n]...)
		for {
			line, rest, found := bytes.Cut(t.cut, []byte("\n"))
			if !found {
				break
			}
			if err := show(line); err != nil {
				return err
			}
			t.cut = rest
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the audit log: %w", err)
		}
	}
}

// successor opens the file at path when it is another one; nil when it is not.
func (t *tail) successor(path string) (*os.File, error) {
	now, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // between the renaming and the new file
	}
	if err != nil {
		return nil, fmt.Errorf("following the audit log: %w", err)
	}
	then, err := t.file.Stat()
	if err != nil {
		return nil, fmt.Errorf("following the audit log: %w", err)
	}
	if os.SameFile(now, then) {
		return nil, nil
	}
	next, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("following the audit log: %w", err)
	}
	return next, nil
}
