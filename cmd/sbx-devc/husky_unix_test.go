//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Attack: husky's install may write into .husky/_, whose scripts the project's hooks
// run on the host, and into .husky/.gitignore. Nothing that an agent leaves there, or
// puts in its place, arrives.
func TestAttackTheFolderThatHuskyInstallsInto(t *testing.T) {
	const agent = `echo evil >.husky/_/husky.sh && cat .husky/_/husky.sh >seen
		echo evil >.husky/.gitignore && cat .husky/.gitignore >ignored
		echo evil >.husky/pre-commit; rm -rf .husky/_ .husky/.gitignore; ln -sf ../seen .husky/.gitignore; ` +
		`cp seen seen2; mv seen2 .husky/.gitignore
		mv .husky .old; mkdir -p .husky/_; ln -sf ../../seen .husky/_/husky.sh; true`
	for kind, prepare := range map[string]string{
		"missing":               "",
		"installed":             "mkdir .husky/_ && echo good >.husky/_/husky.sh && echo _ >.husky/.gitignore",
		"git obeys it":          "mkdir .husky/_ && echo good >.husky/_/husky.sh && git config -f .git/config core.hooksPath .husky/_", // husky 9
		"git obeys it, missing": "git config -f .git/config core.hooksPath .husky/_",
		"version 6":             `echo '{"devDependencies": {"husky": "^6.0.0"}}' >package.json`,
		"a link":                "mkdir .git/x && ln -s ../.git/x .husky/_ && ln -s ../.git/config .husky/.gitignore && touch seen",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			state := t.TempDir()
			r := runProgram(t, []string{scripted(t, agent), "XDG_STATE_HOME=" + state})
			command := func(line string) string {
				t.Helper()
				cmd := exec.Command("sh", "-c", "set -e; "+line)
				cmd.Dir = r.Dir
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%s: %v %s", line, err, out)
				}
				return string(out)
			}
			command("git init -q; mkdir .husky; echo '. ./_/husky.sh' >.husky/pre-commit; " + prepare)
			if os.Geteuid() == 0 { // the agent never is root
				command("chown -hR 1000:1000 .")
			}
			before := command("ls -lAR --time-style=+ .husky .git/hooks; cat .husky/pre-commit .husky/.gitignore .git/config || true")
			r.begin(t, "install it")
			if code := endOf(t, r); code != exitOK {
				t.Fatalf("ends with %d: %s", code, r.said(t))
			}
			if after := command(
				"ls -lAR --time-style=+ .husky .git/hooks; cat .husky/pre-commit .husky/.gitignore .git/config || true"); after != before {
				t.Errorf("the host has\n%s\nafter\n%s", after, before)
			}
			if text, err := os.ReadFile(filepath.Join(r.Dir, ".husky/_/husky.sh")); err == nil && strings.TrimSpace(string(text)) != "good" {
				t.Errorf("the host would run %q", text)
			}
			if seen, err := os.ReadFile(filepath.Join(r.Dir, "seen")); err != nil || kind != "a link" && string(seen) != "evil\n" {
				t.Errorf("husky could not install: %q %v", seen, err)
			}
			ignored := map[string]string{"installed": "evil\n", "version 6": "evil\n", "a link": "evil\n"} // the link is to the agent's own .git
			if text, _ := os.ReadFile(filepath.Join(r.Dir, "ignored")); string(text) != ignored[kind] {
				t.Errorf("in .husky/.gitignore the agent reads %q", text)
			}
			if left, _ := filepath.Glob(filepath.Join(state, "sbx-devc", "runs", "*", "copy-*")); len(left) > 0 {
				t.Errorf("left of the agent's files: %s", left)
			}
		})
	}
}
