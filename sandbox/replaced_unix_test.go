//go:build unix

package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/test/workspacetest"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/workspace"
)

// Attack: the agent waits until somebody on the host takes what protects a path
// away, by a mount point that goes, and writes what comes there next. The run
// ends at once and says which path, wherever people and programs look.
func TestAttackWriteWhatTheHostReplacesDuringARun(t *testing.T) {
	e := connect(t)
	const wait = `cd /workspace; echo ready
while [ ! -e go-on ]; do
	for f in .devcontainer/devcontainer.json .vscode/tasks.json; do
		{ [ -e "${f%/*}" ] || mkdir -p "${f%/*}"; echo '#evil' >> $f; } 2>/dev/null
	done
done
echo "it ended by itself"`
	for _, c := range []struct {
		name, gone string
		command    []string
	}{
		{"git writes its config anew", "", []string{"remote", "add", "elsewhere", "https://example.com/x"}},
		{"another branch", ".devcontainer", []string{"checkout", "-q", "without"}},
		{"git removes empty folders", ".claude", []string{"clean", "-fdq"}},
		{"nothing that matters", "", []string{"commit", "-q", "--allow-empty", "-m", "three"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRepository(t)
			r.git("project", "branch", "without")
			r.write(".devcontainer/devcontainer.json", "{}\n")
			r.git("project", "add", ".devcontainer")
			r.git("project", "-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "two")
			tr := &trial{dir: r.dir, options: shell(wait)}
			tr.during = func(p *runplan.Plan, _ *workspace.Workspace) {
				if c.gone == "" {
					name := runplan.AgentContainer(p.ID)
					for _, args := range [][]string{{"exec", name, "true"}, {"cp", "/etc/hostname", name + ":/workspace/copied"},
						{"cp", name + ":/etc/hostname", "-"}} {
						if out, err := exec.Command("docker", args...).CombinedOutput(); err != nil {
							t.Errorf("docker %q: %v: %s", args, err, out)
						}
					}
				}
				r.git("project", append([]string{"-c", "core.hooksPath=/dev/null"}, c.command...)...)
				if c.gone == "" {
					r.write("go-on", "")
				}
			}
			tr.run(t, e)
			if c.gone == "" {
				if !strings.Contains(tr.stdout.String(), "by itself") || tr.result.ExitCode != exitcode.Failed ||
					tr.result.Outcome.Conclusion == agent.Unprotected {
					t.Errorf("it was ended: %+v, %d", tr.result.Outcome, tr.result.ExitCode)
				}
				return
			}
			names := func(s string) bool { return strings.Contains(s, c.gone) }
			if tr.err != nil || tr.result.ExitCode != exitcode.Unprotected || tr.result.Outcome.Conclusion != agent.Unprotected ||
				!names(tr.result.Outcome.Message) {
				t.Errorf("exit code %d, %+v, %v", tr.result.ExitCode, tr.result.Outcome, tr.err)
			}
			if !slices.ContainsFunc(tr.said, names) || !slices.ContainsFunc(tr.result.Warnings, names) ||
				strings.Contains(tr.stdout.String(), "by itself") {
				t.Errorf("nobody is told of %s: %q, %q", c.gone, tr.said, tr.result.Warnings)
			}
			if !strings.Contains(tr.stderr.String(), "sbx-init: error: ") ||
				!strings.Contains(tr.stderr.String(), runplan.WorkspaceTarget+"/"+c.gone) {
				t.Errorf("the first process did not notice it: %s", tr.stderr.String())
			}
		})
	}
}

// rememberedWorkspace is a project whose protected places are known.
func rememberedWorkspace(t *testing.T) (dir string, all workspace.Places) {
	t.Helper()
	dir = newProject(t, true)
	w, err := workspace.Inspect(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := plan(t, runplan.Options{}, w)
	placed, err := workspace.Place(dir, p.Project.Placeholders, os.Getuid(), os.Getgid())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { placed.Remove() })
	all, err = p.Project.Remember()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(all.Close)
	return dir, all
}

// A place is what is there, not what its name or number is: a folder that was
// made again often gets the number of the one before.
func TestAPlaceThatWasMadeAgainIsAnother(t *testing.T) {
	dir, all := rememberedWorkspace(t)
	if got := all.Replaced(); len(got) > 0 {
		t.Errorf("replaced already: %q", got)
	}
	vscode := filepath.Join(dir, ".vscode")
	if err := os.Remove(vscode); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(vscode, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := all.Replaced(); !slices.Equal(got, []string{".vscode"}) {
		t.Errorf("replaced are %q", got)
	}
}

// Attack: a file that says where a repository is, is written to in place, by
// another name that it has. Git itself never does that.
func TestAPlaceOfGitsThatHoldsSomethingElseIsNoticed(t *testing.T) {
	w := workspacetest.Folder(t, "sub/.git")
	if _, err := plan(t, runplan.Options{}, w).Project.Remember(); err == nil {
		t.Fatal("places that are missing are taken for protected")
	}
	p := plan(t, runplan.Options{}, w)
	p.Project.List = slices.DeleteFunc(p.Project.List, func(m workspace.Mount) bool { return m.Target != "/workspace/sub/.git" })
	all, err := p.Project.Remember()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(all.Close)
	if err := errors.Join(os.Link(filepath.Join(w.Dir, "sub", ".git"), filepath.Join(w.Dir, "same")),
		os.WriteFile(filepath.Join(w.Dir, "same"), []byte("evil"), 0o644)); err != nil {
		t.Fatal(err)
	}
	if got := all.Replaced(); !slices.Equal(got, []string{"sub/.git"}) {
		t.Errorf("replaced are %q", got)
	}
}
