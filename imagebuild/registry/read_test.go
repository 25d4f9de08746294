package registry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	ggcr "github.com/google/go-containerregistry/pkg/registry"

	"github.com/org/claude-sandbox/imagebuild/artifact"
	reg "github.com/org/claude-sandbox/internal/test/registrytest"
)

// Faults of a download: each one ends with the whole blob, or
// with an error, and never with other bytes that pass for it.
func TestFaultsWhileReading(t *testing.T) {
	f := reg.StartFaulty(t)
	layer := packed(t, 7, 300_000)
	config := v1.ConfigFile{OS: "linux", Architecture: "amd64"}
	image, err := artifact.Image(config, []artifact.Layer{layer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := artifact.Index([]artifact.Manifest{image}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Push(t.Context(), dial(t, f.Real+"/me/x", options(nil)), a, PushOptions{}); err != nil {
		t.Fatal(err)
	}
	blob := reg.Request("GET", "/blobs/")
	const always = 1 << 30
	hang := func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
		rec := httptest.NewRecorder()
		next.ServeHTTP(rec, r)
		w.Header().Set("Content-Length", rec.Header().Get("Content-Length"))
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes()[:1000])
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	}
	withoutRange := func(fault reg.Fault) reg.Fault {
		return func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
			r.Header.Del("Range")
			return fault(w, r, next)
		}
	}
	flip := reg.Change(func(_ http.Header, body []byte) []byte {
		body[len(body)/2] ^= 1
		return body
	})
	for _, c := range []struct {
		name  string
		fault reg.Fault
		whole bool
		want  error // without whole; nil = any
	}{
		{"cut off", reg.Times(4, blob, reg.Cut(50_000)), true, nil},
		{"cut off by a registry without ranges", withoutRange(reg.Times(4, blob, reg.Cut(50_000))), true, nil},
		{"dropped before the answer", reg.Times(3, blob, reg.Drop(0)), true, nil},
		{"standing still", reg.Times(2, blob, hang), true, nil},
		{"429 with Retry-After", reg.Times(3, blob, reg.Answer(429, map[string]string{"Retry-After": "3"}, "")), true, nil},
		{"403 that is a rate limit", reg.Times(2, blob, reg.Answer(403, nil, "You have exceeded a secondary rate limit")), true, nil},
		{"502 with a page", reg.Times(3, blob, reg.Answer(502, nil, "<html>Bad Gateway</html>")), true, nil},
		{"404 that stays", reg.Times(always, blob, reg.Answer(404, nil, `{"errors":[{"code":"BLOB_UNKNOWN"}]}`)), false, ErrNotFound},
		{"403 that is one", reg.Times(always, blob, reg.Answer(403, nil, `{"errors":[{"code":"DENIED"}]}`)), false, ErrAuth},
		{"cut off again and again", reg.Times(always, blob, withoutRange(reg.Cut(10))), false, nil},
		{"another content", reg.Times(always, blob, flip), false, ErrContent},
		{"more than there is", reg.Times(always, blob, reg.Change(func(h http.Header, body []byte) []byte {
			h.Set("Content-Length", fmt.Sprint(len(body)+1))
			return append(body, 'x')
		})), false, ErrContent},
	} {
		t.Run(c.name, func(t *testing.T) {
			f.Set(c.fault)
			defer f.Set(nil)
			o := options(nil)
			o.Stall = 200 * time.Millisecond
			r, err := dial(t, f.Addr+"/me/x", o).Blob(t.Context(), layer.Descriptor)
			var content []byte
			if err == nil {
				content, err = io.ReadAll(r)
				r.Close()
			}
			sum := sha256.Sum256(content)
			switch {
			case c.whole && (err != nil || hex.EncodeToString(sum[:]) != layer.Digest.Hex):
				t.Errorf("%d of %d bytes: %v", len(content), layer.Size, err)
			case !c.whole && (err == nil || c.want != nil && !errors.Is(err, c.want)):
				t.Errorf("%d bytes are accepted: %v, want %v", len(content), err, c.want)
			}
		})
	}
}

// A registry that knows referrers keeps the list itself: nothing is written
// under a tag beside it.
func TestReferrersOfARegistryThatKnowsThem(t *testing.T) {
	server := httptest.NewServer(withSubject(ggcr.New(ggcr.Logger(log.New(io.Discard, "", 0)), ggcr.WithReferrersSupport(true))))
	defer server.Close()
	repo := strings.TrimPrefix(server.URL, "http://") + "/me/x"
	a := sample(t, 1)
	c := dial(t, repo, options(nil))
	if _, err := Push(context.Background(), c, a, pushOptions(t, a)); err != nil {
		t.Fatal(err)
	}
	list, err := c.Referrers(context.Background(), a.Index.Digest)
	if err != nil || len(list) != 1 {
		t.Errorf("attached are %v, %v", list, err)
	}
	tags, err := c.Tags(context.Background())
	if err != nil || strings.Contains(strings.Join(tags, " "), "sha256-") {
		t.Errorf("the tags are %v, %v", tags, err)
	}
}

// withSubject adds the header by which a registry says that it listed a
// referrer (OCI distribution specification 1.1).
func withSubject(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifests/") {
			w.Header().Set("OCI-Subject", "sha256:")
		}
		next.ServeHTTP(w, r)
	})
}

// GHCR takes a blob in one request of any size, and pieces of 4 MiB at most.
func TestABlobIsSentInOneRequest(t *testing.T) {
	f := reg.StartFaulty(t)
	layer := packed(t, 9, 6<<20)
	image, err := artifact.Image(v1.ConfigFile{OS: "linux", Architecture: "amd64"}, []artifact.Layer{layer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := artifact.Index([]artifact.Manifest{image}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Push(t.Context(), dial(t, f.Addr+"/me/x", options(nil)), a, PushOptions{}); err != nil {
		t.Fatal(err)
	}
	puts := 0
	for _, r := range f.Requests() {
		if strings.HasPrefix(r, "PATCH ") {
			t.Errorf("a piece was sent: %s", r)
		}
		if strings.HasPrefix(r, "PUT ") && strings.Contains(r, "/blobs/uploads/") {
			puts++
		}
	}
	if puts != 2 { // the layer and the configuration
		t.Errorf("2 blobs took %d requests", puts)
	}
}
