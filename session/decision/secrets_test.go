//go:build unix

package decision

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/redact"
	"github.com/org/claude-sandbox/session/review"
)

const secretValue = `c4nary-Env/"7f3a9c"+Value`

// Attack: the agent writes a secret of the run into files, as it is, encoded, in pieces,
// into a binary and a large file, a link and a name, in front of 100 other changes. The
// review has all of them first, and nothing that it or the run's folder keeps shows the
// value.
func TestAttackASecretInFiles(t *testing.T) {
	const agent = `
printf 'a\nkey = "%s"\nb\n' "$V" >src/plain.go
{ echo blob; printf '%s' "$V" | base64 -w 10; } >src/encoded.txt
printf '%s' "$V" | od -An -tx1 -w4 >src/hex.txt
printf 'x = "c4nary-Env/\\"7f3" +\n    "a9c\\"+Value"\n' >src/pieces.py
printf 'bin\0%s' "$V" >src/data.bin
{ head -c 1500000 /dev/zero | tr '\0' x; printf '%s' "$V"; } >src/large.txt
ln -s "/tmp/c4nary-Env/\"7f3a9c\"+Value" src/link
printf x >"src/c4naryEnv7f3a9cValue.txt"
printf 'c4nary' >src/harmless.txt
mkdir many; for i in $(seq 1001); do : >many/$i; done; printf '%s' "$V" >many/777
for i in $(seq 100); do echo x >src/other$i.txt; done
`
	r := tryWith(t, false, "V='"+secretValue+"'\n"+agentDoes+agent)
	want := []string{"many", "src/c4naryEnv7f3a9cValue.txt", "src/data.bin", "src/encoded.txt", "src/hex.txt", "src/large.txt", "src/link",
		"src/pieces.py", "src/plain.go"}
	var got []string
	for _, f := range r.review.Files[:len(want)] {
		if f.Kinds[0] == review.Value && f.Unasked() {
			got = append(got, f.Path)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("first are %q", got)
	}
	if screen := r.review.Screen(24, 120); !strings.Contains(screen, "src/plain.go") || !strings.Contains(screen, "the value of KEY") {
		t.Errorf("the first screen:\n%s", screen)
	}
	var out bytes.Buffer
	if err := errors.Join(r.review.WriteText(&out, 24, 80), r.review.WriteJSON(&out), r.review.WriteHTML(&out)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"changes.diff", "changes.json", "changes.former"} {
		text, err := os.ReadFile(filepath.Join(r.keep, name))
		if err != nil {
			t.Fatal(err)
		}
		out.Write(text)
	}
	finder := redact.NewFinder([]redact.Named{{Name: "KEY", Value: secretValue}})
	for _, p := range finder.Find(out.Bytes()) {
		if text := out.Bytes()[p.At : p.At+p.Size]; string(text) != "c4naryEnv7f3a9cValue" { // a name must be told to be refused
			t.Errorf("it shows %q", out.Bytes()[max(0, p.At-80):p.At+p.Size])
		}
	}
	if run := (&Run{Review: r.review, Taken: Taken{}}); len(run.Auto([]string{"**"}, nil)) == 0 {
		t.Error("nothing is accepted at all")
	} else {
		for _, f := range r.review.Files[:len(want)] {
			if _, ok := run.Auto([]string{"**"}, nil)[f.Hunks[0].ID]; ok {
				t.Errorf("%s is accepted unseen", f.Path)
			}
		}
	}
}

// A hunk with a secret is refused, taken and mixed byte for byte, though the diff has
// asterisks in its place: also where the file held the secret before, and where it had
// asterisks of its own.
func TestDecisionsAboutFilesWithSecrets(t *testing.T) {
	before := lines(60, "10:had "+secretValue, "12:had **** too", "40:"+secretValue+" stays") + "end without a newline"
	after := strings.NewReplacer("line 3\n", "line 3: "+secretValue+"\r\n", "had "+secretValue+"\n", "no more\n", "had **** too\n", "*****\n",
		"line 41\n", "line 41 is "+secretValue+"\n", "end without a newline", "other end "+secretValue).Replace(before)
	for _, copied := range []bool{false, true} {
		pristine := t.TempDir()
		shell(t, pristine, "mkdir src; cat >src/held.txt <<'E'\n"+before+"\nE\ntruncate -s -1 src/held.txt")
		r := tryFiles(t, copied, map[string]string{"src/held.txt": before}, map[string]string{"src/held.txt": after})
		f := r.file(t, "src/held.txt")
		if len(f.Hunks) < 4 || f.Kinds[0] != review.Value {
			t.Fatalf("%d hunks, %v", len(f.Hunks), f.Kinds)
		}
		text, err := os.ReadFile(filepath.Join(r.keep, "changes.diff"))
		if err != nil || bytes.Contains(text, []byte("7f3a9c")) {
			t.Errorf("%s %v", text, err)
		}
		for n := range 1 << len(f.Hunks) {
			r := tryFiles(t, copied, map[string]string{"src/held.txt": before}, map[string]string{"src/held.txt": after})
			f := r.file(t, "src/held.txt")
			stays := func(id string) bool {
				i := slices.IndexFunc(f.Hunks, func(h review.Hunk) bool { return h.ID == id })
				return i >= 0 && n&(1<<i) != 0
			}
			if failed := settle(t, r, stays); len(failed) > 0 {
				t.Fatal(failed)
			}
			got, err := os.ReadFile(filepath.Join(r.work.Project, "src/held.txt"))
			if err != nil {
				t.Fatal(err)
			}
			for i, part := range []struct{ was, is string }{
				{"line 3\n", "line 3: " + secretValue + "\r\n"}, {"had " + secretValue + "\nline 11\nhad **** too\n", "no more\nline 11\n*****\n"},
				{"line 41\n", "line 41 is " + secretValue + "\n"}, {"end without a newline", "other end " + secretValue},
			} {
				here, gone := part.was, part.is
				if n&(1<<i) != 0 {
					here, gone = gone, here
				}
				if !bytes.Contains(got, []byte(here)) || bytes.Contains(got, []byte(gone)) {
					t.Fatalf("copied %v, decided %b: it holds\n%s", copied, n, got)
				}
			}
			if n == 0 && string(got) != before || n == 1<<len(f.Hunks)-1 && string(got) != after {
				t.Errorf("decided %b: it holds\n%s", n, got)
			}
		}
	}
}

// After a hunk with a secret was refused, a later decision about the file does not say that
// somebody changed it: nobody keeps the secret to tell. One about a hunk without a secret is
// made true, in whatever order.
func TestDecisionsAfterASecretWasRefused(t *testing.T) {
	before := lines(60)
	after := lines(60, "3:"+secretValue, "30:second", "55:third")
	for name, c := range map[string]struct {
		first, second int // hunks that are refused
		want          error
	}{
		"the secret first": {0, 1, ErrHidden}, "the secret last": {1, 0, nil}, "another": {1, 2, nil},
	} {
		r := tryFiles(t, false, map[string]string{"src/held.txt": before}, map[string]string{"src/held.txt": after})
		f := r.file(t, "src/held.txt")
		if len(f.Hunks) != 3 {
			t.Fatal(len(f.Hunks))
		}
		now := Taken{f.Hunks[c.first].ID: false}
		settleOnly(t, r, now, nil)
		held, err := os.ReadFile(filepath.Join(r.work.Project, "src/held.txt"))
		if err != nil {
			t.Fatal(err)
		}
		r.earlier = now
		settleOnly(t, r, Taken{f.Hunks[c.second].ID: false}, c.want)
		got, err := os.ReadFile(filepath.Join(r.work.Project, "src/held.txt"))
		if err != nil || bytes.Equal(got, held) != (c.want != nil) {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
}
