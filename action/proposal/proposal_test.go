package proposal

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/action/patch"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// checkout is a repository with a commit, a folder that is a link, and a submodule's place.
func checkout(t *testing.T) (Repository, string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		testenv.Missing(t, "git", err.Error())
	}
	r := Repository{Dir: t.TempDir()}
	for name, text := range map[string]string{"a.txt": "one\ntwo\n", "run.sh": "#!/bin/sh\n", ".gitattributes": "*.txt filter=evil\n",
		".gitignore": "dist/\n"} {
		if err := os.WriteFile(filepath.Join(r.Dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc", filepath.Join(r.Dir, "link")); err != nil {
		t.Fatal(err)
	}
	git(t, r.Dir, "init", "-q", "-b", "main")
	git(t, r.Dir, "add", "-A")
	git(t, r.Dir, "update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",sub")
	git(t, r.Dir, "commit", "-qm", "start")
	for _, key := range []string{"clean", "smudge"} {
		git(t, r.Dir, "config", "filter.evil."+key, "touch "+filepath.Join(r.Dir, "EVIL"))
	}
	head, err := r.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r, head
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.com", "GIT_COMMITTER_NAME=t",
		"GIT_COMMITTER_EMAIL=t@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// files parses the hunks of one new file or change each.
func files(t *testing.T, text string) []patch.File {
	t.Helper()
	p, err := patch.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p.Files
}

func created(name string) string {
	return "diff --git a/" + name + " b/" + name + "\nnew file mode 100644\n--- /dev/null\n+++ b/" + name + "\n@@ -0,0 +1,1 @@\n+x\n"
}

const changed = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"

func TestCommitIsMadeOfObjectsAlone(t *testing.T) {
	r, head := checkout(t)
	before := git(t, r.Dir, "status", "--porcelain", "--ignore-submodules")
	_ = os.Remove(filepath.Join(r.Dir, "EVIL")) // status obeys filters
	for key, value := range map[string]string{"process": "touch " + filepath.Join(r.Dir, "EVIL"), "required": "true"} {
		git(t, r.Dir, "config", "filter.evil."+key, value)
	}
	commit, refused, err := r.Commit(t.Context(), head, files(t, changed+created("new/b.md")),
		Message{Text: "m\n", Name: "n", Email: "e@example.com"})
	if _, refused, err := r.Commit(t.Context(), head, files(t, created("c.txt")), Message{Text: "m\n"}); err != nil || len(refused) != 1 {
		t.Errorf("a new file of the filter: %q %v", refused, err)
	}
	for _, key := range []string{"process", "required"} {
		git(t, r.Dir, "config", "--unset", "filter.evil."+key)
	}
	if err != nil || len(refused) > 0 || commit == "" {
		t.Fatalf("%q %v %v", commit, refused, err)
	}
	if _, err := os.Lstat(filepath.Join(r.Dir, "EVIL")); err == nil {
		t.Error("a filter ran")
	}
	if got := git(t, r.Dir, "show", commit+":a.txt") + git(t, r.Dir, "show", commit+":new/b.md"); got != "one\n2\nx\n" {
		t.Errorf("%q", got)
	}
	if got := git(t, r.Dir, "log", "-1", "--format=%P %an <%ae> %s", commit); got != head+" n <e@example.com> m\n" {
		t.Errorf("%q", got)
	}
	if now, _ := r.Head(t.Context()); now != head || git(t, r.Dir, "status", "--porcelain", "--ignore-submodules") != before {
		t.Error("the checkout changed")
	}
	if commit, _, err := r.Commit(t.Context(), head, nil, Message{Text: "m\n"}); err != nil || commit != "" {
		t.Errorf("of nothing: %q, %v", commit, err)
	}
}

// Attack: a file's place is a link, a submodule, below one of them, or another spelling of
// what is there.
func TestAttackPlaces(t *testing.T) {
	r, head := checkout(t)
	for _, name := range []string{"link", "link/passwd", "sub", "sub/x", "a.txt/x", "A.TXT"} {
		commit, refused, err := r.Commit(t.Context(), head, files(t, created(name)), Message{Text: "m\n"})
		if err == nil && (commit != "" || len(refused) == 0) {
			t.Errorf("%s: %q %v", name, commit, refused)
		}
	}
	wrong := strings.Replace(changed, " one", " uno", 1)
	if commit, refused, err := r.Commit(t.Context(), head, files(t, wrong), Message{Text: "m\n"}); commit != "" ||
		len(refused) != 1 || err != nil {
		t.Errorf("lines that are not there: %q %v %v", commit, refused, err)
	}
}

func TestIgnoredAndBranches(t *testing.T) {
	r, _ := checkout(t)
	ignored, err := r.Ignored(t.Context(), []string{"dist/x", "a.txt", "b c\nd.txt"})
	if err != nil || len(ignored) != 1 || !ignored["dist/x"] {
		t.Errorf("%v %v", ignored, err)
	}
	for branch, good := range map[string]bool{"claude/x-1": true, "a..b": false, "-x": false, "x.lock": false, "@{-1}": false,
		"": false, "a b": false} {
		if err := r.CheckBranch(t.Context(), branch); (err == nil) != good {
			t.Errorf("%q: %v", branch, err)
		}
	}
}
