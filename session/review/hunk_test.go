package review

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/internal/redact"
	"github.com/org/claude-sandbox/sandbox/changes"
	"github.com/rogpeppe/go-internal/diff"
)

func patchOf(a, b []byte) []byte {
	text := diff.Diff("a", a, "b", b)
	_, text, _ = bytes.Cut(text, []byte("+++ b\n"))
	return append([]byte("diff --git a/x b/x\n--- a/x\n+++ b/x\n"), text...)
}

// All hunks taken out of the new content give the old one, and none the new one. A
// part of them gives a content of which the others taken out give the old one, too.
func FuzzWithout(f *testing.F) {
	long := strings.Repeat("a\nb\nc\nd\n", 20)
	for _, c := range [][2]string{{"", "a\n"}, {"a\n", ""}, {"a", "b"}, {"a\n", "a"}, {"a", "a\n"}, {"x\n" + long + "y\n", "z\n" + long + "w"},
		{long, "1\n" + long[:80] + "2\n" + long[80:] + "3\n"}, {long + "+a\n-b\n@@ -1 +1 @@\n", long + "\\ No newline\n"}} {
		f.Add([]byte(c[0]), []byte(c[1]), uint64(0x5555))
	}
	f.Fuzz(func(t *testing.T, a, b []byte, which uint64) {
		if len(a) > 1<<14 || len(b) > 1<<14 || bytes.Equal(a, b) {
			return
		}
		hunks, err := splitPatch(patchOf(a, b))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Without(b, nil, hunks); err != nil || !bytes.Equal(got, a) {
			t.Fatalf("%v: got %q of\n%s\nwant %q", err, got, patchOf(a, b), a)
		}
		if got, err := Without(b, nil, nil); err != nil || !bytes.Equal(got, b) {
			t.Fatal(err)
		}
		var out, in []Hunk
		for i, h := range hunks {
			if which>>(i%64)&1 == 1 {
				out = append(out, h)
			} else {
				in = append(in, h)
			}
		}
		some, err := Without(b, nil, out)
		if err != nil {
			t.Fatal(err)
		}
		shift := 0 // the others have moved by what went before them
		for i, j := 0, 0; j < len(in); j++ {
			for ; i < len(out) && out[i].NewStart < in[j].NewStart; i++ {
				shift += out[i].OldLines - out[i].NewLines
			}
			in[j].NewStart += shift
		}
		if got, err := Without(some, nil, in); err != nil || !bytes.Equal(got, a) {
			t.Fatalf("%v: in two steps: got %q, want %q", err, got, a)
		}
	})
}

// No bytes make the reader of diffs fail otherwise than with an error.
func FuzzSplitPatch(f *testing.F) {
	f.Add([]byte("@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n"))
	f.Add([]byte("@@ -0,0 +1 @@\n+x"))
	f.Add([]byte("@@ -1,99999999 +1 @@\n+x"))
	f.Fuzz(func(t *testing.T, patch []byte) {
		hunks, err := splitPatch(patch)
		if err != nil {
			return
		}
		for i := range hunks {
			hunks[i].name("x", "")
			hunks[i].sides()
			_ = hunks[i].Shown()
			newLook(changes.Change{Path: "package.json"}, redact.New(redact.Options{Patterns: true})).hunk(&hunks[i])
		}
	})
}

// A line of the agent's cannot begin a hunk or a file of its own.
func TestAttackALineThatLooksLikeTheDiff(t *testing.T) {
	b := "@@ -1,1 +1,1 @@\ndiff --git a/Makefile b/Makefile\n--- a/x\n+++ b/x\n"
	hunks, err := splitPatch(patchOf([]byte("one\n"), []byte(b)))
	if err != nil || len(hunks) != 1 || hunks[0].NewLines != 4 {
		t.Fatalf("%+v %v", hunks, err)
	}
}

// No path drives the screen, is wider than it, or moves another line from it.
func FuzzScreen(f *testing.F) {
	for _, p := range []string{"a", "a\nb", "\x1b[2J", "\u202e", "世界/" + strings.Repeat("界", 200), "-rf", "a\tb", "\xff", ".git/config", ""} {
		f.Add(p, 80)
	}
	f.Fuzz(func(t *testing.T, path string, columns int) {
		columns = 20 + (columns&0xff)%200
		r, err := New(Input{Run: "r", Set: &changes.Set{Changes: []changes.Change{{Path: path, Kind: changes.Added, Class: 1,
			After: &changes.State{What: changes.Symlink, Target: path}}}, Files: 1}})
		if err != nil {
			t.Fatal(err)
		}
		screen := r.Screen(24, columns)
		lines := strings.Split(strings.TrimSuffix(screen, "\n"), "\n")
		if len(lines) != 2 || strings.ContainsAny(screen, "\x1b\r\t\u202e\u200b") {
			t.Fatalf("%q", screen)
		}
		for _, line := range lines {
			if width(line) > columns {
				t.Errorf("%d > %d columns: %q", width(line), columns, line)
			}
		}
		if err := r.WriteHTML(&strings.Builder{}); err != nil {
			t.Fatal(err)
		}
	})
}

// The call that wrote a hunk is the one that has its text; hosts count by the
// kernel's time, which the transcript cannot move.
func TestOrigin(t *testing.T) {
	at := func(s int) time.Time { return time.Date(2026, 1, 2, 3, 4, s, 0, time.UTC) }
	long := ""
	for i := range 20 {
		long += fmt.Sprintln("line", i)
	}
	old, fresh := "one\n"+long+"two\n", "first\n"+long+"second\n"
	set := &changes.Set{Changes: []changes.Change{
		{Path: "a.go", Kind: changes.Changed, Before: &changes.State{What: changes.File}, After: &changes.State{What: changes.File},
			When: at(30).UnixNano()},
		{Path: "b.sh", Kind: changes.Added, After: &changes.State{What: changes.File}, When: at(10).UnixNano()},
		{Path: "c.txt", Kind: changes.Added, After: &changes.State{What: changes.File}, When: at(50).UnixNano()},
		{Path: "made.o", Kind: changes.Added, After: &changes.State{What: changes.File}, When: at(42).UnixNano()},
		{Path: "gone", Kind: changes.Removed, Before: &changes.State{What: changes.File}},
	}}
	patch := patchOf([]byte(old), []byte(fresh))
	set.Changes[0].Patch = changes.Piece{Size: int64(len(patch))}
	in := Input{Run: "r", Set: set, Patch: patch, Calls: []agent.Call{
		{Name: "Edit", Path: "/workspace/a.go", Wrote: []string{"first"}, Time: at(1)},
		{Name: "Bash", Command: "cat > ./b.sh; chmod +x b.sh", Time: at(5)},
		{Name: "Edit", Path: "/workspace/a.go", Wrote: []string{"second"}, Time: at(2)},
		{Name: "Bash", Command: "make", Time: at(40), Ended: at(44)},
		{Name: "Bash", Command: "true", Time: at(41), Ended: at(41)},
		{Name: "Bash", Command: "sleep 9 &", Time: at(43), Ended: at(49)},
	}}
	for i, host := range []string{"early.example", "middle.example", "late.example"} {
		in.Audit = append(in.Audit, audit.Record{Time: at(5 + 20*i), Verdict: firewall.Allow, Name: host})
	}
	in.Audit = append(in.Audit, audit.Record{Time: at(6), Verdict: firewall.Deny, Name: "denied.example"})
	r, err := New(in)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range r.Files {
		for i, h := range f.Hunks {
			got[fmt.Sprint(f.Path, i)] = fmt.Sprint(h.Origin.Tool, " ", h.Origin.Time.Second(), " ", h.Origin.Read)
			if h.Origin.ByTime != (f.Path == "made.o") || h.Origin.ByTime && !strings.HasPrefix(h.Origin.String(), "while Bash ran: make; ") {
				t.Errorf("%s comes from %+v, %s", f.Path, h.Origin, h.Origin)
			}
		}
	}
	for name, want := range map[string]string{"a.go0": "Edit 1 [middle.example early.example]",
		"a.go1": "Edit 2 [middle.example early.example]",
		"b.sh0": "Bash 5 [early.example]", "c.txt0": "unknown 0 [late.example middle.example early.example]",
		"made.o0": "Bash 40 [middle.example early.example]",
		"gone0":   "unknown 0 [late.example middle.example early.example]"} {
		if got[name] != want {
			t.Errorf("%s: got %s, want %s", name, got[name], want)
		}
	}
	in.NoAudit = true
	if r, err = New(in); err != nil || !strings.Contains(r.Files[0].Hunks[0].Origin.String(), "is unknown") {
		t.Error(err, r.Files[0].Hunks[0].Origin)
	}
}

// manyChanges is a set of n changed files of some 1.5 KB of diff each.
func manyChanges(n int) Input {
	in := Input{Run: "r", Set: &changes.Set{Files: n}}
	for i := range n {
		a := []byte(strings.Repeat("an ordinary line of code\n", 20))
		b := append(bytes.Clone(a), fmt.Sprintf("func f%d(token string) { return key + \"x\" }\n", i)...)
		b = append(b, strings.Repeat("another line of some length, with a url https://example.com/x\n", 20)...)
		p := patchOf(a, b)
		in.Set.Changes = append(in.Set.Changes, changes.Change{Path: fmt.Sprintf("src/%d/file.go", i), Kind: changes.Changed,
			Before: &changes.State{What: changes.File}, After: &changes.State{What: changes.File}, When: 1,
			Patch: changes.Piece{At: int64(len(in.Patch)), Size: int64(len(p))}})
		in.Patch = append(in.Patch, p...)
		in.Calls = append(in.Calls, agent.Call{Name: "Edit", Path: fmt.Sprintf("/workspace/src/%d/file.go", i), Wrote: []string{string(b)}})
	}
	return in
}

// BenchmarkReview reviews 10,000 changed files, from the set to the first screen.
func BenchmarkReview(b *testing.B) {
	in := manyChanges(10_000)
	b.ReportAllocs()
	b.SetBytes(int64(len(in.Patch)))
	for b.Loop() {
		r, err := New(in)
		if err != nil || len(r.Screen(24, 80)) == 0 {
			b.Fatal(err)
		}
	}
}
