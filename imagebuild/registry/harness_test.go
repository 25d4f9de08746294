package registry

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/org/claude-sandbox/imagebuild/artifact"
	"github.com/org/claude-sandbox/imagebuild/layer"
	"github.com/org/claude-sandbox/imagebuild/sbom"
	"github.com/org/claude-sandbox/imagebuild/tags"
)

// options are those of a client for tests: no credentials, and pauses that are
// written down and not waited for.
func options(pauses *[]time.Duration) Options {
	o := Real(Credentials{Getenv: func(string) string { return "" }}, nil)
	o.Stall = time.Second
	// Small blobs are sent before anybody notices that nobody reads them.
	o.Transport.(*http.Transport).ResponseHeaderTimeout = 2 * time.Second
	o.Sleep = func(ctx context.Context, d time.Duration) error {
		if pauses != nil {
			*pauses = append(*pauses, d)
		}
		return ctx.Err()
	}
	return o
}

func dial(t *testing.T, repo string, o Options) *Client {
	t.Helper()
	c, err := Dial(context.Background(), repo, true, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// packed returns a layer with one file of n bytes that do not compress.
func packed(t *testing.T, seed uint64, n int) artifact.Layer {
	t.Helper()
	data := make([]byte, n)
	random := rand.New(rand.NewPCG(seed, 1))
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	var content, zipped bytes.Buffer
	if err := layer.Tar(&content, []layer.Entry{{Path: "data", Data: data}}, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	diffID, _, err := v1.SHA256(bytes.NewReader(content.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if err := layer.Gzip(&zipped, &content); err != nil {
		t.Fatal(err)
	}
	return artifact.Layer{Blob: artifact.Bytes(types.OCILayer, zipped.Bytes(), fmt.Sprintf("layer %d", seed)), DiffID: diffID}
}

// sample returns an index of two images that share one of their layers.
func sample(t *testing.T, seed uint64) artifact.Artifact {
	t.Helper()
	shared := packed(t, 1000, 100_000)
	var images []artifact.Manifest
	for i, arch := range []string{"amd64", "arm64"} {
		m, err := artifact.Image(v1.ConfigFile{OS: "linux", Architecture: arch}, []artifact.Layer{shared, packed(t, seed+uint64(i), 40_000)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		images = append(images, m)
	}
	a, err := artifact.Index(images, map[string]string{"seed": fmt.Sprint(seed)})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// pushOptions are two tags and one referrer.
func pushOptions(t *testing.T, a artifact.Artifact) PushOptions {
	return PushOptions{
		Tags:  []tags.Tag{{Name: "latest"}, {Name: "v1.0.0-" + a.Index.Digest.Hex[:8], Immutable: true}},
		Kinds: []string{sbom.SPDXType},
		Referrers: func(context.Context) ([]artifact.Manifest, error) {
			r, err := sbom.Referrer(a.Index.Descriptor, sbom.SPDXType, []byte(`{"about":"`+a.Index.Digest.String()+`"}`), nil)
			return []artifact.Manifest{r}, err
		},
	}
}

// expectWhole looks at the registry itself: every tag must lead to an image
// that is there to the last byte and has its SBOM.
func expectWhole(t *testing.T, repo string) map[string]v1.Hash {
	t.Helper()
	parsed, err := name.NewRepository(repo)
	if err != nil {
		t.Fatal(err)
	}
	list, err := remote.List(parsed)
	if err != nil {
		if strings.Contains(err.Error(), "NAME_UNKNOWN") {
			return nil
		}
		t.Fatal(err)
	}
	found := map[string]v1.Hash{}
	checked := map[v1.Hash]bool{}
	for _, tag := range list {
		if strings.HasPrefix(tag, "sha256-") {
			continue
		}
		index, err := remote.Index(parsed.Tag(tag))
		if err != nil {
			t.Errorf("tag %s: %v", tag, err)
			continue
		}
		digest, err := index.Digest()
		if err != nil {
			t.Fatal(err)
		}
		found[tag] = digest
		if checked[digest] {
			continue
		}
		checked[digest] = true
		if err := validate.Index(index); err != nil {
			t.Errorf("tag %s leads to half an image: %v", tag, err)
		}
		if _, err := remote.Index(parsed.Tag("sha256-" + digest.Hex)); err != nil {
			t.Errorf("tag %s leads to an image without SBOM: %v", tag, err)
		}
	}
	return found
}

// uploaded lists the image's own blobs that a push sent.
func uploaded(r *Report, a artifact.Artifact) []string {
	var out []string
	for _, b := range a.Blobs() {
		for _, have := range r.Blobs {
			if have.Digest == b.Digest && have.How == Uploaded {
				out = append(out, b.What)
			}
		}
	}
	return out
}
