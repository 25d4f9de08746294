package digest

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/org/claude-sandbox/imagebuild/registry"
	"github.com/org/claude-sandbox/internal/test/registrytest"
)

// TestSeveralDigestsAreNone: of several digests of a repository the engine does
// not say which one the tag is.
func TestSeveralDigestsAreNone(t *testing.T) {
	repo, err := name.NewRepository("debian")
	if err != nil {
		t.Fatal(err)
	}
	one, two := "sha256:"+strings.Repeat("1", 64), "sha256:"+strings.Repeat("2", 64)
	if got, err := onlyDigest([]string{"mirror.example/debian@" + two, "debian@" + one, "rubbish"}, repo); got != one || err != nil {
		t.Errorf("%s %v", got, err)
	}
	if got, err := onlyDigest([]string{"debian@" + one, "docker.io/library/debian@" + two}, repo); err == nil {
		t.Errorf("one of two: %s", got)
	}
}

// A registry that cannot be reached is asked once: patience for each of its images
// would be minutes.
func TestDeadRegistryIsAskedOnce(t *testing.T) {
	hub := registrytest.StartFaulty(t)
	asked := 0
	hub.Set(func(_ http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		if strings.Contains(r.URL.Path, "/manifests/") {
			asked++
		}
		panic(http.ErrAbortHandler)
	})
	o := registry.Real(registry.Credentials{Getenv: os.Getenv}, func(string) {})
	o.Sleep = func(context.Context, time.Duration) error { return nil }
	s := New(o)
	t.Cleanup(s.Close)
	t.Setenv("DOCKER_HOST", "unix:///nonexistent.sock")
	if d, err := s.Digest(t.Context(), hub.Addr+"/x/one:1"); err == nil {
		t.Fatalf("a dead registry knows %s", d)
	}
	before := asked
	_, err1 := s.Digest(t.Context(), hub.Addr+"/x/two:1")
	_, _, err2 := s.Manifest(t.Context(), hub.Addr+"/x/feature:1")
	if err1 == nil || err2 == nil || asked != before {
		t.Errorf("asked %d times more: %v, %v", asked-before, err1, err2)
	}
}

func TestRegistrysNoIsFinal(t *testing.T) {
	for err, want := range map[error]bool{
		registry.ErrNotFound: true, registry.ErrAuth: true, errors.New("reset"): false,
		&registry.Status{Code: 400}: true, &registry.Status{Code: 503}: false,
	} {
		if got := answered(err); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
}
