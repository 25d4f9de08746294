package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/workspace/gitdir"
)

// The commands that apply prints at its end are typed as they stand, in the folder where apply
// ran. The agent's commits come, and no commit of the user's leaves the branch.
func TestApplyPrintsCommandsThatWork(t *testing.T) {
	for name, c := range map[string]struct {
		prepare string // what the user did in the project while the agent worked
		inside  bool   // apply runs in the project's folder
		want    string // subjects of the branch that is checked out, then
	}{
		"nothing happened":         {"", true, "agent's|first"},
		"from another folder":      {"", false, "agent's|first"},
		"a commit of the user's":   {"echo u >user; git add user; git commit -qm user", true, "Merge branch 'sbx/RUN' into work|files|user|agent's|first"},
		"another branch was taken": {"git switch -qc other; echo u >user; git add user; git commit -qm user", true, "Merge branch 'sbx/RUN' into other|files|user|agent's|first"},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			project, run := filepath.Join(home, "my project"), filepath.Join(home, "20260102-150405-ab12cd")
			for name, value := range map[string]string{"HOME": home, "XDG_CONFIG_HOME": "", "GIT_CONFIG_NOSYSTEM": "1", "GIT_EDITOR": "true",
				"GIT_AUTHOR_NAME": "u", "GIT_AUTHOR_EMAIL": "u@example.com", "GIT_COMMITTER_NAME": "u", "GIT_COMMITTER_EMAIL": "u@example.com"} {
				t.Setenv(name, value)
			}
			branch := "sbx/" + filepath.Base(run)
			shell := func(dir, script string) string {
				t.Helper()
				cmd := exec.Command("sh", "-euc", script)
				cmd.Dir = dir
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%s: %v\n%s", script, err, out)
				}
				return string(out)
			}
			shell(home, `mkdir "my project" `+filepath.Base(run)+`; cd "my project"; git init -qb work .; echo 1 >first; git add .; git commit -qm first`)
			// The agent's commit, made elsewhere; its file is in the folder as well.
			shell(home, `git clone -q "my project" agent; cd agent; git switch -qc `+branch+`; echo a >agents; git add .; git commit -qm "agent's"
				git bundle create -q ../`+filepath.Base(run)+`/commits.bundle work..`+branch+`; cp agents "../my project"`)
			head := strings.TrimSpace(shell(filepath.Join(home, "agent"), "git rev-parse HEAD"))
			summary, err := json.Marshal(map[string]any{"folder": project, "commits": []gitdir.Commits{{From: "work", Branch: branch, Head: head, Count: 1,
				Bundle: "commits.bundle", Dir: filepath.Join(project, ".git"), Common: filepath.Join(project, ".git")}}})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(run, sandbox.SummaryFile), summary, 0o600); err != nil {
				t.Fatal(err)
			}
			shell(project, c.prepare)

			here := home
			if c.inside {
				here = project
			}
			t.Chdir(here)
			var out, people bytes.Buffer
			a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &people, getenv: os.Getenv}
			if code := a.main(t.Context(), []string{"apply", run}); code != exitOK || out.String() != branch+"\n" {
				t.Fatalf("apply ended with %d\n%s%s", code, out.String(), people.String())
			}
			printed := regexp.MustCompile(`: (git .*)\n`).FindAllStringSubmatch(people.String(), -1)
			if len(printed) != 2 {
				t.Fatalf("%d commands in\n%s", len(printed), people.String())
			}
			if diff := shell(here, printed[0][1]); !strings.Contains(diff, "agents") {
				t.Errorf("%s does not show the agent's commit:\n%s", printed[0][1], diff)
			}
			if strings.Contains(people.String(), "commit those first") {
				shell(project, "git add .; git commit -qm files")
			}
			shell(here, printed[1][1])
			got := strings.Split(strings.TrimSpace(shell(project, "git log --format=%s")), "\n")
			want := strings.Split(strings.ReplaceAll(c.want, "RUN", filepath.Base(run)), "|")
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("the branch has %q, want %q", got, want)
			}
			if left := shell(project, "git status --short"); left != "" {
				t.Errorf("left over:\n%s", left)
			}
		})
	}
}
