package lock

import (
	"errors"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/org/claude-sandbox/internal/diag"
)

// ErrUnpinned reports an image whose digest was never looked up.
var ErrUnpinned = errors.New("has no digest for")

// Pin is an image with the digest that it must have.
type Pin struct {
	Reference string
	Digest    v1.Hash
}

// Pins returns the images of the lock with their digests: all of them, or with a
// reference those that it means. None is no error; one without a digest is
// ErrUnpinned.
func (l *Lock) Pins(reference string) (pins []Pin, err error) {
	for _, i := range l.Images {
		if reference != "" && !sameImage(i.Reference, reference) {
			continue
		}
		if i.Digest == "" {
			return nil, diag.WithHint(fmt.Errorf("the lock %w %s", ErrUnpinned, i.Reference),
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

// sameImage reports whether two references mean the same: "debian" and
// "docker.io/library/debian:latest" do.
func sameImage(a, b string) bool {
	x, errX := name.ParseReference(a)
	y, errY := name.ParseReference(b)
	return errX == nil && errY == nil && x.Name() == y.Name()
}
