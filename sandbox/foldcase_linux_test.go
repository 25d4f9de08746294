package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/test/foldtest"
)

// everySpelling is an agent that writes what git on the host would obey, through
// every name of .git in a folder, $1, and of the folder itself.
const everySpelling = `
evil() { mkdir -p "$1/hooks" "$1/objects/info"; for f in config HEAD hooks/post-checkout info/attributes new; ` +
	`do echo '#evil' >> "$1/$f"; done; echo '#evil' >> "$1"; }
every() { for g in .{g,G}{i,I}{t,T} {g,G}{i,I}{t,T}~1; do evil "$1$g"; done 2>/dev/null; }
`

// Attack: where the host's file system does not tell upper from lower case, the
// agent writes to the host's .git by another spelling. Judged by the folder that
// the file system keeps its files in.
func TestAttackReachTheHostsGitByAnotherSpelling(t *testing.T) {
	t.Parallel()
	e := connect(t)
	for name, places := range map[string]foldtest.Places{"one place": foldtest.OnePlace, "a place for each spelling": foldtest.PlaceEach} {
		for _, kind := range []string{"a repository", "without a repository", "a linked worktree", "with a submodule"} {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				r := newRepository(t)
				r.write(".mcp.json", "{}\n")
				var own []string // what must not change
				kept := r.dir
				switch kind {
				case "a repository":
					r.git("project", "submodule", "--quiet", "deinit", "-f", "sub")
					own = []string{".git"}
				case "without a repository":
					for _, gone := range []string{".git", "sub"} {
						if err := os.RemoveAll(filepath.Join(r.dir, gone)); err != nil {
							t.Fatal(err)
						}
					}
				case "a linked worktree":
					kept = r.worktree
					own = []string{".git"}
				case "with a submodule":
					own = []string{".git", "sub/.git"}
				}
				before := ""
				look := func() (all string) {
					for _, rel := range own {
						all += snapshot(t, filepath.Join(kept, rel))
					}
					return all
				}
				before = look()
				tr := &trial{dir: foldtest.Mount(t, kept, places), options: shell(everySpelling + `
cd /workspace; every ./; every sub/; every SUB/; every Sub/
git status >/dev/null && echo git works; echo evil > .MCP.JSON; echo finished`)}
				tr.run(t, e)
				if look() != before {
					t.Errorf("the host's git directory changed: %s", tr.stdout.String())
				}
				if kind == "without a repository" {
					entries, _ := os.ReadDir(kept)
					for _, entry := range entries {
						if strings.EqualFold(entry.Name(), ".git") {
							t.Errorf("the agent made %s", entry.Name())
						}
					}
				}
				if refused := kind == "with a submodule" && places == foldtest.PlaceEach; refused {
					if strings.Contains(tr.stdout.String(), "finished") ||
						!strings.Contains(tr.stderr.String(), "leads past what is mounted at /workspace/sub/.GIT") {
						t.Errorf("the run was not refused: %s %s", tr.stdout.String(), tr.stderr.String())
					}
					return
				}
				if all := strings.Join(tr.result.Warnings, "\n"); kind != "a linked worktree" && !strings.Contains(all, ".mcp.json") {
					t.Errorf("what else the agent wrote is not named: %s", all)
				}
				if !strings.Contains(tr.stdout.String(), "finished") {
					t.Errorf("the agent did not come to its end: exit code %d, %v, %s", tr.result.ExitCode, tr.err, tr.stderr.String())
				}
			})
		}
	}
}
