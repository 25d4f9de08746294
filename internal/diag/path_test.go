package diag

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestWithoutPath(t *testing.T) {
	_, err := os.Open(filepath.Join(t.TempDir(), "gone"))
	if got := WithoutPath(fmt.Errorf("reading: %w", err)); !errors.Is(got, os.ErrNotExist) || got.Error() != errors.Unwrap(err).Error() {
		t.Errorf("got %q of %q", got, err)
	}
	if other := errors.New("other"); WithoutPath(other) != other || WithoutPath(nil) != nil {
		t.Error("another error changes")
	}
}
