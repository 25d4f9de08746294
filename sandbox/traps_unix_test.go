//go:build unix

package sandbox

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/internal/test/workspacetest"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/workspace"
)

// repository is a project with everything that git on the host obeys: a
// submodule, a worktree elsewhere, hooks of its own and an included file.
type repository struct {
	t        *testing.T
	dir      string // the project
	worktree string // a linked worktree beside it
	marker   string // exists when git on the host ran a command of the agent
}

func newRepository(t *testing.T) *repository {
	t.Helper()
	testenv.Program(t, "git")
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &repository{t: t, dir: filepath.Join(base, "project"), worktree: filepath.Join(base, "tree"),
		marker: filepath.Join(base, "project", "RAN")}
	for _, d := range []string{filepath.Dir(base), base} {
		if err := os.Chmod(d, 0o755); err != nil { // the owner's git must come through
			t.Fatal(err)
		}
	}
	for _, d := range []string{filepath.Join(base, "library"), r.dir} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r.own(base)
	r.git("library", "init", "-q", ".")
	r.git("library", "commit", "-q", "--allow-empty", "-m", "one")
	r.git("project", "init", "-q", ".")
	r.git("project", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../library", "sub")
	r.write(".githooks/post-commit", "#!/bin/sh\n")
	r.write("tools/gitconfig", "[user]\n\tname = a\n")
	r.git("project", "add", "-A")
	r.git("project", "commit", "-q", "-m", "one")
	r.git("project", "worktree", "add", "-q", r.worktree)
	r.git("project", "config", "core.hooksPath", ".githooks")
	r.git("project", "config", "include.path", "../tools/gitconfig")
	return r
}

// own gives everything below dir to the user whose git runs, if we may.
func (r *repository) own(dir string) {
	r.t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	err := filepath.WalkDir(dir, func(file string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(file, 1000, 1000))
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *repository) write(name, text string) {
	r.t.Helper()
	file := filepath.Join(r.dir, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o755)); err != nil {
		r.t.Fatal(err)
	}
	r.own(filepath.Dir(file))
}

// host runs git as the project's owner would, in a folder beside or below the
// project, and returns what it says.
func (r *repository) host(folder string, args ...string) (string, error) {
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(filepath.Dir(r.dir), folder)
	}
	cmd := exec.Command("git", args...)
	cmd.Dir = folder
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b.example", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b.example"}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1000, Gid: 1000}}
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (r *repository) git(folder string, args ...string) {
	r.t.Helper()
	if out, err := r.host(folder, args...); err != nil {
		r.t.Fatalf("git %q: %v: %s", args, err, out)
	}
}

// ran reports whether git on the host ran something of the agent's, and
// forgets about it.
func (r *repository) ran() bool { return os.Remove(r.marker) == nil }

// evil is a configuration that makes git touch the marker, in the shell's words.
func (r *repository) evil() string {
	return `printf '[core]\n\tfsmonitor = "touch ` + r.marker + `; false"\n\trepositoryformatversion = 0\n\tbare = false\n' `
}

func TestAgentCannotRepointSubmodulesWorktreesHooksOrIncludes(t *testing.T) {
	e := connect(t)
	r := newRepository(t)
	tr := (&trial{dir: r.dir, options: shell(`
cd /workspace
mkdir evil evil/objects evil/refs; ` + r.evil() + `> evil/config
# mv would copy and delete what it cannot rename
mkdir /tmp/bin; printf '#!/bin/sh\nexec python3 -c "import os,sys; os.rename(sys.argv[1], sys.argv[2])" "$1" old\n' > /tmp/bin/rename; ` +
		`chmod +x /tmp/bin/rename; PATH=/tmp/bin:$PATH
mkdir one && rename one && rmdir old && echo "rename works"
try() { if sh -c "$1" 2>/dev/null; then echo "DONE $1"; else echo stopped; fi; }
cat evil/config >> .git/config; cat evil/config >> .git/modules/sub/config; ` +
		`mkdir -p .git/hooks .git/modules/sub/hooks .git/modules/new/hooks
for h in post-commit post-checkout reference-transaction pre-auto-gc; do printf "#!/bin/sh\ntouch ` + r.marker +
		`\n" | tee .git/hooks/$h .git/modules/sub/hooks/$h .git/modules/new/hooks/$h; done >/dev/null
chmod +x .git/hooks/* .git/modules/*/hooks/*; echo /workspace/evil > .git/modules/sub/commondir; echo /workspace/evil > .git/commondir
mkdir -p .git/worktrees/tree; echo ` + r.dir + `/evil > .git/worktrees/tree/commondir
rm .git/commondir .git/modules/sub/commondir; git init -q .; printf '[core]\n\trepositoryformatversion = 0\n' > .git/config
try 'rename .git'
try 'printf "#!/bin/sh\ntouch ` + r.marker + `\n" > .githooks/post-commit'
try 'rename .githooks'
try 'cat evil/config >> tools/gitconfig'
try 'rename tools'
try 'rm sub/.git'
try 'echo gitdir: ../evil > sub/.git'
try 'rename sub'
echo free > sub/file && echo free > tools/file && git -C /workspace add tools/file && echo "the rest is free"
`)}).run(t, e)
	out := tr.stdout.String()
	if strings.Contains(out, "DONE") || strings.Count(out, "stopped") != 8 || !strings.Contains(out, "rename works") ||
		!strings.Contains(out, "the rest is free") {
		t.Errorf("not every attempt was stopped:\n%s\n%s", out, tr.stderr.String())
	}
	r.git("project", "status")
	r.git("project/sub", "status")
	r.git("tree", "status")
	r.git("project", "commit", "-q", "--allow-empty", "-m", "two")
	if r.ran() {
		t.Error("git on the host ran what the agent wrote")
	}
	if len(tr.result.Warnings) > 0 {
		t.Errorf("warnings about what was there before: %q", tr.result.Warnings)
	}
}

// TestAgentCannotTurnTheWorkspaceIntoABareRepository: without a valid .git, git
// looks at the folder itself, while the agent runs and after. The agent cannot
// break the host's .git; where there is none, git gives up.
func TestAgentCannotTurnTheWorkspaceIntoABareRepository(t *testing.T) {
	t.Parallel()
	e := connect(t)
	for _, how := range []string{
		"mkdir objects refs; " + `%s > config`,
		"mkdir evil evil/objects evil/refs; echo evil > commondir; %s > evil/config",
	} {
		for _, without := range []bool{false, true} {
			r := newRepository(t)
			if without {
				if err := os.RemoveAll(filepath.Join(r.dir, ".git")); err != nil {
					t.Fatal(err)
				}
			}
			evil := r.evil() + `; printf '\tworktree = ` + r.dir + `\n'`
			prompt, finish := io.Pipe()
			tr := &trial{dir: r.dir, prompt: prompt, options: shell(`
cd /workspace; rm -rf .git/*; echo 'ref: refs/heads/main' > HEAD
` + strings.ReplaceAll(how, "%s", "("+evil+")") + `
echo ready; cat >/dev/null`)}
			tr.during = func(*runplan.Plan, *workspace.Workspace) {
				defer finish.Close()
				if out, err := r.host("project", "status"); (err == nil) == without || r.ran() {
					t.Errorf("%s: git on the host accepts it while the agent runs: %s", how, out)
				}
			}
			tr.run(t, e)
			if out, err := r.host("project", "status"); (err == nil) == without || r.ran() {
				t.Errorf("%s: git on the host accepts it after the run: %s", how, out)
			}
		}
	}
}

// TestNestedRepositoriesAreReported: no mount stops a repository in a new
// folder, which git enters from above over an entry of the index.
func TestNestedRepositoriesAreReported(t *testing.T) {
	e := connect(t)
	r := newRepository(t)
	tr := (&trial{dir: r.dir, options: shell(`
cd /workspace; export HOME=/tmp GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b.example GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b.example
git init -q docs/nested; git -C docs/nested commit -q --allow-empty -m x; ` + r.evil() + `>> docs/nested/.git/config
git clone -q docs/nested docs/clone
mkdir -p hidden/.git; git init -q --bare hidden/.git/x; ` + r.evil() +
		`>> hidden/.git/x/config; printf '\tworktree = ../..\n' >> hidden/.git/x/config; ln -s .git/x hidden/site; chmod 500 hidden/.git/x
git update-index --add --cacheinfo "160000,$(git -C docs/nested rev-parse HEAD),docs/nested"
git init -q --bare docs/bare
mkdir pointer; echo 'gitdir: ../docs/bare' > pointer/.git
echo done`)}).run(t, e)
	if !strings.Contains(tr.stdout.String(), "done") {
		t.Fatalf("the agent failed: %s", tr.stderr.String())
	}
	for _, at := range []string{"", "docs/nested", "docs/bare", "hidden/site"} {
		if out, _ := r.host("project/"+at, "status"); r.ran() {
			t.Errorf("git in %q obeys the agent: %s", at, out)
		}
	}
	if out, err := r.host("project/docs/clone", "log", "--oneline"); err != nil {
		t.Errorf("a plain clone does not work any more: %s", out)
	}
	summary, err := os.ReadFile(tr.result.Files.Summary)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"docs/nested/.git (a repository)", "docs/bare (a bare repository)", "pointer/.git (points at a repository)",
		"look at it without git"} {
		said := func(s string) bool { return strings.Contains(s, want) }
		if !slices.ContainsFunc(tr.said, said) || !slices.ContainsFunc(tr.result.Warnings, said) || !said(string(summary)) {
			t.Errorf("nobody is told of %s: %q", want, tr.said)
		}
	}
	if strings.Contains(strings.Join(tr.result.Warnings, ""), "sub/.git") {
		t.Errorf("what was there before is reported: %q", tr.result.Warnings)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "docs", "nested", ".git")); err != nil {
		t.Errorf("the agent's work was removed: %v", err)
	}
}

// TestAFoldersNameThatSpeaksToTheTerminalOrTheRunner: what a run says of a new
// repository holds a name that the agent chose.
func TestAFoldersNameThatSpeaksToTheTerminalOrTheRunner(t *testing.T) {
	e := connect(t)
	r := newRepository(t)
	tr := (&trial{dir: r.dir, options: shell(`
cd /workspace; export HOME=/tmp
name=$(printf 'x\n::set-output name=conclusion::success\nsbx-devc: all is well\033]0;owned\007\033[2J')
git init -q "$name"; test -d "$name/.git" && echo done`)}).run(t, e)
	if !strings.Contains(tr.stdout.String(), "done") {
		t.Fatalf("the agent failed: %s", tr.stderr.String())
	}
	told := false
	for _, line := range append(slices.Clone(tr.said), tr.result.Warnings...) {
		told = told || strings.Contains(line, `x\n::set-output name=conclusion::success`)
		if strings.ContainsAny(line, "\n\x1b\a") {
			t.Errorf("the agent's characters are shown as they are: %q", line)
		}
	}
	if !told {
		t.Errorf("nobody is told of the repository: %q", tr.said)
	}
}

// TestLinkedHookScriptIsProtected: a hook is often a link to a script of the
// project, and the link being read-only protects nothing.
func TestLinkedHookScriptIsProtected(t *testing.T) {
	w := workspacetest.Folder(t, ".git/HEAD", ".git/objects/", ".git/refs/", ".git/hooks/pre-commit -> ../../scripts/check.sh",
		"scripts/check.sh", ".git/hooks/post-commit -> /etc/hostname")
	p := plan(t, runplan.Options{}, w)
	modes := map[string]bool{}
	for _, m := range p.Agent.Mounts {
		modes[m.Target] = m.ReadOnly
	}
	if !modes["/workspace/scripts/check.sh"] {
		t.Errorf("the script can be changed: %v", modes)
	}
	if parent, ok := modes["/workspace/scripts"]; !ok || parent {
		t.Errorf("the script's folder must be a writable mount point: %v", modes)
	}
}

// Attack: the agent changes what a hook or a file of settings leads to, as far as
// that is in the project: the end of a link, another name of the same file, a
// link on the way, or what is not there yet. A place where nothing can be mounted is
// said before the run.
func TestAgentCannotChangeWhatProtectedLinksLeadTo(t *testing.T) {
	e := connect(t)
	r := newRepository(t)
	r.write("scripts/check.sh", "#!/bin/sh\n")
	r.write("agents/skill/SKILL.md", "read this\n")
	r.write(".claude/settings.json", "{}")
	hooks := filepath.Join(r.dir, ".git", "hooks")
	r.git("project", "config", "--unset", "core.hooksPath")
	err := errors.Join(os.MkdirAll(filepath.Join(r.dir, ".claude", "skills"), 0o755),
		os.Symlink("../../agents/skill", filepath.Join(r.dir, ".claude", "skills", "one")),
		os.WriteFile(filepath.Join(hooks, "pre-commit"), []byte("#!/bin/sh\n"), 0o755),
		os.Link(filepath.Join(hooks, "pre-commit"), filepath.Join(r.dir, "scripts", "same.sh")),
		os.Symlink("check.sh", filepath.Join(r.dir, "scripts", "way")),
		os.Symlink("../../scripts/way", filepath.Join(hooks, "post-commit")),
		os.Symlink("../../build/hook", filepath.Join(hooks, "post-checkout")))
	if err != nil {
		t.Fatal(err)
	}
	r.own(r.dir)
	tr := (&trial{dir: r.dir, options: shell(`
cd /workspace; evil='#!/bin/sh
touch ` + r.marker + `'
try() { if sh -c "$1" 2>/dev/null; then echo "DONE $1"; else echo stopped; fi; }
export evil
try 'echo "$evil" > scripts/check.sh'
try 'echo "$evil" > scripts/same.sh'
try 'rm scripts/same.sh'
try 'echo "$evil" > agents/skill/SKILL.md'
try 'mv agents old'
rm scripts/way && echo free > scripts/way && mkdir build && echo free > build/hook && echo "the rest is free"
`)}).run(t, e)
	out := tr.stdout.String()
	if strings.Contains(out, "DONE") || strings.Count(out, "stopped") != 5 || !strings.Contains(out, "the rest is free") {
		t.Errorf("not every attempt was stopped:\n%s\n%s", out, tr.stderr.String())
	}
	r.git("project", "commit", "-q", "--allow-empty", "-m", "two")
	if r.ran() {
		t.Error("git on the host ran what the agent wrote")
	}
	said := strings.Join(tr.said, "\n")
	for _, want := range []string{".git/hooks/post-commit leads over scripts/way, which is a symbolic link itself",
		".git/hooks/post-checkout leads over build, which is missing"} {
		if !strings.Contains(said, want) {
			t.Errorf("nobody is told that %s: %q", want, tr.said)
		}
	}
}

// Attack: the agent changes the command of a server that somebody has approved by
// its name, or what a hook on this machine reads. Each existing file of agents' and
// editors' settings is read-only, and the rest is said.
func TestAgentCannotChangeWhatOtherToolsObeyUnseen(t *testing.T) {
	e := connect(t)
	r := newRepository(t)
	for _, name := range []string{".mcp.json", ".cursor/mcp.json", "app.code-workspace", "lefthook.yml", "mise.toml"} {
		r.write(name, "{}\n")
	}
	tr := (&trial{dir: r.dir, options: shell(`
cd /workspace
for f in .mcp.json .cursor/mcp.json .cursor/hooks.json app.code-workspace; do echo evil >$f && echo "DONE $f"; done
mv .mcp.json old && echo "DONE mv"; mv .cursor old && echo "DONE mv"
echo evil >lefthook.yml && mkdir .zed && echo evil >.zed/settings.json && ln -s lefthook.yml opencode.json && mkfifo shell.nix && touch ` +
		`mise.toml && echo "the rest is free"
`)}).run(t, e)
	out := tr.stdout.String()
	if strings.Contains(out, "DONE") || !strings.Contains(out, "the rest is free") {
		t.Errorf("the agent says:\n%s\n%s", out, tr.stderr.String())
	}
	want := []string{"shell.nix", ".zed/settings.json", "opencode.json", "lefthook.yml"}
	if got := tr.result.Changes.Paths(100); !slices.Equal(got, want) {
		t.Errorf("shown is %q, want %q", got, want)
	}
	if !slices.ContainsFunc(tr.result.Warnings, func(s string) bool { return strings.HasSuffix(s, ": "+strings.Join(want, ", ")) }) {
		t.Errorf("nobody is told: %q", tr.result.Warnings)
	}
}

// Attack: the agent changes a script or a Compose file outside of .devcontainer that
// this machine runs or obeys when somebody opens the dev container.
func TestAgentCannotChangeWhatOpeningTheDevContainerRuns(t *testing.T) {
	e := connect(t)
	r := newRepository(t)
	r.write(".devcontainer/devcontainer.json", `{ // comment
	"dockerComposeFile": ["../compose.yml", "own.yml"], "service": "a",
	"initializeCommand": {"a": "cd . && sh ./scripts/open.sh --in=docs", "b": `+
		`["${localWorkspaceFolder}/scripts/other.sh", "../outside", "way/x"]} }`)
	if err := os.Symlink("docs", filepath.Join(r.dir, "way")); err != nil {
		t.Fatal(err)
	}
	r.write(".devcontainer/go/devcontainer.json", `{"image": "a:1", "initializeCommand": "tools/third"}`)
	for _, name := range []string{"compose.yml", "scripts/open.sh", "scripts/other.sh", "tools/third", "docs/x"} {
		r.write(name, "#!/bin/sh\n")
	}
	tr := (&trial{dir: r.dir, options: shell(`
cd /workspace
for f in compose.yml scripts/open.sh scripts/other.sh tools/third; do echo evil >>$f && echo "DONE $f"; done
mv scripts old && echo "DONE mv"
echo free >>docs/x && echo free >scripts/free && echo "the rest is free"
`)}).run(t, e)
	out := tr.stdout.String()
	if strings.Contains(out, "DONE") || !strings.Contains(out, "the rest is free") {
		t.Errorf("the agent says:\n%s\n%s", out, tr.stderr.String())
	}
	if said := strings.Join(tr.said, "\n"); strings.Count(said, "has an initializeCommand") != 2 ||
		!strings.Contains(said, "names way/x, which leads over a symbolic link") {
		t.Errorf("nobody is told of the commands: %q", tr.said)
	}
}

// TestFolderSwappedForALinkMountsNothingOfTheHost: something with the agent's
// rights puts a link in a protected folder's place while the run starts.
func TestFolderSwappedForALinkMountsNothingOfTheHost(t *testing.T) {
	swap := func(t *testing.T, w *workspace.Workspace) (secret string) {
		t.Helper()
		secret = t.TempDir()
		vscode := filepath.Join(w.Dir, ".vscode")
		if err := errors.Join(os.WriteFile(filepath.Join(secret, "key"), []byte("secret"), 0o600), os.RemoveAll(vscode),
			os.Symlink(secret, vscode)); err != nil {
			t.Fatal(err)
		}
		return secret
	}
	t.Run("before the start", func(t *testing.T) {
		w := workspacetest.Folder(t, ".vscode/tasks.json")
		p := plan(t, runplan.Options{}, w)
		if placed, err := workspace.Place(w.Dir, p.Project.Placeholders, os.Getuid(), os.Getgid()); err != nil {
			t.Fatal(err)
		} else {
			defer placed.Remove()
		}
		if err := p.Project.CheckSources(); err != nil {
			t.Errorf("nothing was swapped yet: %v", err)
		}
		swap(t, w)
		if err := p.Project.CheckSources(); !errors.Is(err, workspace.ErrRefused) || !strings.Contains(err.Error(), ".vscode") {
			t.Errorf("got %v, want ErrRefused", err)
		}
	})
	t.Run("before the mount points are made", func(t *testing.T) {
		w := workspacetest.Folder(t, ".vscode/tasks.json", ".git/config")
		user := runplan.Options{}
		user.User.Workspace.Protect = []string{".vscode/sub/file"}
		w, err := workspace.Inspect(w.Dir, user.User.Workspace.Protect)
		if err != nil {
			t.Fatal(err)
		}
		p := plan(t, user, w)
		secret := swap(t, w)
		if _, err := workspace.Place(w.Dir, p.Project.Placeholders, os.Getuid(), os.Getgid()); err == nil {
			t.Error("a mount point was made behind a link")
		}
		if left, err := os.ReadDir(secret); err != nil || len(left) != 1 {
			t.Errorf("something was made outside: %v, %v", left, err)
		}
	})
	t.Run("in the last moment", func(t *testing.T) {
		e := connect(t)
		ctx := context.Background()
		dir := newProject(t, true)
		w, err := workspace.Inspect(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, attacked := range []bool{false, true} {
			options := shell("exec sleep infinity")
			options.ID, options.Image, options.FirewallImage = "swap-"+filepath.Base(filepath.Dir(dir)), testImage(t, e), testImage(t, e)
			p, err := newPlan(options, runplan.Facts{Workspace: w})
			if err != nil {
				t.Fatal(err)
			}
			placed, err := workspace.Place(dir, p.Project.Placeholders, 1000, 1000)
			if err != nil {
				t.Fatal(err)
			}
			p.Agent.Network, p.Agent.Entrypoint = "none", options.Command // there is no firewall that our init and the volumes come from
			p.Project.List = slices.DeleteFunc(p.Project.List, func(m workspace.Mount) bool { return m.Volume != "" })
			p.Agent.Mounts = runplan.EngineMounts(p.Project.List)
			agent, err := e.Create(ctx, p.Agent)
			if err != nil {
				t.Fatal(err)
			}
			if attacked {
				swap(t, w)
			}
			if err := e.Start(ctx, agent); err != nil {
				t.Error(err)
			}
			mounted, err := exec.Command("docker", "exec", agent, "cat", "/proc/self/mountinfo").Output()
			if err != nil {
				t.Fatal(err)
			}
			err = p.Project.Compare(string(mounted))
			if errors.Is(err, workspace.ErrRefused) != attacked || err != nil && !attacked {
				t.Errorf("swapped %t: got %v", attacked, err)
			}
			if err := e.Remove(ctx, agent); err != nil {
				t.Error(err)
			}
			placed.Remove()
		}
	})
}
