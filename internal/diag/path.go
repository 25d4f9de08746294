package diag

import (
	"errors"
	"io/fs"
)

// WithoutPath returns the reason of an error of the file system, without the name of the
// file, for messages that name it as people do.
func WithoutPath(err error) error {
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		return failed.Err
	}
	return err
}
