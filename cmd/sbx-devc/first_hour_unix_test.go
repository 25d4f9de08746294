//go:build unix

package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// The README's first commands are all that it takes from a repository to a branch
// with the agent's commit: no flag, no question, no image by hand.
func TestTheFirstHour(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile(`(?s)\n\n    (sbx-devc init .*?)\n\n`).FindSubmatch(readme)
	if block == nil {
		t.Fatal("README.md does not begin with commands")
	}
	lines := strings.Split(string(block[1]), "\n")
	if len(lines) != 3 {
		t.Fatalf("the README needs %d commands for that: %q", len(lines), lines)
	}
	r := runProgram(t, []string{
		scripted(t, "node -e 'process.exit(require(\"./f\").f() - 1)' && echo '// right' >>f.js && git commit -q -a -m 'Say so'"),
		"XDG_CONFIG_HOME=" + t.TempDir(),
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*", // where root runs this, the project is not root's
	})
	command := func(line string) string {
		t.Helper()
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir, cmd.Env = r.Dir, r.Env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		return string(out)
	}
	own := func() {
		if os.Geteuid() == 0 { // the agent never is root
			command("chown -R 1000:1000 .")
		}
	}
	command(`git init -q -b main && git config user.name "Ann Example" && git config user.email ann@example.org
		echo '{"name": "first", "version": "1.0.0", "engines": {"node": ">=22"}}' >package.json
		echo 'exports.f = () => 1' >f.js
		git add . && git commit -q -m begin`)
	own()
	for _, line := range lines {
		line, _, _ := strings.Cut(strings.TrimSpace(line), "  #")
		t.Log(command(strings.Replace(line, "sbx-devc", r.Path, 1)))
		own()
	}
	if got := command("git log --branches='sbx/*' --not main --format='%an <%ae> %s'"); got != "Ann Example <ann@example.org> Say so\n" {
		t.Errorf("the branches of runs have the commits %q", got)
	}
	if got := command("git log main --format=%s"); got != "begin\n" {
		t.Errorf("the user's branch has the commits %q", got)
	}
}
