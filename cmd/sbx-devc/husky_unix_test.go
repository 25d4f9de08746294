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
// run on the host. Nothing that an agent leaves there, or puts in its place, arrives.
func TestAttackTheFolderThatHuskyInstallsInto(t *testing.T) {
	const agent = `echo evil >.husky/_/husky.sh && cat .husky/_/husky.sh >seen
		echo evil >.husky/pre-commit; rm -rf .husky/_; mv .husky .old; mkdir -p .husky/_; ln -sf ../../seen .husky/_/husky.sh; true`
	for state, prepare := range map[string]string{
		"missing":   "",
		"installed": "mkdir .husky/_ && echo good >.husky/_/husky.sh",
		"a link":    "mkdir .git/x && ln -s ../.git/x .husky/_ && touch seen",
	} {
		t.Run(state, func(t *testing.T) {
			r := runProgram(t, []string{scripted(t, agent)})
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
			before := command("ls -lR --time-style=+ .husky .git/hooks; cat .husky/pre-commit")
			r.begin(t, "install it")
			if code := endOf(t, r); code != exitOK {
				t.Fatalf("ends with %d: %s", code, r.said(t))
			}
			if after := command("ls -lR --time-style=+ .husky .git/hooks; cat .husky/pre-commit"); after != before {
				t.Errorf("the host has\n%s\nafter\n%s", after, before)
			}
			if text, err := os.ReadFile(filepath.Join(r.Dir, ".husky/_/husky.sh")); err == nil && strings.TrimSpace(string(text)) != "good" {
				t.Errorf("the host would run %q", text)
			}
			if seen, err := os.ReadFile(filepath.Join(r.Dir, "seen")); err != nil || state != "a link" && string(seen) != "evil\n" {
				t.Errorf("husky could not install: %q %v", seen, err)
			}
		})
	}
}
