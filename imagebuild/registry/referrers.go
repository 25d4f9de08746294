package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/org/claude-sandbox/imagebuild/artifact"
)

// Referrers lists what refers to a manifest: its SBOM, provenance, signatures.
// Registries without the API (ghcr.io among them) keep the list under a tag
// made of the digest (OCI distribution 1.1, "referrers tag schema").
func (c *Client) Referrers(ctx context.Context, subject v1.Hash) ([]v1.Descriptor, error) {
	if !c.noReferrers.Load() {
		list, err := c.referrersAPI(ctx, subject)
		if !errors.Is(err, ErrNotFound) {
			return list, c.explain("listing the referrers of", c.ref(subject.String()), err)
		}
		// A repository that is not there yet says nothing about the API.
		if s := statusOf(err); s == nil || !slices.Contains(s.Codes, "NAME_UNKNOWN") {
			c.noReferrers.Store(true)
		}
	}
	index, err := c.fallbackIndex(ctx, subject)
	return index.Manifests, err
}

func (c *Client) referrersAPI(ctx context.Context, subject v1.Hash) ([]v1.Descriptor, error) {
	var index v1.IndexManifest
	err := c.try(ctx, "listing the referrers", func() error {
		resp, err := c.do(ctx, http.MethodGet, c.url("referrers/%s", subject), map[string]string{"Accept": string(types.OCIImageIndex)}, nil,
			http.StatusOK)
		if s := statusOf(err); s != nil && (s.Code == http.StatusMethodNotAllowed || s.Code == http.StatusNotAcceptable ||
			s.Code == http.StatusBadRequest) {
			return fmt.Errorf("%w: %w", ErrNotFound, err) // registries that know nothing of the path
		}
		if err != nil {
			return missing(err)
		}
		defer resp.Body.Close()
		if !strings.HasPrefix(resp.Header.Get("Content-Type"), string(types.OCIImageIndex)) {
			return ErrNotFound // a page for people
		}
		return json.NewDecoder(io.LimitReader(resp.Body, maxManifest)).Decode(&index)
	})
	return index.Manifests, err
}

func fallbackTag(subject v1.Hash) string { return subject.Algorithm + "-" + subject.Hex }

func (c *Client) fallbackIndex(ctx context.Context, subject v1.Hash) (v1.IndexManifest, error) {
	index := v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: []v1.Descriptor{}}
	raw, _, err := c.Manifest(ctx, fallbackTag(subject))
	if errors.Is(err, ErrNotFound) {
		return index, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &index)
	}
	return index, err
}

// attach writes referrers of subject, whose blobs are there. Where the list is
// a tag, it is written and read back until it names all of them: another writer
// may have replaced it in between.
func (c *Client) attach(ctx context.Context, subject v1.Hash, referrers []artifact.Manifest) error {
	bySubject := make([]bool, len(referrers))
	err := each(ctx, 0, len(referrers), func(ctx context.Context, i int) (err error) {
		bySubject[i], err = c.PutManifest(ctx, "", referrers[i].Descriptor, referrers[i].Raw)
		return err
	})
	if err != nil || !slices.Contains(bySubject, false) {
		return err
	}
	for range attempts {
		index, err := c.fallbackIndex(ctx, subject)
		if err != nil {
			return err
		}
		known := len(index.Manifests)
		for _, r := range referrers {
			if !slices.ContainsFunc(index.Manifests, func(d v1.Descriptor) bool { return d.Digest == r.Digest }) {
				index.Manifests = append(index.Manifests, r.Descriptor)
			}
		}
		if known == len(index.Manifests) {
			return nil
		}
		m, err := artifact.New(index, nil)
		if err != nil {
			return err
		}
		if _, err := c.PutManifest(ctx, fallbackTag(subject), m.Descriptor, m.Raw); err != nil {
			return err
		}
	}
	return fmt.Errorf("listing the referrers of %s: others keep replacing the list", c.ref(subject.String()))
}
