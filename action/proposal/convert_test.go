package proposal

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/gitbinary"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

var message = Message{Text: "m\n", Name: "n", Email: "e@example.com"}

// diff is the patch of file f that a run makes of the two contents; "" = there is no former one.
func diff(old, now string) string {
	head := "diff --git a/f b/f\n"
	if old == "" {
		head += "new file mode 100644\n"
	}
	if strings.Contains(old+now, "\x00") {
		was := gitbinary.None
		if old != "" {
			was = gitbinary.Name([]byte(old))
		}
		var b bytes.Buffer
		fmt.Fprintf(&b, "%sindex %s..%s\nGIT binary patch\nliteral %d\n", head, was, gitbinary.Name([]byte(now)), len(now))
		gitbinary.Append(&b, []byte(now))
		return b.String() + "\n"
	}
	var b strings.Builder
	for _, side := range []struct{ mark, text string }{{"-", old}, {"+", now}} {
		for line := range strings.Lines(side.text) {
			if b.WriteString(side.mark + line); !strings.HasSuffix(line, "\n") {
				b.WriteString("\n\\ No newline at end of file\n")
			}
		}
	}
	from, first := "a/f", 1
	if old == "" {
		from, first = "/dev/null", 0
	}
	return fmt.Sprintf("%s--- %s\n+++ b/f\n@@ -%d,%d +%d,%d @@\n%s", head, from, first, count(old), min(count(now), 1), count(now), b.String())
}

func count(text string) (n int) {
	for range strings.Lines(text) {
		n++
	}
	return n
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// wide is UTF-16 as git writes working-tree-encoding=UTF-16LE.
func wide(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		b.Write([]byte{c, 0})
	}
	return b.String()
}

// A patch of what a checkout has leads to the commit that git itself makes of it.
func TestAPatchOfACheckoutBecomesWhatGitCommits(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		testenv.Missing(t, "git", err.Error())
	}
	for name, c := range map[string]struct {
		attributes, committed string // "" = the file is new
		from, to              string // what changes in the checked-out file
	}{
		"nothing":                  {"", "one\ntwo\n", "two", "2"},
		"nothing, CRLF":            {"", "one\r\ntwo\r\n", "two", "2"},
		"nothing, new CRLF":        {"", "", "", "one\r\n"},
		"eol":                      {"f text eol=crlf", "one\ntwo\nthree\nfour", "two", "2"},
		"eol alone":                {"f eol=crlf", "one\ntwo\n", "two", "2"},
		"eol, line with LF":        {"f text eol=crlf", "one\ntwo\n", "two", "2\nand"},
		"eol, new":                 {"f text eol=crlf", "", "", "one\r\ntwo\r\n"},
		"eol, emptied":             {"f text eol=crlf", "one\ntwo\n", "one\r\ntwo\r\n", ""},
		"text, new CRLF":           {"f text", "", "", "one\r\n"},
		"text, CRLF added":         {"f text", "one\ntwo\n", "two", "2\r"},
		"auto, new CRLF":           {"f text=auto", "", "", "one\r\n"},
		"auto, new binary":         {"f text=auto", "", "", "one\r\n\x00"},
		"auto, CRLF added":         {"f text=auto", "one\ntwo\n", "two", "2\r"},
		"auto, CRLF is there":      {"f text=auto", "one\r\ntwo\r\n", "two", "2"},
		"no text":                  {"f -text", "", "", "one\r\n"},
		"ident":                    {"f ident", "$Id$\none\n", "one", "1"},
		"ident, new":               {"f ident", "", "", "$Id: abc $\n"},
		"encoding":                 {"f working-tree-encoding=ISO-8859-1", "\u00e9\none\n", "one", "\xe8"},
		"encoding, new":            {"f working-tree-encoding=ISO-8859-1", "", "", "\xe9\n"},
		"encoding of two bytes":    {"f text working-tree-encoding=UTF-16LE", "one\ntwo\n", wide("two"), wide("2")},
		"encoding and ends":        {"f text working-tree-encoding=UTF-16LE eol=crlf", "one\ntwo\n", wide("two"), wide("2")},
		"filter that is not there": {"f filter=other text", "one\ntwo\n", "two", "2\r"},
	} {
		t.Run(name, func(t *testing.T) {
			r := Repository{Dir: t.TempDir()}
			git(t, r.Dir, "init", "-q", "-b", "main")
			write(t, filepath.Join(r.Dir, ".gitattributes"), c.attributes+"\n")
			git(t, r.Dir, "add", "-A")
			if c.committed != "" { // by its bytes, not through the attributes
				write(t, filepath.Join(r.Dir, ".git", "f"), c.committed)
				hash := strings.TrimSpace(git(t, r.Dir, "hash-object", "-w", "--no-filters", ".git/f"))
				git(t, r.Dir, "update-index", "--add", "--cacheinfo", "100644,"+hash+",f")
			}
			git(t, r.Dir, "commit", "-qm", "start")
			file := filepath.Join(r.Dir, "f")
			var seen []byte
			if c.committed != "" {
				git(t, r.Dir, "checkout-index", "-f", "f")
				seen, _ = os.ReadFile(file)
			}
			now := c.to
			if c.from != "" {
				now = strings.Replace(string(seen), c.from, c.to, 1)
			}
			commit, refused, err := r.Commit(t.Context(), "HEAD", files(t, diff(string(seen), now)), message)
			if err != nil || len(refused) > 0 || commit == "" {
				t.Fatalf("%q %v %v, the checkout has %q", commit, refused, err, seen)
			}
			got := git(t, r.Dir, "cat-file", "blob", commit+":f")
			write(t, file, now)
			git(t, r.Dir, "add", "f")
			if want := git(t, r.Dir, "cat-file", "blob", ":f"); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// repository has file f with an attribute and content, committed as git does it.
func repository(t *testing.T, attributes, content string) Repository {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		testenv.Missing(t, "git", err.Error())
	}
	r := Repository{Dir: t.TempDir()}
	git(t, r.Dir, "init", "-q", "-b", "main")
	write(t, filepath.Join(r.Dir, ".gitattributes"), "f "+attributes+"\n")
	write(t, filepath.Join(r.Dir, "f"), content)
	git(t, r.Dir, "-c", "filter.lfs.clean=cat", "-c", "filter.lfs.process=", "-c", "filter.lfs.required=false", "add", "-A")
	git(t, r.Dir, "commit", "-qm", "start")
	return r
}

// A file that a program gives the agent in another form does not fit, and the refusal says why.
func TestAFileOfAFilterIsNamed(t *testing.T) {
	for name, c := range map[string]struct{ attribute, text, want string }{
		"lfs":         {"filter=lfs", diff("big\n", "bigger\n"), "its attribute is filter=lfs, and with lfs: true"},
		"lfs, binary": {"filter=lfs", diff("big\x00", "bigger\x00"), "its attribute is filter=lfs, and with lfs: true"},
		"another":     {"filter=crypt", diff("big\n", "bigger\n"), "its attribute is filter=crypt, a program"},
		"none":        {"ident", diff("big\n", "bigger\n"), "line 1 is not what the patch says"},
	} {
		commit, refused, err := repository(t, c.attribute, "pointer\n").Commit(t.Context(), "HEAD", files(t, c.text), message)
		if commit != "" || len(refused) != 1 || err != nil || !strings.Contains(refused[0].Why, c.want) ||
			name == "none" && !strings.HasSuffix(refused[0].Why, c.want) {
			t.Errorf("%s: %q %q %v", name, commit, refused, err)
		}
	}
}

// A file that a program would make another one of, before it is in a commit, is no part of one as it is.
func TestWhatAFilterWouldMakeIsNotCommittedWhole(t *testing.T) {
	const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
	for name, c := range map[string]struct{ attribute, was, now, want string }{
		"lfs, new":               {"filter=lfs", "", "all of it\n", "its attribute is filter=lfs"},
		"lfs, a pointer":         {"filter=lfs", "", pointer, ""},
		"lfs, another pointer":   {"filter=lfs", pointer, strings.Replace(pointer, "size 1", "size 2", 1), ""},
		"lfs, content in place":  {"filter=lfs", pointer, "all of it\n", "its attribute is filter=lfs"},
		"another, new":           {"filter=crypt", "", "in the clear\n", "its attribute is filter=crypt"},
		"another, of the commit": {"filter=crypt", "one\n", "two\n", ""},
	} {
		r := repository(t, c.attribute, c.was)
		if c.was == "" {
			git(t, r.Dir, "rm", "-q", "f")
			git(t, r.Dir, "commit", "-qm", "without")
		}
		commit, refused, err := r.Commit(t.Context(), "HEAD", files(t, diff(c.was, c.now)), message)
		if err != nil || (commit != "") != (c.want == "") || c.want != "" && (len(refused) != 1 || !strings.Contains(refused[0].Why, c.want)) {
			t.Errorf("%s: %q %q %v", name, commit, refused, err)
		}
	}
}

func TestAFileWithCRLFIsRemoved(t *testing.T) {
	const removed = "diff --git a/f b/f\ndeleted file mode 100644\n--- a/f\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-one\r\n"
	for committed, fits := range map[string]bool{"one\n": true, "one": false, "one\none\n": false} {
		r := repository(t, "text eol=crlf", committed)
		commit, refused, err := r.Commit(t.Context(), "HEAD", files(t, removed), message)
		if (commit != "") != fits || (len(refused) == 0) != fits || err != nil {
			t.Errorf("%q: %q %v %v", committed, commit, refused, err)
		}
	}
}

// Attack: bytes that are no text of the file's encoding are refused, and end no step.
func TestAttackBytesThatAreNoTextOfTheEncoding(t *testing.T) {
	r := repository(t, "text working-tree-encoding=UTF-16", "")
	git(t, r.Dir, "rm", "-q", "f")
	git(t, r.Dir, "commit", "-qm", "without")
	commit, refused, err := r.Commit(t.Context(), "HEAD", files(t, diff("", "no UTF-16\n")), message)
	if commit != "" || len(refused) != 1 || err != nil || !strings.Contains(refused[0].Why, "working-tree-encoding") {
		t.Errorf("%q %v %v", commit, refused, err)
	}
}
