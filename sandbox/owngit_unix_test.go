//go:build unix

package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/workspace"
	"github.com/org/claude-sandbox/workspace/gitdir"
)

// snapshot lists a folder's files with their content, to tell whether anything
// in it changed.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(dir, func(file string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(file)
		out.WriteString(file + "\n" + string(text) + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestTheAgentHasAGitDirectoryOfItsOwn: everything that people do with git works
// inside, and the host's git directory does not change by a byte.
func TestTheAgentHasAGitDirectoryOfItsOwn(t *testing.T) {
	t.Parallel()
	e := connect(t)
	r := newRepository(t)
	r.write("a.txt", "one\n")
	r.git("project", "add", "a.txt")
	r.git("project", "-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "two")
	r.git("project", "gc", "-q")
	r.git("project", "branch", "other", "HEAD~1")
	r.git("project", "config", "user.name", "Someone")
	r.git("project", "config", "user.email", "someone@example.com")
	r.git("project", "remote", "add", "origin", "https://me:s3cret@example.com/a/b")
	r.git("project", "config", "http.extraHeader", "Authorization: s3cret")
	r.write("left.txt", "not added\n")
	before := snapshot(t, filepath.Join(r.dir, ".git"))
	tr := (&trial{dir: r.dir, options: shell(`
set -ex; cd /workspace
git status --porcelain; git log --format=%s; git remote -v; git branch -a
grep -r s3cret .git && exit 9
echo two >> a.txt; git commit -q -a -m 'by the agent'; git log -1 --format='%an <%ae>'
git checkout -q -b feature; echo b > b.txt; git add b.txt; git commit -q -m feature
git checkout -q other; git checkout -q -b another; echo c > c.txt; git add c.txt; git commit -q -m c; git rebase -q feature
echo d > d.txt; git add d.txt; git stash -q; git stash pop -q; git reset -q d.txt; rm d.txt
git config alias.x log; git config user.email; git remote set-url origin https://example.com/x; git tag v1; git tag -a -m x v2
git worktree add -q /tmp/tree HEAD~1; git -C /tmp/tree status --short; git worktree remove /tmp/tree
(cd sub; git status --short; git log --format=sub:%s; git commit -q --allow-empty -m 'in the submodule'); git add sub; git commit -q -m sub
git gc -q; git fsck --strict; git status --porcelain; git log --format=%s
echo finished
`)}).run(t, e)
	out := tr.stdout.String()
	for _, want := range []string{"Someone <someone@example.com>", "?? left.txt", "https://example.com/a/b", "sub:one", "finished",
		"feature\nby the agent\ntwo"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing:\n%s\n%s", want, out, tr.stderr.String())
		}
	}
	if after := snapshot(t, filepath.Join(r.dir, ".git")); after != before {
		t.Error("the host's git directory changed")
	}
	if len(tr.result.Warnings) > 0 {
		t.Errorf("warnings: %q", tr.result.Warnings)
	}
	r.git("project", "status")
}

// TestGitOnTheHostDoesNotEndARun: a person goes on with the repository while the
// agent works in it.
func TestGitOnTheHostDoesNotEndARun(t *testing.T) {
	t.Parallel()
	e := connect(t)
	r := newRepository(t)
	tr := &trial{dir: r.dir,
		options: shell(`cd /workspace; git status --short; echo ready; while ! test -e stop; do git log >/dev/null; done; git status --short; ` +
			`git commit -q --allow-empty -m done; echo finished`)}
	tr.during = func(*runplan.Plan, *workspace.Workspace) {
		for _, args := range [][]string{
			{"config", "a.b", "c"}, {"remote", "add", "origin", r.dir + "/../library"}, {"checkout", "-q", "-b", "mine"},
			{"commit", "-q", "--allow-empty", "-m", "two"},
			{"push", "-q", "-u", "origin", "mine"}, {"fetch", "-q"}, {"gc", "-q"}, {"clean", "-n", "-d"}, {"worktree", "list"}, {"status"},
		} {
			r.git("project", append([]string{"-c", "core.hooksPath=/dev/null"}, args...)...)
		}
		r.write("stop", "")
	}
	tr.run(t, e)
	for _, c := range tr.result.Changes.Changes {
		if strings.HasPrefix(c.Path, ".git") {
			t.Errorf("the user's own work passes for the agent's: %+v", c)
		}
	}
	if !strings.Contains(tr.stdout.String(), "finished") || tr.result.ExitCode != 1 { // a shell prints no result of Claude's
		t.Errorf("the run ended with %d: %s %s", tr.result.ExitCode, tr.stdout.String(), tr.stderr.String())
	}
}

// Attack: the agent waits until the host's .git is moved or removed, and makes a
// new one in its place.
func TestAGitDirectoryThatGoesEndsTheRun(t *testing.T) {
	t.Parallel()
	e := connect(t)
	for _, how := range []string{"moved", "removed"} {
		t.Run(how, func(t *testing.T) {
			r := newRepository(t)
			evil := `mkdir -p .git/objects .git/refs && echo 'ref: refs/heads/main' > .git/HEAD && (` + r.evil() + `) > .git/config`
			tr := &trial{dir: r.dir,
				options: shell(`cd /workspace; rm -rf .git/* 2>/dev/null; echo ready; while :; do ` + evil + `; rm -rf .git/*; done 2>/dev/null`)}
			tr.during = func(*runplan.Plan, *workspace.Workspace) {
				var err error
				if how == "moved" {
					err = os.Rename(filepath.Join(r.dir, ".git"), filepath.Join(r.dir, "old"))
				} else {
					err = os.RemoveAll(filepath.Join(r.dir, ".git"))
				}
				if err != nil {
					t.Error(err)
				}
			}
			tr.run(t, e)
			if tr.result.ExitCode != exitcode.Unprotected ||
				!strings.Contains(strings.Join(tr.result.Warnings, "\n"), ".git while the agent worked") {
				t.Errorf("the run ended with %d: %q", tr.result.ExitCode, tr.result.Warnings)
			}
		})
	}
}

// agentsWork commits in the project, on another branch and in the submodule, and
// leaves objects that are no commits of a branch.
const agentsWork = `
set -e; cd /workspace
echo two >> a.txt; git commit -q -a -m 'by the agent'; echo three >> a.txt; git commit -q -a -m 'again'
git checkout -q -b 'feature/../x' 2>/dev/null || git checkout -q -b 'feature/x'; git commit -q --allow-empty -m feature; git checkout -q -
(cd sub; git checkout -q -b work; git commit -q --allow-empty -m 'in the submodule')
echo dangling | git hash-object -w --stdin; git tag evil; git update-ref refs/replace/$(git rev-parse HEAD~1) HEAD; git notes add -m note
git gc -q; echo packed >> a.txt; git commit -q -a -m 'after gc'; echo finished
`

// TestCommitsComeBackByRequest: what an agent committed is a branch on the host
// once somebody asks for it, and nothing before.
func TestCommitsComeBackByRequest(t *testing.T) {
	t.Parallel()
	e := connect(t)
	for _, c := range []struct {
		name string
		make func(r *repository) // changes the repository before the run
	}{
		{"a repository", func(*repository) {}},
		{"packed", func(r *repository) { r.git("project", "gc", "-q") }},
		{"a linked worktree", func(r *repository) { r.dir = r.worktree }},
		{"shallow", func(r *repository) { r.clone("--depth", "1") }},
		{"partial", func(r *repository) { r.clone("--filter", "blob:none") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRepository(t)
			r.write("a.txt", "one\n")
			r.write("b.txt", "one\n")
			r.git("project", "add", "a.txt", "b.txt")
			r.git("project", "-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "two")
			r.write("b.txt", "two\n")
			r.git("project", "-c", "core.hooksPath=/dev/null", "commit", "-q", "-a", "-m", "three")
			r.git(r.worktree, "reset", "-q", "--hard", "master")
			c.make(r)
			r.git(r.dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
			before, _ := r.host(r.dir, "for-each-ref")
			tr := (&trial{dir: r.dir, options: shell(agentsWork)}).run(t, e)
			if !strings.Contains(tr.stdout.String(), "finished") {
				t.Fatalf("the agent failed: %s %s", tr.stdout.String(), tr.stderr.String())
			}
			if after, _ := r.host(r.dir, "for-each-ref"); after != before {
				t.Errorf("refs changed without a request:\n%s", after)
			}
			if n := len(tr.result.Commits); n != 3 {
				t.Fatalf("commits of %d branches: %+v, %q", n, tr.result.Commits, tr.said)
			}
			for range 2 { // to ask twice is no error
				for _, commits := range [][]gitdir.Commits{tr.result.Commits[:2], tr.result.Commits[2:]} {
					if err := gitdir.Apply(t.Context(), tr.state, commits); err != nil {
						t.Fatal(err)
					}
				}
			}
			r.own(r.dir)
			if c.name == "a linked worktree" {
				r.own(filepath.Join(filepath.Dir(r.worktree), "project"))
			}
			branch := "sbx/" + tr.plan.ID
			log, _ := r.host(r.dir, "log", "--format=%s", "HEAD.."+branch)
			feature, _ := r.host(r.dir, "log", "--format=%s", branch+".."+branch+"-feature-x")
			sub, _ := r.host(filepath.Join(r.dir, "sub"), "log", "--format=%s", "-1", branch)
			if log != "after gc\nagain\nby the agent\n" || feature != "feature\n" || sub != "in the submodule\n" {
				t.Errorf("on the host there are %q, %q and %q", log, feature, sub)
			}
			if refs, _ := r.host(r.dir, "for-each-ref", "--format=%(refname)"); strings.Contains(refs, "evil") ||
				strings.Contains(refs, "replace") || strings.Contains(refs, "notes") {
				t.Errorf("more than branches came back: %s", refs)
			}
			if diff, err := r.host(r.dir, "diff", "--stat", branch); err != nil || strings.Contains(diff, "a.txt") {
				t.Errorf("the files are not those of the branch: %s, %v", diff, err)
			}
			if out, err := r.host(r.dir, "fsck", "--connectivity-only"); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// clone puts a clone of the project in its place.
func (r *repository) clone(args ...string) {
	r.t.Helper()
	r.git("project", "config", "uploadpack.allowFilter", "true")
	dir := filepath.Join(filepath.Dir(r.dir), "clone")
	r.git(filepath.Dir(r.dir), append(append([]string{"clone", "-q"}, args...), "file://"+r.dir, dir)...)
	r.git(dir, "config", "submodule.sub.url", filepath.Join(filepath.Dir(r.dir), "library"))
	r.git(dir, "config", "submodule.sub.active", "true")
	r.dir = dir
}

// Attack: what git on the host obeys or is made blind by, each written by the
// agent where no list of paths named it. Judged by what runs and what is shown on
// the host afterwards.
func TestAttackGitOnTheHostObeysTheAgent(t *testing.T) {
	t.Parallel()
	e := connect(t)
	for _, c := range []struct {
		name  string
		agent string
		host  [][]string // run in the project; the marker must not be there afterwards
		shown string     // by the last one
	}{
		{"a submodule that is not there yet",
			`mkdir -p .git/modules/sub/{hooks,objects,refs/heads}; echo 'ref: refs/heads/master' > .git/modules/sub/HEAD
EVIL > .git/modules/sub/config; printf '\tworktree = ../../../sub\n[remote "origin"]\n\turl = HOST/../library\n\tfetch = ` +
				`+refs/heads/*:refs/remotes/origin/*\n' >> .git/modules/sub/config
printf '#!/bin/sh\ntouch MARKER\n' > .git/modules/sub/hooks/post-checkout; chmod +x .git/modules/sub/hooks/post-checkout`,
			[][]string{{"status"}, {"-c", "protocol.file.allow=always", "submodule", "update", "--init"}, {"status"}}, ""},
		{"a bare repository in .git behind a link",
			`git init -q --bare .git/cache/site; EVIL > .git/cache/site/config; printf '\tworktree = HOST\n' >> .git/cache/site/config
ln -s .git/cache/site site; mkdir -p .git/info; echo /site >> .git/info/exclude`, [][]string{{"-C", "site", "status"}}, ""},
		{"a changed file that the index hides",
			`git update-index --skip-worktree a.txt b.txt; echo evil > a.txt; git update-index --assume-unchanged b.txt; echo evil > b.txt`,
			[][]string{{"status", "--porcelain"}}, " M a.txt\n M b.txt"},
		{"a new file that info/exclude hides", `mkdir -p .git/info; echo conftest.py >> .git/info/exclude; echo evil > conftest.py`,
			[][]string{{"status", "--porcelain"}}, "conftest.py"},
		{"a commit that another stands in for",
			`echo evil > a.txt; git commit -q -a -m evil; git replace HEAD HEAD~1; git update-ref refs/heads/master HEAD`,
			[][]string{{"diff", "--stat", "HEAD"}}, "a.txt"},
		{"hooks, a monitor and an alias",
			`EVIL > .git/config; mkdir -p .git/hooks; for h in pre-commit post-commit post-checkout post-index-change reference-transaction ` +
				`fsmonitor-watchman; do printf '#!/bin/sh\ntouch MARKER\n' > .git/hooks/$h; done; chmod +x .git/hooks/*`,
			[][]string{{"status"}, {"commit", "-q", "--allow-empty", "-m", "x"}, {"checkout", "-q", "-b", "x"}}, ""},
		{"another name of a configuration", `echo "[core] fsmonitor = touch MARKER" > same; mv .git/config .git/old; ln -s ../same .git/config`,
			[][]string{{"status"}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRepository(t)
			r.write("a.txt", "one\n")
			r.write("b.txt", "one\n")
			r.git("project", "add", "a.txt", "b.txt")
			r.git("project", "-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "two")
			r.git("project", "config", "--unset", "core.hooksPath")
			r.git("project", "submodule", "--quiet", "deinit", "-f", "sub")
			if err := os.RemoveAll(filepath.Join(r.dir, ".git", "modules")); err != nil {
				t.Fatal(err)
			}
			if err := os.Link(filepath.Join(r.dir, ".git", "config"), filepath.Join(r.dir, "same")); err != nil {
				t.Fatal(err)
			}
			before := snapshot(t, filepath.Join(r.dir, ".git"))
			script := strings.NewReplacer("EVIL", r.evil(), "MARKER", r.marker, "HOST", r.dir).Replace(c.agent)
			tr := (&trial{dir: r.dir, options: shell("cd /workspace\n" + script + "\necho finished")}).run(t, e)
			if !strings.Contains(tr.stdout.String(), "finished") {
				t.Fatalf("the agent failed: %s", tr.stderr.String())
			}
			if after := snapshot(t, filepath.Join(r.dir, ".git")); after != before {
				t.Error("the host's git directory changed")
			}
			out := ""
			for _, args := range c.host {
				out, _ = r.host("project", args...)
			}
			if r.ran() {
				t.Error("git on the host ran what the agent wrote")
			}
			if !strings.Contains(out, c.shown) {
				t.Errorf("git on the host is blind: %s", out)
			}
		})
	}
}
