package engine

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

// ErrNotFound reports an image, container or path that the engine does not have.
var ErrNotFound = errors.New("not found")

// ErrConflict reports what the state of a container forbids, as a further process in one
// that has ended.
var ErrConflict = errors.New("conflict")

// wrap names the operation and object of a failed call and gives the failures
// that callers branch on their sentinel.
func wrap(err error, operation, object string) error {
	if err == nil {
		return nil
	}
	switch {
	case errdefs.IsNotFound(err):
		return &opError{ErrNotFound, fmt.Errorf("%s %s: %w", operation, object, err)}
	case errdefs.IsConflict(err):
		return &opError{ErrConflict, fmt.Errorf("%s %s: %w", operation, object, err)}
	case client.IsErrConnectionFailed(err):
		return &opError{ErrUnavailable, fmt.Errorf("%s %s: %w", operation, object, err)}
	}
	return fmt.Errorf("%s %s: %w", operation, object, withoutAddress(err))
}

// withoutAddress takes away the request's URL, which has the path of the engine's
// socket as a host name and does not help.
func withoutAddress(err error) error {
	var failed *url.Error
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

// opError is the engine's own message that also is one of our sentinels.
type opError struct {
	kind error
	err  error
}

func (e *opError) Error() string   { return e.err.Error() }
func (e *opError) Unwrap() []error { return []error{e.kind, e.err} }
