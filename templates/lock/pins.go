package lock

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
)

// errUnpinned reports an image whose digest was never looked up.
var errUnpinned = errors.New("has no digest for")

// Pin is an image with the digest that it must have.
type Pin struct {
	Reference string
	Digest    v1.Hash
}

// pins returns the images of the lock with their digests: all of them, or with a
// reference those that it means. None is no error; one without a digest is
// errUnpinned.
func (l *Lock) pins(reference string) (pins []Pin, err error) {
	for _, i := range l.Images {
		if reference != "" && !sameImage(i.Reference, reference) {
			continue
		}
		if i.Digest == "" {
			return nil, diag.WithHint(fmt.Errorf("the lock %w %s", errUnpinned, i.Reference),
				"look it up with 'sbx-devc lock --update', and commit the lock")
		}
		pin := Pin{Reference: i.Reference}
		if pin.Digest, err = v1.NewHash(i.Digest); err != nil {
			return nil, fmt.Errorf("the digest of %s: %w", i.Reference, err)
		}
		pins = append(pins, pin)
	}
	return pins, nil
}

// Choose returns the images that a pull takes of the lock text, which is in file: those of
// the reference named; "" = all. moving says that the lock has no digest for it, and that it
// is taken as its tag leads, which insist refuses. Errors name the lock's file, and carry an
// exit code.
func Choose(file string, text []byte, named string, insist bool) (pins []Pin, moving bool, err error) {
	l, err := Parse(text)
	if err != nil {
		if filepath.ToSlash(file) != Path { // which the error begins with
			err = fmt.Errorf("%s: %w", file, err)
		}
		return nil, false, exitcode.With(exitcode.Config, err)
	}
	pins, err = l.pins(named)
	switch {
	case errors.Is(err, errUnpinned) && named != "" && !insist:
	case err != nil:
		return nil, false, exitcode.With(exitcode.Config, fmt.Errorf("%s: %w", file, err))
	case len(pins) > 0:
		return pins, false, nil
	case named == "":
		return nil, false, exitcode.With(exitcode.NoInput, diag.WithHint(fmt.Errorf("%s names no image", file), "name one image"))
	case insist:
		return nil, false, exitcode.With(exitcode.Config, diag.WithHint(fmt.Errorf("%s does not name %s", file, named),
			"'sbx-devc lock' shows what it names"))
	}
	return []Pin{{Reference: named}}, true, nil
}

// sameImage reports whether two references mean the same: "debian" and
// "docker.io/library/debian:latest" do.
func sameImage(a, b string) bool {
	x, errX := name.ParseReference(a)
	y, errY := name.ParseReference(b)
	return errX == nil && errY == nil && x.Name() == y.Name()
}
