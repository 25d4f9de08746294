package filelock

import (
	"context"
	"os"
	"time"
)

// Wait opens the file name, which it makes with mode 0600, and holds it as Try does, as
// soon as nobody else does. It errs when ctx ends before. Closing the file ends the hold.
func Wait(ctx context.Context, name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		held, err := Try(f)
		if held {
			return f, nil
		}
		if err == nil {
			select {
			case <-time.After(10 * time.Millisecond):
				continue
			case <-ctx.Done():
				err = context.Cause(ctx)
			}
		}
		f.Close()
		return nil, err
	}
}
