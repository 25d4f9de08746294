package registry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/org/claude-sandbox/imagebuild/artifact"
)

// ErrContent reports content that is not what its digest says. Reading it
// again would not help.
var ErrContent = errors.New("wrong content")

// Outcome says how a blob came to be in the registry.
type Outcome string

// The outcomes.
const (
	Exists   Outcome = "exists"
	Mounted  Outcome = "mounted"
	Uploaded Outcome = "uploaded"
)

// upload makes the registry have a blob that it was found not to have: by
// taking it from another repository, or by sending it. progress is told how many
// bytes of the present attempt were sent.
func (c *Client) upload(ctx context.Context, b artifact.Blob, progress func(sent int64)) (Outcome, error) {
	var outcome Outcome
	first := true
	err := c.try(ctx, "uploading "+b.What, func() error {
		progress(0)
		// A request that seems to have failed may have succeeded.
		if !first {
			found, err := c.hasBlob(ctx, b.Descriptor)
			if found && outcome == "" {
				outcome = Exists
			}
			if err != nil || found {
				return err
			}
		}
		first = false
		target, err := c.begin(ctx, b)
		if err != nil {
			return err
		}
		if target == nil {
			outcome = Mounted
			return nil
		}
		outcome = Uploaded
		return c.put(ctx, target, b, progress)
	})
	return outcome, err
}

// begin opens an upload and returns where it goes, or nil when the registry
// took the blob from another repository instead.
func (c *Client) begin(ctx context.Context, b artifact.Blob) (*url.URL, error) {
	query := ""
	if c.mountable(b) {
		from, _ := name.NewRepository(b.From) // mountable has parsed it
		query = "?" + url.Values{"mount": {b.Digest.String()}, "from": {from.RepositoryStr()}}.Encode()
	}
	resp, err := c.do(ctx, http.MethodPost, c.url("blobs/uploads/")+query, nil, nil, http.StatusCreated, http.StatusAccepted)
	if err != nil && query != "" && statusOf(err) != nil {
		// Some registries answer a mount that they do not allow with an error.
		resp, err = c.do(ctx, http.MethodPost, c.url("blobs/uploads/"), nil, nil, http.StatusCreated, http.StatusAccepted)
	}
	if err != nil {
		return nil, err
	}
	resp.Body.Close()
	if resp.StatusCode == http.StatusCreated {
		return nil, nil
	}
	return location(resp)
}

// mountable reports whether the blob is known to be in another repository of
// the same registry.
func (c *Client) mountable(b artifact.Blob) bool {
	from, err := name.NewRepository(b.From)
	return b.From != "" && err == nil && from.RegistryStr() == c.repo.RegistryStr() && from.RepositoryStr() != c.repo.RepositoryStr()
}

// put sends the content in one request.
func (c *Client) put(ctx context.Context, target *url.URL, b artifact.Blob, progress func(int64)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	source, err := b.Open(ctx)
	if err != nil {
		return &sourceError{err}
	}
	defer source.Close()
	watch := time.AfterFunc(c.o.Stall, func() { cancel(fmt.Errorf("no byte moved in %s", c.o.Stall)) })
	defer watch.Stop()
	body := &checkedReader{r: source, d: b.Descriptor, what: b.What, h: sha256.New(), moved: func(n int64) {
		watch.Reset(c.o.Stall)
		progress(n)
	}, over: watch.Stop}
	query := target.Query()
	query.Set("digest", b.Digest.String())
	target.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, target.String(), body)
	if err != nil {
		return err
	}
	req.ContentLength = b.Size
	if b.Size == 0 {
		req.Body = http.NoBody
	}
	req.Header.Set("Content-Type", "application/octet-stream")
	resp, err := c.send(req, http.StatusCreated, http.StatusOK, http.StatusNoContent)
	if failed := body.failure(nil); failed != nil {
		return failed // the cause of whatever the registry made of half a blob
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
			return cause
		}
		return err
	}
	resp.Body.Close()
	if got, err := v1.NewHash(resp.Header.Get("Docker-Content-Digest")); err == nil && got != b.Digest {
		return &garbled{fmt.Errorf("the registry stored %s, not %s", got, b.Digest)}
	}
	return nil
}

// checkedReader passes on content and fails at its end, or before, unless it is
// the descriptor's.
type checkedReader struct {
	r     io.Reader
	d     v1.Descriptor
	what  string
	h     hash.Hash
	n     int64
	moved func(int64)
	over  func() bool

	// The transport may still be reading when the registry has answered.
	mu  sync.Mutex
	err error
}

// failure notes the first error and returns it; nil notes nothing.
func (r *checkedReader) failure(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
	return r.err
}

func (r *checkedReader) Read(p []byte) (int, error) {
	if err := r.failure(nil); err != nil {
		return 0, err
	}
	n, err := r.r.Read(p)
	r.n += int64(n)
	r.h.Write(p[:n])
	r.moved(r.n)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return 0, r.failure(&sourceError{fmt.Errorf("reading %s: %w", r.what, err)})
	case r.n > r.d.Size, err != nil && r.n < r.d.Size:
		return 0, r.failure(&sourceError{fmt.Errorf("%s: %w: %d bytes or more, want %d", r.what, ErrContent, r.n, r.d.Size)})
	case r.n == r.d.Size:
		if got := hex.EncodeToString(r.h.Sum(nil)); got != r.d.Digest.Hex {
			return 0, r.failure(&sourceError{fmt.Errorf("%s: %w: sha256:%s, want %s", r.what, ErrContent, got, r.d.Digest)})
		}
		r.over() // sent in full: from here on the registry takes its time
	}
	return n, err
}

// blobReader reads a blob and takes a broken connection up again where it ended.
type blobReader struct {
	ctx    context.Context
	c      *Client
	d      v1.Descriptor
	body   io.ReadCloser
	cancel context.CancelCauseFunc
	watch  *time.Timer
	h      hash.Hash
	n      int64
	broken int
}

func (r *blobReader) open() error {
	if r.h == nil {
		r.h = sha256.New()
	}
	err := r.c.try(r.ctx, "reading a blob", func() error {
		ctx, cancel := context.WithCancelCause(r.ctx)
		header := map[string]string{"Accept-Encoding": "identity"}
		if r.n > 0 {
			header["Range"] = fmt.Sprintf("bytes=%d-", r.n)
		}
		watch := time.AfterFunc(r.c.o.Stall, func() { cancel(fmt.Errorf("no byte moved in %s", r.c.o.Stall)) })
		resp, err := r.c.do(ctx, http.MethodGet, r.c.url("blobs/%s", r.d.Digest), header, nil, http.StatusOK, http.StatusPartialContent)
		if err == nil && r.n > 0 && resp.StatusCode == http.StatusOK { // it does not know ranges
			_, err = io.CopyN(io.Discard, resp.Body, r.n)
		}
		if err != nil {
			watch.Stop()
			cancel(nil)
			return missing(err)
		}
		r.body, r.cancel, r.watch = resp.Body, cancel, watch
		return nil
	})
	return r.c.explain("reading a blob of", r.c.Name(), err)
}

func (r *blobReader) Read(p []byte) (int, error) {
	for {
		n, err := r.body.Read(p)
		r.watch.Reset(r.c.o.Stall)
		r.n += int64(n)
		r.h.Write(p[:n])
		if r.n > r.d.Size {
			return 0, fmt.Errorf("reading a blob of %s: %w: more than %d bytes", r.c.Name(), ErrContent, r.d.Size)
		}
		if r.n == r.d.Size {
			if got := hex.EncodeToString(r.h.Sum(nil)); got != r.d.Digest.Hex {
				return 0, fmt.Errorf("reading a blob of %s: %w: sha256:%s, want %s", r.c.Name(), ErrContent, got, r.d.Digest)
			}
			if n > 0 {
				return n, nil
			}
			return 0, io.EOF
		}
		if n > 0 {
			return n, nil
		}
		if err == nil {
			continue
		}
		if r.broken++; r.broken == attempts || r.ctx.Err() != nil {
			return 0, fmt.Errorf("reading a blob of %s: it ended after %d of %d bytes: %w", r.c.Name(), r.n, r.d.Size, err)
		}
		r.Close()
		if err := r.open(); err != nil {
			return 0, err
		}
	}
}

func (r *blobReader) Close() error {
	r.watch.Stop()
	defer r.cancel(nil)
	return r.body.Close()
}
