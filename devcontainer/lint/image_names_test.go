package lint

import (
	"testing"

	"github.com/distribution/reference"
)

// What counts as the plain name of an image is one to the engine as well.
func FuzzPlainName(f *testing.F) {
	for _, text := range []string{"debian:13-slim", "ghcr.io/a/b-c.d:V1_x", "a--b", "a..b/c", "localhost/x", "host:5000/x", "A/b", "x:",
		"x:-1", "a_b", "-a", "a/", "/a", "a.b-c/d", "docker.io", "index.docker.io/a/b/c",
		"0123456789012345678901234567890123456789012345678901234567890123"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := reference.ParseNormalizedNamed(text); isPlainName(text) && err != nil {
			t.Errorf("%q: %v", text, err)
		}
	})
}
