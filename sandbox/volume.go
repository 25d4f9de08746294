package sandbox

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/org/claude-sandbox/internal/engine"
)

// ungivenError is a failure of the engine to give what a container holds, as when it is restarted: that is
// there still, whatever the agent left in it.
type ungivenError struct{ error }

func (e ungivenError) Unwrap() error { return e.error }

// isUngiven reports whether an error is the engine's.
func isUngiven(err error) bool {
	return errors.As(err, new(ungivenError))
}

// canBeTakenLater reports whether what a container holds is not the reason of a failure to take it: the engine is, or this
// machine, as with a full disk.
func canBeTakenLater(err error) bool { return isUngiven(err) || IsUnwritten(err) }

// leaveForLater has the firewall's container stay if what it holds can be taken later.
func (r *run) leaveForLater(failure error) {
	if r.live != nil && canBeTakenLater(failure) {
		r.notices.untaken = cmp.Or(r.notices.untaken, failure)
	}
}

// takeFolder has read take in a folder of a container, running or not, as an archive.
func takeFolder(ctx context.Context, e *engine.Engine, id, folder string, read func(io.Reader) error) error {
	archive, err := e.OpenTar(ctx, id, folder)
	if errors.Is(err, engine.ErrNotFound) {
		return err
	}
	in := &givenReader{Reader: archive, failed: err != nil}
	if err == nil {
		defer archive.Close()
		err = read(in)
	}
	if err != nil && in.failed {
		return ungivenError{err}
	}
	return err
}

// givenReader remembers that its source failed before its end.
type givenReader struct {
	io.Reader
	failed bool
}

func (r *givenReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.failed = r.failed || err != nil && err != io.EOF
	return n, err
}
