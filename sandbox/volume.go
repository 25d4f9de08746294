package sandbox

import (
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

// takeFolder has read take in a folder of a container, running or not, as an archive.
func takeFolder(ctx context.Context, e *engine.Engine, id, folder string, read func(io.Reader) error) error {
	archive, err := e.OpenTar(ctx, id, folder)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return err
	case err != nil:
		return ungivenError{err}
	}
	defer archive.Close()
	in := &givenReader{Reader: archive}
	if err := read(in); err != nil && in.failed {
		return ungivenError{err}
	} else if err != nil {
		return err
	}
	return nil
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
