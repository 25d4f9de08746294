package lock

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/exitcode"
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
		pins, err := l.pins(reference)
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
		if pins, err := l.pins(""); err == nil || errors.Is(err, errUnpinned) != unpinned {
			t.Errorf("digest %q: %v, %v", digest, pins, err)
		}
		if _, err := l.pins("debian"); err != nil {
			t.Errorf("digest %q of another image: %v", digest, err)
		}
	}
}

func TestWhatAPullTakesOfALock(t *testing.T) {
	l := &Lock{Images: []Image{{Reference: "debian", Digest: "sha256:" + strings.Repeat("1", 64)}, {Reference: "unpinned:v1"}}}
	pinned := &Lock{Images: l.Images[:1]}
	for _, c := range []struct {
		lock   *Lock
		named  string
		insist bool
		want   string // the reference, with "?" where its tag decides, or the exit code
	}{
		{pinned, "", false, "debian"},
		{pinned, "debian:latest", true, "debian"},
		{pinned, "other", false, "other?"},
		{pinned, "other", true, "65"},
		{l, "", false, "65"},
		{l, "unpinned:v1", false, "unpinned:v1?"},
		{l, "unpinned:v1", true, "65"},
		{&Lock{}, "", false, "66"},
	} {
		whole := *c.lock
		whole.Version, whole.Template.ID, whole.Base = version, "claude", map[string][]string{".devcontainer/a": nil}
		pins, moving, err := Choose("F", whole.Encode(), c.named, c.insist)
		got := ""
		if exit := (*exitcode.Error)(nil); errors.As(err, &exit) {
			got = strconv.Itoa(exit.Code)
		} else if len(pins) == 1 {
			got = pins[0].Reference
		}
		if moving {
			got += "?"
		}
		if got != c.want || err != nil && !strings.Contains(err.Error(), "F") {
			t.Errorf("%q, insist %t: %s (%v), want %s", c.named, c.insist, got, err, c.want)
		}
	}
}
