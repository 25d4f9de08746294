package lock

import (
	"errors"
	"strings"
	"testing"
)

func TestPins(t *testing.T) {
	one, two := "sha256:"+strings.Repeat("1", 64), "sha256:"+strings.Repeat("2", 64)
	l := &Lock{Images: []Image{{Reference: "debian", Digest: one}, {Reference: "localhost:5000/x:v1", Digest: two}}}
	for reference, want := range map[string]string{
		"":                                one + two,
		"docker.io/library/debian:latest": one,
		"localhost:5000/x:v1":             two,
		"localhost:5000/x:v2":             "",
		"no reference":                    "",
	} {
		pins, err := l.Pins(reference)
		got := ""
		for _, p := range pins {
			got += p.Digest.String()
		}
		if err != nil || got != want {
			t.Errorf("%q: %v, %v, want %s", reference, pins, err, want)
		}
	}
	for digest, unpinned := range map[string]bool{"": true, "sha256:1": false} {
		l.Images[1].Digest = digest
		if pins, err := l.Pins(""); err == nil || errors.Is(err, ErrUnpinned) != unpinned {
			t.Errorf("digest %q: %v, %v", digest, pins, err)
		}
		if _, err := l.Pins("debian"); err != nil {
			t.Errorf("digest %q of another image: %v", digest, err)
		}
	}
}
