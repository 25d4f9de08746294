package publish_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/org/claude-sandbox/imagebuild/registry"
	"github.com/org/claude-sandbox/internal/carried"
	"github.com/org/claude-sandbox/internal/test/registrytest"
	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/templates/publish"
)

// options are those of a client without credentials, whose pauses are noted and
// not waited for.
func options(pauses *[]time.Duration) registry.Options {
	o := registry.Real(registry.Credentials{Getenv: func(string) string { return "" }}, nil)
	o.Sleep = func(ctx context.Context, d time.Duration) error {
		*pauses = append(*pauses, d)
		return ctx.Err()
	}
	return o
}

func pack(t *testing.T, content string) publish.Artifact {
	t.Helper()
	artifacts, err := publish.Pack(publish.Templates,
		[]publish.Source{{ID: "x", Version: "1.0.0", Metadata: json.RawMessage(`{"id": "x"}`), Archive: []byte(content)}})
	if err != nil {
		t.Fatal(err)
	}
	return artifacts[0]
}

// TestPushOutlivesAStumblingRegistry: what a registry refuses for a moment is
// tried again, with the pause that it asks for, and what arrives is whole.
func TestPushOutlivesAStumblingRegistry(t *testing.T) {
	hub := registrytest.StartFaulty(t)
	for what, matches := range map[string]func(*http.Request) bool{
		"blobs":     func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/blobs/") },
		"manifests": func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/manifests/") },
	} {
		t.Run(what, func(t *testing.T) {
			hub.Set(registrytest.Times(2, matches, registrytest.Answer(429, map[string]string{"Retry-After": "7"}, "")))
			var pauses []time.Duration
			reference, err := publish.Push(t.Context(), pack(t, what), hub.Addr+"/"+what, false, options(&pauses))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(pauses, 7*time.Second) {
				t.Errorf("pauses: %v", pauses)
			}
			for _, tag := range []string{"1.0.0", "1.0", "1", "latest"} {
				ref, err := name.ParseReference(hub.Real + "/" + what + "/x:" + tag)
				if err != nil {
					t.Fatal(err)
				}
				image, err := remote.Image(ref)
				if err != nil {
					t.Fatal(err)
				}
				layers, err := image.Layers()
				if err != nil || len(layers) != 1 {
					t.Fatal(layers, err)
				}
				content, err := layers[0].Compressed()
				if err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(content)
				digest, _ := image.Digest()
				if err != nil || string(text) != what || !strings.HasSuffix(reference, digest.String()) {
					t.Errorf("%s: %q %v, %s is pushed as %s", tag, text, err, digest, reference)
				}
			}
		})
	}
	hub.Set(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) bool {
		w.WriteHeader(http.StatusForbidden)
		return true
	})
	var pauses []time.Duration
	if _, err := publish.Push(t.Context(), pack(t, "x"), hub.Addr+"/no", false, options(&pauses)); !errors.Is(err, registry.ErrAuth) ||
		len(pauses) > 0 {
		t.Errorf("a registry that says no: %v after %v", err, pauses)
	}
}

// TestVersionNeverMoves: what was published under a full version stays.
func TestVersionNeverMoves(t *testing.T) {
	var pauses []time.Duration
	o, space := options(&pauses), registrytest.Start(t)+"/t"
	first, err := publish.Push(t.Context(), pack(t, "a"), space, false, o)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := publish.Push(t.Context(), pack(t, "a"), space, false, o); err != nil || again != first {
		t.Errorf("the same again: %s %v", again, err)
	}
	if _, err := publish.Push(t.Context(), pack(t, "b"), space, false, o); !errors.Is(err, registry.ErrTagMoved) {
		t.Errorf("another content: %v", err)
	}
	if _, err := publish.Push(t.Context(), pack(t, "b"), space, true, o); err != nil {
		t.Errorf("forced: %v", err)
	}
	for _, version := range []string{"1.0", "v1.0.0", "1.0.0-x", "01.0.0", "latest", ""} {
		if _, err := publish.Pack(publish.Templates, []publish.Source{{ID: "x", Version: version, Metadata: json.RawMessage(`{}`)}}); err == nil {
			t.Errorf("the version %q is accepted", version)
		}
	}
}

// The templates can be published also where the program carries no sbx-init.
func TestCollections(t *testing.T) {
	ts, fs, err := publish.Collections()
	if errors.Is(err, carried.ErrNotCarried) {
		err, fs = nil, make([]publish.Artifact, 3)
	}
	if want := len(templates.IDs()) + 1; err != nil || len(ts) != want || len(fs) != 3 { // each with its collection
		t.Errorf("%d templates, want %d; %d Features; %v", len(ts), want, len(fs), err)
	}
}
