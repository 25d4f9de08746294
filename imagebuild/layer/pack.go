package layer

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/org/claude-sandbox/imagebuild/artifact"
	"github.com/org/claude-sandbox/imagebuild/store"
)

// packed is what is known of a compressed layer.
type packed struct {
	Digest, DiffID v1.Hash
	Size           int64
}

// Pack returns the layer that write writes as an uncompressed tar. It is
// compressed into the store, unless the store knows key: that names all that
// the layer is made of.
func Pack(s *store.Store, key string, write func(io.Writer) error) (artifact.Layer, error) {
	var p packed
	key = "layer " + Format + " " + key
	make := func() error {
		r, w := io.Pipe()
		diff := sha256.New()
		go func() { w.CloseWithError(write(io.MultiWriter(w, diff))) }()
		defer r.Close()
		h, size, err := s.Put(func(out io.Writer) error { return Gzip(out, r) }, nil)
		p = packed{h, v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(diff.Sum(nil))}, size}
		return err
	}
	err := s.Know(key, &p, make)
	if err == nil && !s.Has(p.Digest, p.Size) { // somebody emptied half of the cache
		known := p
		if err = make(); err == nil && p != known {
			err = fmt.Errorf("packing a layer: %s became %s", known.Digest, p.Digest)
		}
	}
	if err != nil {
		return artifact.Layer{}, err
	}
	return artifact.Layer{
		Blob: artifact.Blob{
			Descriptor: v1.Descriptor{MediaType: types.OCILayer, Digest: p.Digest, Size: p.Size},
			Open:       s.Opener(p.Digest),
		},
		DiffID: p.DiffID,
	}, nil
}
