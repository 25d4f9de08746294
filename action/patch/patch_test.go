package patch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/gitbinary"
	"github.com/org/claude-sandbox/sandbox/changes"
)

// added is the patch of a new file.
func added(path, mode string, lines ...string) string {
	text := fmt.Sprintf("diff --git a/%[1]s b/%[1]s\nnew file mode %[2]s\n--- /dev/null\n+++ b/%[1]s\n@@ -0,0 +1,%[3]d @@\n", path, mode,
		len(lines))
	for _, l := range lines {
		text += "+" + l + "\n"
	}
	return text
}

// contentOf is that of a binary file in a patch; was is the name of the former one.
func contentOf(was, content string) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "index %s..%s\nGIT binary patch\nliteral %d\n", was, gitbinary.Name([]byte(content)), len(content))
	gitbinary.Append(&b, []byte(content))
	return b.String() + "\n"
}

func addedBinary(path, mode, content string) string {
	return fmt.Sprintf("diff --git a/%[1]s b/%[1]s\nnew file mode %[2]s\n", path, mode) + contentOf(gitbinary.None, content)
}

func judge(t *testing.T, text string) Verdict {
	t.Helper()
	p, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	rules := Rules{MaxFiles: 3, MaxBytes: 100,
		Ignored: func(p string) bool { return strings.HasPrefix(p, "node_modules/") || p == "node_modules" }}
	return rules.Judge(p)
}

// Attack: the patch of an agent that wants more than to change files.
func TestAttackPatches(t *testing.T) {
	for name, tc := range map[string]struct{ patch, want string }{
		"path above":         {added("../x", Plain, "a"), "leads out"},
		"path above, inside": {added("a/../../x", Plain, "a"), "leads out"},
		"absolute":           {added("/etc/x", Plain, "a"), "leads out"},
		"not plain":          {added("a//x", Plain, "a"), "not plain"},
		"git directory":      {added(".git/hooks/pre-push", Plain, "a"), "in a git directory"},
		"git, case":          {added("sub/.GIT/config", Plain, "a"), "in a git directory"},
		"git, short":         {added("git~1/config", Plain, "a"), "in a git directory"},
		"git, stream":        {added(".git::$INDEX_ALLOCATION/config", Plain, "a"), `has a "\", a ":"`},
		"short name":         {added("GITMOD~1", Plain, "a"), "short one of Windows"},
		"dot at the end":     {added("a./x", Plain, "a"), "ends with a dot"},
		"link":               {added("x", "120000", "/etc/passwd"), "symbolic link"},
		"submodule":          {added("x", "160000", "Subproject commit 0"), "submodule"},
		"set-uid":            {added("x", "104755", "a"), `its mode is "104755"`},
		"no mode":            {added("x", "", "a"), "has no mode"},
		"binary, no mode":    {addedBinary("x", "", "a\x00"), "has no mode"},
		"link becomes file":  {"diff --git a/x b/x\nold mode 120000\nnew mode 100644\n", "symbolic link"},
		"file becomes link":  {"diff --git a/x b/x\nold mode 100644\nnew mode 120000\n", "symbolic link"},
		"binary":             {"diff --git a/x b/x\nnew file mode 100644\nBinary files /dev/null and b/x differ\n", "content is binary"},
		"binary, path above": {addedBinary("../x", Plain, "a\x00"), "leads out"},
		"binary, hook":       {addedBinary(".git/hooks/x", Plain, "a\x00"), "in a git directory"},
		"binary link":        {addedBinary("x", "120000", "/etc/passwd\x00"), "symbolic link"},
		"binary, huge":       {addedBinary("x", Plain, strings.Repeat("\x00", 101)), "at most 100 may be"},
		"binary, twice":      {addedBinary("x", Plain, "a\x00") + addedBinary("X", Plain, "b\x00"), "has it twice"},
		"binary, nothing":    {"diff --git a/x b/x\n" + contentOf(gitbinary.Name([]byte("a")), "a"), "says nothing"},
		"NUL":                {added("x", Plain, "a\x00b"), "content is binary"},
		"huge":               {added("x", Plain, strings.Repeat("a", 101)), "at most 100 may be"},
		"many": {added("1", Plain, "a") + added("2", Plain, "a") + added("3", Plain, "a") + added("4", Plain, "a"),
			"at most 3 may"},
		"twice":           {added("x", Plain, "a") + added("x", Plain, "b"), "has it twice"},
		"twice, case":     {added("x", Plain, "a") + added("X", Plain, "b"), "has it twice"},
		"nothing":         {"diff --git a/x b/x\n", "says nothing"},
		"file and folder": {added("x", Plain, "a") + added("x/y", Plain, "b"), "x/y: the patch has the file x, too"},
		"folder and file": {added("x/y/z", Plain, "a") + added("X", Plain, "b"), "the patch has the file X, too"},
	} {
		t.Run(name, func(t *testing.T) {
			v := judge(t, tc.patch)
			if len(v.Refused) == 0 || !strings.Contains(fmt.Sprint(v.Refused), tc.want) {
				t.Errorf("refused: %v, want %q", v.Refused, tc.want)
			}
		})
	}
	for name, path := range map[string]string{
		"backslash": `a\\..\\x`, "control": `a\nb`, "no UTF-8": `a\377`, "zero width": `a\342\200\213b`, "direction": `a\342\200\256b`,
	} {
		text := strings.ReplaceAll(added("@", Plain, "a"), "a/@", `"a/`+path+`"`)
		if v := judge(t, strings.ReplaceAll(text, "b/@", `"b/`+path+`"`)); len(v.Refused) == 0 {
			t.Errorf("%s: not refused", name)
		}
	}
}

// Attack: texts that git apply reads, and in which a reader and git could see different things.
func TestAttackPatchForms(t *testing.T) {
	hunk := "@@ -1,1 +1,1 @@\n-a\n+b\n"
	good := addedBinary("x", Plain, "a")
	if p, err := Parse([]byte(good)); err != nil || len(p.Files) != 1 {
		t.Fatalf("%v\n%s", err, good)
	}
	for name, text := range map[string]string{
		"rename":                   "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n",
		"rename, one name":         "diff --git a/x b/x\nrename from x\nrename to .git/config\n",
		"copy":                     "diff --git a/x b/x\ncopy from x\ncopy to y\n",
		"git's binary":             "diff --git a/x b/x\nGIT binary patch\nliteral 1\nIcmZ\n",
		"binary, no content":       strings.Replace(good, "literal", "Literal", 1),
		"binary, a delta":          strings.Replace(good, "literal 1\n", "delta 1\n", 1),
		"binary, both forms":       good + "delta 1\nIcmZ\n\n",
		"binary, the reverse, too": good + "literal 0\nHcmV?d00001\n\n",
		"binary, too short":        strings.Replace(good, "literal 1\n", "literal 2\n", 1),
		"binary, too long":         strings.Replace(good, "literal 1\n", "literal 0\n", 1),
		"binary, negative":         strings.Replace(good, "literal 1\n", "literal -1\n", 1),
		"binary, a sign":           strings.Replace(good, "literal 1\n", "literal +1\n", 1),
		"binary, huge":             strings.Replace(good, "literal 1\n", "literal 99999999999999\n", 1),
		"binary, no name":          strings.Replace(good, gitbinary.Name([]byte("a")), "1234567", 1),
		"binary, another name":     strings.Replace(good, gitbinary.Name([]byte("a")), gitbinary.Name([]byte("b")), 1),
		"binary, no names":         strings.Replace(good, "..", " ", 1),
		"binary, a mode":           strings.Replace(good, "\nGIT", " 120000\nGIT", 1),
		"binary, new and old":      strings.Replace(good, gitbinary.None, gitbinary.Name([]byte("b")), 1),
		"binary, not new":          strings.Replace(good, "new file mode 100644\n", "", 1),
		"binary, and hunks":        strings.TrimSuffix(good, "\n") + "--- /dev/null\n+++ b/x\n@@ -0,0 +1,1 @@\n+a\n",
		"binary, no end":           strings.TrimSuffix(good, "\n"),
		"binary, text behind":      strings.TrimSuffix(good, "\n") + "IcmZ\n\n",
		"binary, wrong length":     strings.Replace(good, "literal 1\n", "literal 1\nz", 1),
		"binary, wrong letter":     strings.Replace(good, "literal 1\n", "literal 1\nE\"\"\"\"\"\n", 1),
		"binary, too large digits": strings.Replace(good, "literal 1\n", "literal 1\nD~~~~~\n", 1),
		"binary, removed with":     strings.Replace(good, "new file", "deleted file", 1),
		"another name":             "diff --git a/x b/x\n--- a/x\n+++ b/.git/config\n" + hunk,
		"another old name":         "diff --git a/x b/x\n--- a/y\n+++ b/x\n" + hunk,
		"a timestamp":              "diff --git a/x b/x\n--- a/x\n+++ b/x\t2026-01-01\n" + hunk,
		"no header":                "--- a/x\n+++ b/x\n" + hunk,
		"index":                    "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n" + hunk,
		"a mail":                   "From 0 Mon Sep 17 00:00:00 2001\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n" + hunk,
		"short hunk":               "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,1 @@\n-a\n",
		"long hunk":                "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n-a\n-c\n+b\n",
		"text behind":              "diff --git a/x b/x\n--- a/x\n+++ b/x\n" + hunk + "+c\n",
		"start 0":                  "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -0,1 +1,1 @@\n-a\n+b\n",
		"a negative number":        "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ --1,1 +1,1 @@\n-a\n+b\n",
		"a huge number":            "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,99999999999 +1,1 @@\n-a\n+b\n",
		"no end":                   "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n-a\n+b",
		"no hunk":                  "diff --git a/x b/x\n--- a/x\n+++ b/x\n",
	} {
		if p, err := Parse([]byte(text)); err == nil {
			t.Errorf("%s: read as %+v", name, p)
		}
	}
}

func TestProtectedFiles(t *testing.T) {
	for _, path := range []string{".github/workflows/x.yml", "package.json", "sub/package-lock.json", "CODEOWNERS", "CLAUDE.md",
		".claude/settings.json", ".hidden/x",
		".gitmodules", "a/action.yml", "Makefile", "go.sum", ".mcp.json"} {
		if v := judge(t, added(path, Plain, "a")); len(v.Protected) != 1 || len(v.Refused) > 0 {
			t.Errorf("%s: %+v", path, v)
		}
	}
	if v := judge(t, added("src/x.go", Plain, "a")+added("tool", Executable, "a")); len(v.Protected) != 1 || v.Protected[0].Path != "tool" {
		t.Errorf("a new program: %v", v.Protected)
	}
	v := judge(t,
		added("node_modules/a.js", Plain, "a")+"sbx-devc: node_modules/: 40,000 new files, 1 GB\nsbx-devc: a.png: new, it is binary\n")
	if len(v.Files) > 0 || len(v.Ignored) != 1 || len(v.Protected) != 1 || !strings.Contains(v.Protected[0].Why, "a.png") {
		t.Errorf("ignored files: %+v", v)
	}
}

// What no commit has, such as an empty folder, waits for nobody.
func TestChangesThatNoCommitHas(t *testing.T) {
	dir, keep := t.TempDir(), t.TempDir()
	write(t, filepath.Join(dir, "private.txt"), []byte("a\n"))
	write(t, filepath.Join(dir, "tool"), []byte("a\n"))
	for _, name := range []string{"gone", "closed"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	look, err := changes.Take(t.Context(), dir, changes.Options{Keep: keep, Binaries: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "new", "empty"), 0o755), os.Remove(filepath.Join(dir, "gone")),
		os.Chmod(filepath.Join(dir, "closed"), 0o700),
		os.Chmod(filepath.Join(dir, "private.txt"), 0o600), os.Chmod(filepath.Join(dir, "tool"), 0o755)); err != nil {
		t.Fatal(err)
	}
	var diff bytes.Buffer
	if err := look.Compare(t.Context()).WritePatch(&diff); err != nil {
		t.Fatal(err)
	}
	v := judge(t, diff.String())
	if len(v.Refused) > 0 || len(v.Files) != 1 || len(v.Protected) != 1 || v.Protected[0].Path != "tool" {
		t.Errorf("%+v\n%s", v, diff.String())
	}
	if v := judge(t, "sbx-devc: lib/: 40,000 new files, 1 GB\n"); len(v.Protected) != 1 {
		t.Errorf("files that are not in the patch: %+v", v)
	}
}

// Attack: a few lines that become very much. The size that they say bounds what is made of
// them, and all sizes together are bounded.
func TestAttackInflations(t *testing.T) {
	big := addedBinary("x", Plain, strings.Repeat("\x00", 20<<20))
	lied := strings.Replace(big, fmt.Sprintf("literal %d\n", 20<<20), "literal 10\n", 1)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Parse([]byte(lied))
	runtime.ReadMemStats(&after)
	if err == nil || after.TotalAlloc-before.TotalAlloc > 4<<20 {
		t.Errorf("%v, %d bytes were needed", err, after.TotalAlloc-before.TotalAlloc)
	}
	if _, err := Parse([]byte(big + strings.ReplaceAll(big, "/x", "/y"))); err == nil || !strings.Contains(err.Error(), "more than 32 MiB") {
		t.Errorf("twice 20 MiB: %v", err)
	}
}

// Attack: a patch of 24 MiB that is millions of lines takes gigabytes, and ten seconds.
func TestAttackVeryManyLines(t *testing.T) {
	const lines = 1 << 16
	text := []byte(fmt.Sprintf("diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1,%d @@\n", lines) +
		strings.Repeat("+\n", lines))
	if n := testing.AllocsPerRun(3, func() {
		if p, err := Parse(text); err != nil || p.Files[0].Plus != lines {
			t.Error(err)
		}
	}); n > 50 {
		t.Errorf("%v allocations", n)
	}
}

// A picture that is one goes into the pull request as text does; for everything else that is
// binary a person has to look.
func TestBinaryFiles(t *testing.T) {
	const png = "\x89PNG\r\n\x1a\n\x00\x00"
	for path, tc := range map[string]struct {
		content string
		shown   bool
	}{
		"a.png": {png, true}, "b/A.PNG": {png, true}, "a.jar": {png, false}, "a.png.so": {png, false}, "x.png": {"PK\x03\x04\x00", false},
		"tool": {"\x7fELF\x00", false},
	} {
		v := judge(t, addedBinary(path, Plain, tc.content))
		if len(v.Refused) > 0 || len(v.Files) != 1 || (len(v.Protected) == 0) != tc.shown {
			t.Errorf("%s: %+v", path, v)
		}
	}
	p, err := Parse([]byte("diff --git a/x b/x\n" + contentOf(gitbinary.Name([]byte("old\x00")), "new\x00")))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := p.Files[0].Apply([]byte("old\x00")); string(got) != "new\x00" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := p.Files[0].Apply([]byte("Old\x00")); err == nil {
		t.Errorf("of another content: %q", got)
	}
}

// A patch of the whole repository, judged as one of a folder, would land in that folder's own
// folder of the same name.
func TestPathsOfTheRepositoryBelowAFolder(t *testing.T) {
	p, err := Parse([]byte(added("packages/a/x", Plain, "a")))
	if err != nil {
		t.Fatal(err)
	}
	rules := Rules{MaxFiles: 3, MaxBytes: 100, Ignored: func(string) bool { return false }}
	for folder, refused := range map[string]bool{"packages/a": true, "": false, "packages/b": false} {
		rules.Folder = folder
		if v := rules.Judge(p); (len(v.Refused) > 0) != refused {
			t.Errorf("%q: %v", folder, v.Refused)
		}
	}
}

// Content that is not what the patch was made of is not changed.
func TestAttackHunksThatDoNotFit(t *testing.T) {
	p, err := Parse([]byte("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -2,2 +2,2 @@\n two\n-three\n+3\n"))
	if err != nil {
		t.Fatal(err)
	}
	for old, want := range map[string]string{
		"one\ntwo\nthree\nfour\n": "one\ntwo\n3\nfour\n", "one\ntwo\nthree\n": "one\ntwo\n3\n",
		"two\nthree\n": "", "one\n\ntwo\nthree\n": "", "one\ntwo\nthree": "", "": "", "one\ntwo\nTHREE\n": "",
	} {
		got, err := p.Files[0].Apply([]byte(old))
		if string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", old, got, err)
		}
	}
}

// The patch that a run writes about random changes leads from the old files to the new ones.
func TestAPatchOfARunLeadsToItsFiles(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	text := func() []byte {
		var b bytes.Buffer
		for range random.IntN(12) {
			fmt.Fprintf(&b, "%s%d\n", strings.Repeat("\t", random.IntN(2)), random.IntN(4))
		}
		if random.IntN(3) == 0 {
			b.WriteString("no end")
		}
		if random.IntN(4) == 0 {
			b.Write(make([]byte, random.IntN(200)))
		}
		return b.Bytes()
	}
	dir, keep := t.TempDir(), t.TempDir()
	before := map[string][]byte{}
	name := func(i int) string { return fmt.Sprintf("d %d/f\"ü%d", i%3, i) }
	for i := range 60 {
		before[name(i)] = text()
		write(t, filepath.Join(dir, name(i)), before[name(i)])
	}
	look, err := changes.Take(context.Background(), dir, changes.Options{Keep: keep, Binaries: true})
	if err != nil {
		t.Fatal(err)
	}
	after := map[string][]byte{}
	for i := range 80 {
		full := filepath.Join(dir, name(i))
		if random.IntN(4) == 0 {
			_ = os.Remove(full)
			continue
		}
		after[name(i)] = text()
		write(t, full, after[name(i)])
	}
	var diff bytes.Buffer
	if err := look.Compare(context.Background()).WritePatch(&diff); err != nil {
		t.Fatal(err)
	}
	p, err := Parse(diff.Bytes())
	if err != nil || len(p.Files) < 60 || len(p.Notes) > 0 {
		t.Fatalf("%v, %d files, notes %v\n%s", err, len(p.Files), p.Notes, diff.String())
	}
	for _, f := range p.Files {
		got, err := f.Apply(before[f.Path])
		if err != nil || !bytes.Equal(got, after[f.Path]) {
			t.Errorf("%s: %q, %v, want %q", f.Path, got, err, after[f.Path])
		}
		if _, exists := after[f.Path]; exists == f.Removed {
			t.Errorf("%s: removed %v", f.Path, f.Removed)
		}
		delete(before, f.Path)
	}
	for name, text := range before { // of which the patch says nothing
		if !bytes.Equal(text, after[name]) {
			t.Errorf("%s changed, and is not in the patch", name)
		}
	}
}

func write(t *testing.T, name string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(added("x", Plain, "a")+"sbx-devc: a: b\n"), []byte("a\n"))
	f.Add([]byte(addedBinary("x", Plain, "a\x00")+"diff --git a/y b/y\n"+contentOf(gitbinary.Name([]byte("a\n")), "\x00")), []byte("a\n"))
	f.Add([]byte("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n-a\n+b\n\\ No newline at end of file\n"), []byte("a\n"))
	f.Fuzz(func(t *testing.T, text, old []byte) {
		p, err := Parse(text)
		if err != nil {
			return
		}
		v := Rules{MaxFiles: 9, MaxBytes: 99, Ignored: func(string) bool { return false }}.Judge(p)
		for _, file := range v.Files {
			_, _ = file.Apply(old)
			if slices.Contains(strings.Split(file.Path, "/"), "..") {
				t.Errorf("a path leads out: %q", file.Path)
			}
		}
	})
}
