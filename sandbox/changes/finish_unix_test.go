//go:build unix

package changes

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/redact"
)

// A run is killed, and whoever reviews it finds what it changed: without its secrets in the
// diff, and with what changed after its end told apart. A look that is cut short leaves
// everything for the next.
func TestWhatARunLeftIsFoundLater(t *testing.T) {
	p := newProject(t)
	p.take()
	p.sh("echo agent >>src/main.go; echo key=c4nary-Left-4411ee >new.txt; rm README.md")
	info, err := os.Stat(filepath.Join(p.dir, "new.txt"))
	if err != nil {
		t.Fatal(err)
	}
	ended := time.Unix(0, ChangedAt(info))
	if err := p.before.Leave(ended); err != nil || !IsLeft(p.keep) {
		t.Fatalf("%v, left %v", err, IsLeft(p.keep))
	}
	for later := false; !later; { // the kernel's clock moves some 250 times in a second
		p.write("src/util.go", "the user's\n")
		info, err := os.Stat(filepath.Join(p.dir, "src", "util.go"))
		if err != nil {
			t.Fatal(err)
		}
		later = ChangedAt(info) > ended.UnixNano()
	}
	secrets := redact.NewFinder([]redact.Named{{Name: "KEY", Value: "c4nary-Left-4411ee"}})
	cut, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Finish(cut, p.keep, secrets, true, nil); !errors.Is(err, context.Canceled) || !IsLeft(p.keep) {
		t.Errorf("a look that is cut short: %v, left %v", err, IsLeft(p.keep))
	}
	if p.set, err = Finish(t.Context(), p.keep, secrets, true, nil, "a sentence"); err != nil || IsLeft(p.keep) ||
		p.set.Ended != ended.UnixNano() {
		t.Fatalf("%v, left %v, ended %v", err, IsLeft(p.keep), p.set)
	}
	for rel, later := range map[string]bool{"src/main.go": false, "new.txt": false, "README.md": false, "src/util.go": true} {
		if c := p.find(rel); c.Later != later {
			t.Errorf("%s: later is %v", rel, c.Later)
		}
	}
	kept, err := os.ReadFile(filepath.Join(p.keep, PatchFile))
	if err != nil || strings.Contains(string(kept), "c4nary") || !strings.Contains(string(kept), "+key=***") ||
		p.set.Unseen[0] != "a sentence" {
		t.Errorf("%v; %q, the diff is\n%s", err, p.set.Unseen, kept)
	}
	if left, err := filepath.Glob(filepath.Join(p.keep, "before*")); err != nil || len(left) > 0 {
		t.Errorf("left in the run's folder: %q, %v", left, err)
	}
	if set, err := Load(p.keep); err != nil || len(set.Changes) != 4 || set.Ended != ended.UnixNano() {
		t.Errorf("%v, %v", set, err)
	}
}
