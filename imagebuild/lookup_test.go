package imagebuild

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// A name that holds a variable of this host is told to no registry, and without
// --online none is asked at all.
func TestLookupTellsNoRegistryWhatItMustNot(t *testing.T) {
	var asked atomic.Int64
	pages := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		pages.ServeHTTP(w, r)
	}))
	defer server.Close()
	ref, err := name.ParseReference(strings.TrimPrefix(server.URL, "http://") + "/a/b:sk-of-the-host")
	if err != nil {
		t.Fatal(err)
	}
	image, err := mutate.Config(empty.Image, v1.Config{User: "u"})
	if err == nil {
		err = remote.Write(ref, image)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("DOCKER_HOST", "unix:///nonexistent.sock")
	for _, c := range []struct{ online, private, asks bool }{{false, false, false}, {false, true, false},
		{true, true, false}, {true, false, true}} {
		asked.Store(0)
		l := Lookup{Registries: offline(), Online: c.online}
		config, err := l.Config(t.Context(), ref.Name(), c.private)
		l.Close()
		if (asked.Load() > 0) != c.asks || (err == nil) != c.asks || c.asks && config.User != "u" {
			t.Errorf("%+v: asked %d times, %+v, %v", c, asked.Load(), config, err)
		}
	}
}
