// Package store keeps blobs and what was found out about them in the user's
// cache folder, so that a second build reads, compresses and checks nothing
// again. Everything in it can be made again; deleting the folder costs time alone.
//
//	DIR/sha256/HEX      a blob, named by its digest
//	DIR/known/HEX.json  a fact, named by the digest of its key
package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/org/claude-sandbox/internal/atomicfile"
	"github.com/org/claude-sandbox/internal/diag"
)

// Store is a folder of blobs. It is safe for concurrent use, also by several
// processes.
type Store struct{ dir string }

// Open returns the store in dir and makes the folder if it is missing.
func Open(dir string) (*Store, error) {
	for _, sub := range []string{"sha256", "known"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, diag.WithHint(fmt.Errorf("opening the image cache: %w", err),
				"set XDG_CACHE_HOME to a folder that you may write to")
		}
	}
	return &Store{dir}, nil
}

func (s *Store) file(h v1.Hash) string { return filepath.Join(s.dir, "sha256", h.Hex) }

// Has reports whether the blob is here in full.
func (s *Store) Has(h v1.Hash, size int64) bool {
	info, err := os.Stat(s.file(h))
	return err == nil && info.Size() == size
}

// Opener returns a function that reads the blob h.
func (s *Store) Opener(h v1.Hash) func(context.Context) (io.ReadCloser, error) {
	return func(context.Context) (io.ReadCloser, error) {
		f, err := os.Open(s.file(h))
		if err != nil {
			return nil, fmt.Errorf("reading the image cache: %w", err)
		}
		return f, nil
	}
}

// Put stores what write writes and returns its digest and size. Nothing is
// stored when write or check fails; check may be nil.
func (s *Store) Put(write func(io.Writer) error, check func(v1.Hash, int64) error) (v1.Hash, int64, error) {
	f, err := os.CreateTemp(filepath.Join(s.dir, "sha256"), ".new-*")
	if err != nil {
		return v1.Hash{}, 0, fmt.Errorf("writing the image cache: %w", err)
	}
	defer os.Remove(f.Name())
	sum := sha256.New()
	count := &counter{}
	err = write(io.MultiWriter(f, sum, count))
	if closeErr := f.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("writing the image cache: %w", closeErr)
	}
	h := v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(sum.Sum(nil))}
	if err == nil && check != nil {
		err = check(h, count.n)
	}
	if err != nil {
		return v1.Hash{}, 0, err
	}
	if err := os.Rename(f.Name(), s.file(h)); err != nil {
		return v1.Hash{}, 0, fmt.Errorf("writing the image cache: %w", err)
	}
	return h, count.n, nil
}

// Know fills v with the fact called key. The first time find must fill it in;
// afterwards it is read from the folder. A key must name all that the fact
// depends on: digests of content and a version of the code that derives it.
func (s *Store) Know(key string, v any, find func() error) error {
	sum := sha256.Sum256([]byte(key))
	file := filepath.Join(s.dir, "known", hex.EncodeToString(sum[:])+".json")
	if data, err := os.ReadFile(file); err == nil && json.Unmarshal(data, v) == nil {
		return nil
	}
	if err := find(); err != nil {
		return err
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("writing the image cache: %w", err)
	}
	if err := atomicfile.WriteBytes(file, 0o600, data); err != nil {
		return fmt.Errorf("writing the image cache: %w", err)
	}
	return nil
}

type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}
