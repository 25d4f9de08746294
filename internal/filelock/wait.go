package filelock

import (
	"context"
	"errors"
	"os"
	"runtime"
	"time"
)

// Wait opens the file name, which it makes with mode 0600, and holds it as Try does, as
// soon as no other process does. It errs with the cause of ctx when ctx ends before. Closing the
// file ends the hold, and Remove leaves no file behind.
func Wait(ctx context.Context, name string) (*os.File, error) {
	for {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		held, err := Try(f)
		if held && HasName(f) {
			return f, nil
		}
		f.Close()
		if err != nil {
			return nil, err
		}
		if held {
			continue // its holder removed it meanwhile
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Remove ends the hold of a file, as Wait returned it, and removes the file. A process that waits for
// it gets a new one.
func Remove(f *os.File) error {
	if !HasName(f) {
		return Release(f)
	}
	if runtime.GOOS == "windows" { // removes no file that somebody has open
		return errors.Join(f.Close(), os.Remove(f.Name()))
	}
	return errors.Join(os.Remove(f.Name()), Release(f))
}

// HasName reports whether the name by which f was opened still leads to it: its holder may
// have removed it before we held it.
func HasName(f *os.File) bool {
	info, err := f.Stat()
	now, statErr := os.Lstat(f.Name())
	return err == nil && statErr == nil && os.SameFile(info, now)
}
