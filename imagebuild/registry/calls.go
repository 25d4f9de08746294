package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/distribution/reference"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/org/claude-sandbox/internal/diag"
)

// ErrNotFound reports a tag, manifest or blob that the registry does not have.
var ErrNotFound = errors.New("not found")

// acceptManifests asks for manifests as they were pushed.
var acceptManifests = strings.Join([]string{
	string(types.OCIImageIndex), string(types.OCIManifestSchema1), string(types.DockerManifestList), string(types.DockerManifestSchema2),
}, ", ")

// Head returns the digest that a tag points to. A missing one is ErrNotFound.
func (c *Client) Head(ctx context.Context, ref string) (v1.Hash, error) {
	if err := CheckName(c.Name(), ref); err != nil {
		return v1.Hash{}, err
	}
	var digest v1.Hash
	err := c.try(ctx, "looking up "+ref, func() error {
		resp, err := c.do(ctx, http.MethodHead, c.url("manifests/%s", ref), map[string]string{"Accept": acceptManifests}, nil, http.StatusOK)
		if err != nil {
			return missing(err)
		}
		resp.Body.Close()
		if promised := resp.Header.Get("Docker-Content-Digest"); promised != "" {
			digest, err = v1.NewHash(promised)
		}
		return err
	})
	if err == nil && digest == (v1.Hash{}) {
		// No such header: some registries send it only with the content.
		var raw []byte
		if raw, _, err = c.Manifest(ctx, ref); err == nil {
			digest, _, err = v1.SHA256(strings.NewReader(string(raw)))
		}
	}
	return digest, c.explain("looking up", c.ref(ref), err)
}

// Manifest reads the manifest of a tag or digest. A digest's content is checked.
func (c *Client) Manifest(ctx context.Context, ref string) (raw []byte, mediaType types.MediaType, err error) {
	if err := CheckName(c.Name(), ref); err != nil {
		return nil, "", err
	}
	err = c.try(ctx, "reading "+ref, func() error {
		resp, err := c.do(ctx, http.MethodGet, c.url("manifests/%s", ref), map[string]string{"Accept": acceptManifests}, nil, http.StatusOK)
		if err != nil {
			return missing(err)
		}
		defer resp.Body.Close()
		if raw, err = io.ReadAll(io.LimitReader(resp.Body, maxManifest+1)); err != nil {
			return err
		}
		if len(raw) > maxManifest {
			return fmt.Errorf("a manifest of more than %d bytes", maxManifest)
		}
		mediaType = types.MediaType(strings.TrimSpace(strings.Split(resp.Header.Get("Content-Type"), ";")[0]))
		got, _, err := v1.SHA256(strings.NewReader(string(raw)))
		if err != nil {
			return err
		}
		for _, promised := range []string{ref, resp.Header.Get("Docker-Content-Digest")} {
			if want, err := v1.NewHash(promised); err == nil && got != want {
				return &garbled{fmt.Errorf("a manifest with %s, not %s", got, want)}
			}
		}
		return nil
	})
	return raw, mediaType, c.explain("reading", c.ref(ref), err)
}

// PutManifest writes a manifest under a tag, or under its digest when ref is
// "". The registry must have what it refers to.
func (c *Client) PutManifest(ctx context.Context, ref string, d v1.Descriptor, raw []byte) (subject bool, err error) {
	if ref == "" {
		ref = d.Digest.String()
	}
	err = c.try(ctx, "writing "+ref, func() error {
		resp, err := c.do(ctx, http.MethodPut, c.url("manifests/%s", ref), map[string]string{"Content-Type": string(d.MediaType)}, raw,
			http.StatusCreated, http.StatusOK, http.StatusAccepted)
		if err != nil {
			return err
		}
		resp.Body.Close()
		subject = resp.Header.Get("OCI-Subject") != ""
		if got, err := v1.NewHash(resp.Header.Get("Docker-Content-Digest")); err == nil && got != d.Digest {
			return &garbled{fmt.Errorf("the registry stored %s, not %s", got, d.Digest)}
		}
		return nil
	})
	return subject, c.explain("writing", c.ref(ref), err)
}

// HasBlob reports whether the registry has the blob, in its full size.
func (c *Client) HasBlob(ctx context.Context, d v1.Descriptor) (bool, error) {
	found := false
	err := c.try(ctx, "looking up a blob", func() (err error) {
		found, err = c.hasBlob(ctx, d)
		return err
	})
	return found, c.explain("looking up a blob of", c.Name(), err)
}

func (c *Client) hasBlob(ctx context.Context, d v1.Descriptor) (bool, error) {
	resp, err := c.do(ctx, http.MethodHead, c.url("blobs/%s", d.Digest), nil, nil, http.StatusOK)
	if err = missing(err); errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	resp.Body.Close()
	return resp.ContentLength < 0 || resp.ContentLength == d.Size, nil
}

// Blob reads a blob. The content is checked while it is read: anything but the
// digest's content ends with an error. A connection that ends early is taken up
// again where it ended.
func (c *Client) Blob(ctx context.Context, d v1.Descriptor) (io.ReadCloser, error) {
	r := &blobReader{ctx: ctx, c: c, d: d}
	if err := r.open(); err != nil {
		return nil, err
	}
	return r, nil
}

// Tags lists the repository's tags. A repository that does not exist has none.
func (c *Client) Tags(ctx context.Context) ([]string, error) {
	var all []string
	next := c.url("tags/list?n=1000")
	for next != "" {
		var page struct{ Tags []string }
		address := next
		err := c.try(ctx, "listing the tags", func() error {
			resp, err := c.do(ctx, http.MethodGet, address, nil, nil, http.StatusOK)
			if err != nil {
				return missing(err)
			}
			defer resp.Body.Close()
			page.Tags, next = nil, ""
			if link := resp.Header.Get("Link"); strings.Contains(link, `rel="next"`) {
				if target, _, ok := strings.Cut(strings.TrimPrefix(link, "<"), ">"); ok {
					if u, err := resp.Request.URL.Parse(target); err == nil && u.Host == resp.Request.URL.Host {
						next = u.String()
					}
				}
			}
			return json.NewDecoder(io.LimitReader(resp.Body, 64<<20)).Decode(&page)
		})
		if errors.Is(err, ErrNotFound) {
			return all, nil
		}
		if err != nil {
			return nil, c.explain("listing the tags of", c.Name(), err)
		}
		all = append(all, page.Tags...)
	}
	return all, nil
}

// ErrName reports what no registry can have.
var ErrName = errors.New("no name of an image")

// CheckName refuses, with ErrName, a tag or digest that no registry can have in the
// repository REGISTRY/NAME. Some registries say of a digest that is too short
// what others say for a moment of one that is on its way, so none is asked.
func CheckName(repo, ref string) error {
	at, hint := repo+":"+ref, "write REGISTRY/NAME:TAG; a tag is at most 128 letters, digits, '_', '.' and '-'"
	if strings.Contains(ref, ":") {
		at, hint = repo+"@"+ref, "write sha256: and 64 hexadecimal digits"
	}
	if _, err := reference.Parse(at); err != nil {
		return diag.WithHint(fmt.Errorf("%s: %w: %w", at, ErrName, err), "%s", hint)
	}
	return nil
}

func (c *Client) ref(ref string) string {
	if strings.HasPrefix(ref, "sha256:") {
		return c.Name() + "@" + ref
	}
	return c.Name() + ":" + ref
}

// missing turns a 404 into ErrNotFound.
func missing(err error) error {
	if s := statusOf(err); s != nil && s.Code == http.StatusNotFound {
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	return err
}

// location returns where an upload goes on.
func location(resp *http.Response) (*url.URL, error) {
	u, err := resp.Request.URL.Parse(resp.Header.Get("Location"))
	if err != nil || resp.Header.Get("Location") == "" {
		return nil, fmt.Errorf("the registry opens an upload at %q", resp.Header.Get("Location"))
	}
	return u, nil
}
