//go:build unix

package sandbox

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/workspace/gitdir"
)

// A project keeps files in Git LFS. With git-lfs in the image and without it, git
// works, the host's store does not change, and the run says what is committed.
func TestFilesOfLFS(t *testing.T) {
	t.Parallel()
	e := connect(t)
	for name, c := range map[string]struct{ system, committed string }{
		"with git-lfs in the image": {"", "version https://git-lfs.github.com/spec/v1\n"},
		"without it":                {"export GIT_CONFIG_NOSYSTEM=1", "changed content\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t)
			content := "large content\n"
			sum := fmt.Sprintf("%x", sha256.Sum256([]byte(content)))
			pointer := fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n", sum, len(content))
			store := filepath.Join(r.dir, ".git", "lfs", "objects")
			kept := filepath.Join(store, sum[:2], sum[2:4], sum)
			if err := errors.Join(os.MkdirAll(filepath.Dir(kept), 0o755), os.WriteFile(kept, []byte(content), 0o644)); err != nil {
				t.Fatal(err)
			}
			r.own(r.dir)
			r.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
			r.write("a.bin", content)
			r.write("b.bin", content)
			r.write("../pointer", pointer)
			for _, old := range []string{"a.bin", "b.bin"} { // than the index, as files are
				hourAgo := time.Now().Add(-time.Hour)
				if err := os.Chtimes(filepath.Join(r.dir, old), hourAgo, hourAgo); err != nil {
					t.Fatal(err)
				}
			}
			// git-lfs on the host would make the same of it.
			filter := []string{"-c", "filter.lfs.clean=cat ../pointer", "-c", "filter.lfs.required=true", "-c", "core.hooksPath=/dev/null"}
			r.git("project", append(filter, "add", "-A")...)
			r.git("project", append(filter, "commit", "-q", "-m", "two")...)
			before := snapshot(t, store)
			tr := (&trial{dir: r.dir, options: shell(`set -e; cd /workspace; ` + c.system + `
git status --porcelain; git log -1 --format=%s; git diff HEAD --stat; git show HEAD:a.bin
echo 'changed content' > a.bin; git add a.bin; git commit -q -m agent; git status --porcelain
git checkout -q HEAD~1 -- a.bin; cat a.bin; git checkout -q HEAD -- a.bin; echo finished`)}).run(t, e)
			if out := tr.stdout.String(); !strings.Contains(out, "finished") || strings.Contains(out, " M ") ||
				!strings.Contains(out, "oid sha256:"+sum) {
				t.Fatalf("the agent says %s %s", out, tr.stderr.String())
			}
			if after := snapshot(t, store); after != before {
				t.Error("the host's store changed")
			}
			if err := gitdir.Apply(t.Context(), tr.state, tr.result.Commits); err != nil {
				t.Fatal(err)
			}
			r.own(r.dir)
			branch := "sbx/" + tr.plan.ID
			if text, _ := r.host(r.dir, "show", branch+":a.bin"); !strings.HasPrefix(text, c.committed) {
				t.Errorf("the commit holds %q", text)
			}
			if text, _ := r.host(r.dir, "show", branch+":b.bin"); text != pointer {
				t.Errorf("a file that nobody changed is %q", text)
			}
		})
	}
}
