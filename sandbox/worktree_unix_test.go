//go:build unix

package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/workspace/gitdir"
)

// commitLeft is an agent that runs a script, and whose work tree becomes a commit.
func commitLeft(script string) runplan.Options {
	o := shell("set -e; cd /workspace\n" + script + "\necho finished")
	o.CommitLeft = true
	return o
}

// An image without git, as --image takes it: nothing is committed, which is said, the files
// stay where the agent left them, and the run is none that kept all, see
// TestAnEndThatCouldNotBeKeptIsNoSuccess.
func TestNoGitMakesACommitOfTheWorkTree(t *testing.T) {
	e := connect(t)
	r := newRepository(t)
	none := filepath.Join(t.TempDir(), "git") // a file that nobody can run, over the image's
	if err := os.WriteFile(none, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	o := commitLeft(`echo two >a.txt; ! command -v git`)
	o.User.Mounts = []settings.Mount{{Host: none, Container: "/usr/bin/git", ReadOnly: true}}
	tr := (&trial{dir: r.dir, options: o}).run(t, e)
	text, err := os.ReadFile(filepath.Join(r.dir, "a.txt"))
	if said := strings.Join(tr.result.Warnings, "\n"); err != nil || string(text) != "two\n" ||
		!strings.Contains(said, "the image has no git") || len(tr.result.Commits) > 0 {
		t.Errorf("%q, %v; warnings %q, %v", text, err, tr.result.Warnings, tr.err)
	}
}

// TestWhatTheAgentLeftBecomesACommit: with CommitLeft everything that git would add is
// on the agent's branch when it ends, and the user's index, files and branches are as
// they were.
func TestWhatTheAgentLeftBecomesACommit(t *testing.T) {
	t.Parallel()
	e := connect(t)
	const marker = "Work tree at the end of run RUN\n"
	for _, c := range []struct {
		name, script string
		log          string // subjects of the branch, the newest first; "" = nothing comes back
		clean        bool   // the host's files are those of the branch
	}{
		{"changes alone",
			`echo two > a.txt; rm b.txt; mkdir -p x/y; printf 'new' > 'x/y/ü "q"'; ln -s a.txt link; chmod +x c.sh; echo no > left.log`,
			marker, true},
		{"after commits", `echo two > a.txt; git commit -q -a -m agent; echo three > a.txt`, marker + "agent\n", true},
		{"on another branch", `git checkout -q -b other; echo two > a.txt`, marker, true},
		{"no branch", `git checkout -q --detach; echo two > a.txt`, marker, true},
		{"staged and locked", `echo two > a.txt; git add a.txt; echo three > a.txt; touch .git/index.lock`, marker, true},
		{"a merge with conflicts",
			`git checkout -q -b one; echo 1 > a.txt; git commit -q -a -m one; git checkout -q -b two HEAD~1; echo 2 > a.txt; ` +
				`git commit -q -a -m two; ! git merge one`,
			marker + "two\n", true},
		{"no index", `rm .git/index; echo two > a.txt`, marker, true},
		{"a repository of its own", `echo two > a.txt; git init -q new; git -C new -c user.name=a -c user.email=a@b commit -q --allow-empty -m x`,
			marker, false},
		{"a submodule", `(cd sub; echo s > s.txt)`, marker, false},
		{"a filter that fails",
			`git config filter.x.clean false; git config filter.x.required true; printf '*.bin filter=x' > .git/info/attributes; echo x > x.bin; ` +
				`echo two > a.txt`, "", true},
		{"nothing", `true`, "", true},
		{"nothing but ignored files", `echo no > left.log`, "", true},
		{"all committed", `echo two > a.txt; git commit -q -a -m agent`, "agent\n", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRepository(t)
			r.git("project", "config", "user.name", "Someone")
			r.git("project", "config", "user.email", "someone@example.com")
			for name, text := range map[string]string{"a.txt": "one\n", "b.txt": "one\n", "c.sh": "#!/bin/sh\n", ".gitignore": "*.log\n"} {
				r.write(name, text)
			}
			r.git("project", "add", "-A")
			r.git("project", "-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "two")
			before := snapshot(t, filepath.Join(r.dir, ".git"))
			tr := (&trial{dir: r.dir, options: commitLeft(c.script)}).run(t, e)
			if !strings.Contains(tr.stdout.String(), "finished") ||
				len(tr.result.Warnings) > 0 != (c.name == "a repository of its own" || c.name == "a filter that fails") {
				t.Fatalf("the agent failed: %s %s %q", tr.stdout.String(), tr.stderr.String(), tr.result.Warnings)
			}
			if after := snapshot(t, filepath.Join(r.dir, ".git")); after != before {
				t.Error("the host's git directory changed")
			}
			if c.log == "" {
				if len(tr.result.Commits) > 0 {
					t.Errorf("there are %+v", tr.result.Commits)
				}
				return
			}
			at := map[string][]gitdir.Commits{}
			for _, commits := range tr.result.Commits {
				at[commits.Bundle] = append(at[commits.Bundle], commits)
			}
			for _, commits := range at {
				if err := gitdir.Apply(t.Context(), tr.state, commits); err != nil {
					t.Fatal(err)
				}
			}
			r.own(r.dir)
			branch := "sbx/" + tr.plan.ID
			want := strings.ReplaceAll(c.log, "RUN", tr.plan.ID)
			if log, _ := r.host(r.dir, "log", "--format=%s", "HEAD.."+branch); log != want {
				t.Errorf("the branch has %q, want %q", log, want)
			}
			if strings.HasPrefix(c.log, "Work tree") {
				author, _ := r.host(r.dir, "log", "-1", "--format=%an <%ae> %cn <%ce>", branch)
				if author != "Someone <someone@example.com> Someone <someone@example.com>\n" ||
					!strings.Contains(strings.Join(tr.said, "\n"), "left uncommitted") {
					t.Errorf("it is by %s, and said is %q", author, tr.said)
				}
			}
			if ignored, _ := r.host(r.dir, "ls-tree", "-r", branch, "--", "left.log", "new"); ignored != "" {
				t.Errorf("it holds %s", ignored)
			}
			if c.name == "a submodule" {
				if log, _ := r.host(filepath.Join(r.dir, "sub"), "show", "--stat", "--format=%s", branch); !strings.Contains(log, "s.txt") {
					t.Errorf("the submodule's files are in no commit: %s", log)
				}
			}
			r.git(r.dir, "-c", "core.hooksPath=/dev/null", "reset", "-q", branch)
			if left, err := r.host(r.dir, "status", "--porcelain"); err != nil || c.clean && left != "" {
				t.Errorf("after 'git reset %s' the status is %s %v", branch, left, err)
			}
		})
	}
}

// Attack: what git obeys in the agent's git directory and work tree, when the host has
// the work tree committed. It runs in the sandbox, without the key's token and to a
// time limit, and the host's git never meets it.
func TestAttackWhatIsObeyedWhenTheWorkTreeIsCommitted(t *testing.T) {
	t.Parallel()
	e := connect(t)
	r := newRepository(t)
	tr := (&trial{dir: r.dir, options: commitLeft(`
printf '#!/bin/sh\nexec >> /workspace/ran 2>&1; echo "$0"; id; env; cat /proc/1/environ; touch ` + r.marker +
		`; true\n' > /workspace/evil; chmod +x evil
mkdir -p .git/hooks; for h in pre-commit post-commit reference-transaction post-index-change; do cp evil .git/hooks/$h; done
git config filter.x.clean /workspace/evil; git config core.fsmonitor /workspace/evil; git config user.name Evil
printf '*.txt filter=x\n' > .gitattributes; echo two > x.txt; echo two > y.bin; ln -s /etc/shadow shadow; ln -s / root; mkfifo pipe
git init -q sub/inner; git -C sub/inner config core.fsmonitor /workspace/evil`)}).run(t, e)
	if !strings.Contains(tr.stdout.String(), "finished") {
		t.Fatalf("the agent failed: %s", tr.stderr.String())
	}
	if r.ran() {
		t.Error("git on the host ran what the agent wrote")
	}
	text, _ := os.ReadFile(filepath.Join(r.dir, "ran"))
	ran := string(text)
	if !strings.Contains(ran, "/workspace/evil") {
		t.Fatal("git in the sandbox did not obey the agent's configuration: the attack tests nothing")
	}
	for _, secret := range []string{"ANTHROPIC", "TOKEN", canary, "uid=0"} {
		if strings.Contains(ran, secret) {
			t.Errorf("there is %s: %s", secret, ran)
		}
	}
	if tr.result.Changes == nil || !strings.Contains(strings.Join(tr.result.Changes.Paths(100), "\n"), "ran") {
		t.Error("what was written meanwhile is no change of the run")
	}
	if len(tr.result.Commits) != 1 {
		t.Fatalf("commits %+v, warnings %q", tr.result.Commits, tr.result.Warnings)
	}
	if err := gitdir.Apply(t.Context(), tr.state, tr.result.Commits[:1]); err != nil {
		t.Fatal(err)
	}
	r.own(r.dir)
	files, _ := r.host(r.dir, "ls-tree", "-r", "--name-only", "sbx/"+tr.plan.ID)
	if !strings.Contains(files, "y.bin") || strings.Contains(files, "inner") {
		t.Errorf("the commit holds %s", files)
	}
	if r.ran() {
		t.Error("git on the host ran what the agent wrote")
	}
}

// A work tree that git never comes to an end with costs the commit, and not the run.
func TestAWorkTreeThatIsNeverCommittedEnds(t *testing.T) {
	t.Parallel()
	e := connect(t)
	r := newRepository(t)
	tr := (&trial{dir: r.dir, commitTimeout: 5 * time.Second,
		options: commitLeft(
			`echo two > a.txt; git commit -q --allow-empty -m agent; git config filter.x.clean 'sleep 600'; ` +
				`echo '*.txt filter=x' > .gitattributes`)}).run(t, e)
	if said := strings.Join(tr.result.Warnings, "\n"); !strings.Contains(said, "left uncommitted is in a commit") ||
		len(tr.result.Commits) != 1 {
		t.Errorf("warnings %q, commits %+v", tr.result.Warnings, tr.result.Commits)
	}
}
