package gitdir

import (
	"io"
	"strings"
	"testing"
)

// Attack: the agent's objects make git complain without end, and all of it is kept.
func TestAttackComplaintsWithoutEnd(t *testing.T) {
	kept := &tail{}
	if _, err := io.Copy(kept, struct{ io.Reader }{strings.NewReader(strings.Repeat("x", 1<<20) + "the end")}); err != nil {
		t.Fatal(err)
	}
	if text := kept.String(); len(text) > 2<<10 || !strings.HasSuffix(text, "xthe end") {
		t.Errorf("%d bytes are kept", len(text))
	}
}
