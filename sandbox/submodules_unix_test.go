//go:build unix

package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/workspace"
)

// Attack: a submodule is not checked out, as after a plain clone, and the agent makes
// a repository in its folder. Git on the host obeys that one's configuration when
// somebody asks for the status of the project around it.
func TestAttackARepositoryInASubmoduleThatIsNotCheckedOut(t *testing.T) {
	t.Parallel()
	e := connect(t)
	for _, c := range []struct {
		name, below string   // the folder that the run is in
		places      []string // where a repository is tried, below that
		prepare     func(r *repository) error
	}{
		{"everywhere", "", []string{"sub", "sub2/inner", "nested/inner"}, func(*repository) error { return nil }},
		{"its folder is missing", "", []string{"sub"}, func(r *repository) error { return os.Remove(filepath.Join(r.dir, "sub")) }},
		{"in a repository inside", "nested", []string{"inner"}, func(*repository) error { return nil }},
		{"a folder of the repository", "tools", []string{"lib"},
			func(r *repository) error { r.git("clone", "mv", "sub", "tools/lib"); return nil }},
		{"a split index", "", []string{"sub"}, func(r *repository) error { r.git("clone", "update-index", "--split-index"); return nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRepository(t)
			base, local := filepath.Dir(r.dir), []string{"-c", "protocol.file.allow=always", "-c", "core.hooksPath=/dev/null"}
			if err := os.Mkdir(filepath.Join(base, "outer"), 0o755); err != nil {
				t.Fatal(err)
			}
			r.own(base)
			r.git("outer", "init", "-q", ".")
			r.git("outer", append(local, "submodule", "--quiet", "add", "../library", "inner")...)
			r.git("outer", "commit", "-q", "-m", "one")
			r.git("project", append(local, "submodule", "--quiet", "add", "../outer", "sub2")...)
			r.git("project", append(local, "commit", "-q", "-m", "two")...)
			r.clone()
			r.git("clone", append(local, "submodule", "--quiet", "update", "--init", "sub2")...)
			r.git("clone", append(local, "clone", "-q", "../outer", "nested")...)
			if err := c.prepare(r); err != nil {
				t.Fatal(err)
			}
			r.own(base)
			script := "cd /workspace; git status --short || echo broken\n"
			for _, p := range c.places {
				script += `mkdir -p ` + p + `/.git/objects ` + p + `/.git/refs; echo 'ref: refs/heads/main' > ` + p + `/.git/HEAD; (` + r.evil() +
					`) > ` + p + `/.git/config
mv ` + p + ` moved && echo DONE
`
			}
			dir := filepath.Join(r.dir, c.below)
			tr := (&trial{dir: dir, options: shell(script + "echo ready; while ! test -e stop; do sleep 0.05; done; echo finished"),
				during: func(*runplan.Plan, *workspace.Workspace) {
					if out, err := r.host(dir, "status", "--short"); err != nil || r.ran() {
						t.Errorf("git on the host while the agent works: %v: %s", err, out)
					}
					if err := os.WriteFile(filepath.Join(dir, "stop"), nil, 0o644); err != nil {
						t.Error(err)
					}
				}}).run(t, e)
			if out := tr.stdout.String(); strings.Contains(out, "DONE") || !strings.Contains(out, "finished") {
				t.Errorf("the agent says %q %q", out, tr.stderr.String())
			}
			r.own(r.dir)
			for _, folder := range []string{r.dir, dir, filepath.Join(r.dir, "sub2"), filepath.Join(r.dir, "nested")} {
				if _, err := os.Stat(folder); errors.Is(err, os.ErrNotExist) {
					continue
				}
				for _, args := range [][]string{{"status"}, {"diff"}, {"submodule", "status"}} {
					if out, err := r.host(folder, args...); r.ran() {
						t.Errorf("git %q on the host ran what the agent wrote: %s, %v", args, out, err)
					}
				}
			}
		})
	}
}
