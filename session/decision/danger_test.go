package decision

import (
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/pathglob"
	"github.com/org/claude-sandbox/session/review"
)

// Attack: the name of a dangerous file is a glob, and the flag that a person pastes to
// accept that file accepts every other one.
func TestAttackANameThatIsAGlob(t *testing.T) {
	for _, name := range []string{"**", "*", "a/*/.envrc", "**/.envrc", "[a-z]", "?", `a\b`, "plain/.envrc"} {
		flag := strings.Trim(strings.TrimPrefix(acceptFlags([]string{name})[0], "--accept-dangerous "), "'")
		if err := pathglob.Check(flag); err != nil || !pathglob.Match(flag, name) {
			t.Errorf("%q does not name %q: %v", flag, name, err)
		}
		for _, other := range []string{"Makefile", "a/x/.envrc", ".envrc", "b"} {
			if pathglob.Match(flag, other) {
				t.Errorf("%q, for %q, accepts %q", flag, name, other)
			}
		}
	}
}

// Where no person can be asked, only what acts unasked stops a command, and only until a
// glob accepts it.
func TestWhatStopsWithoutAPerson(t *testing.T) {
	file := func(path string, k review.Kind) review.File { return review.File{Path: path, Kinds: []review.Kind{k}} }
	reviews := []*review.Review{
		{Files: []review.File{file(".envrc", review.Shell), file("x.bin", review.Binary), {Path: "a.go"}}, Dangerous: 2},
		{Files: []review.File{file(".git/hooks/x", review.Hook)}, Dangerous: 1},
	}
	for _, c := range []struct {
		accept        string
		open, unasked int
	}{{"", 3, 2}, {".envrc", 2, 1}, {".git/hooks/x", 2, 1}, {"x.bin", 2, 2}, {"**", 0, 0}} {
		d := DangerOf(reviews, strings.Fields(c.accept))
		err := d.Refusal()
		if len(d.Open) != c.open || len(d.Unasked) != c.unasked || (err != nil) != (c.unasked > 0) {
			t.Errorf("%q: %+v %v", c.accept, d, err)
		}
	}
	if err := DangerOf(reviews, nil).Refusal(); !strings.HasPrefix(err.Error(), "2 changed files would act without being run") ||
		!strings.Contains(diag.HintOf(err), "--accept-dangerous .envrc --accept-dangerous .git/hooks/x") {
		t.Errorf("%v; %s", err, diag.HintOf(err))
	}
}
