package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// TestDevcontainerInstallsAndClaudeAsksNothing brings up the dev container of a
// Node project whose install sets git hooks up, which are the host's. The installs
// must work, and what they fetch must stay out of the project. Then claude starts on
// a terminal without a question.
func TestDevcontainerInstallsAndClaudeAsksNothing(t *testing.T) {
	testenv.Slow(t)
	t.Parallel()
	p := newRepository(t, "sbx-c-install")
	versions := []string{"husky@8.0.3", "husky@9.1.7"}
	for _, v := range append(versions, "pnpm@9.15.9", "pnpm@11.28.11", "is-number@6.0.0") {
		p.pack(v)
	}
	p.write(".husky/pre-commit", "npm test\n")
	p.write("package.json", `{"name": "x", "private": true}`)
	p.write("compose.yaml", `version: "3"
services:
  db: &node
    image: node:22-bookworm-slim
    expose: ["5432"]
    command: [node, -e, "for (const port of [5432, 5433]) require('net').createServer(s => s.end('rows')).listen(port)"]
  cache: *node
`)
	p.sbx("init", p.dir, "--allow", "db:5432")
	compose := func(args ...string) {
		p.must(testenv.Program(t, "docker-compose"),
			append([]string{"--project-directory", p.dir, "-f", filepath.Join(p.dir, "compose.yaml")}, args...)...)
	}
	t.Cleanup(func() {
		p.remove() // it is in their network
		compose("down")
	})
	compose("up", "-d", "db", "cache")
	if outcome, log := p.up(); outcome != "success" {
		t.Fatalf("devcontainer up: %s\n%s", outcome, log)
	}
	t.Run("InstallsOfGitHooksDoNotFail", func(t *testing.T) {
		for _, v := range versions {
			command := map[bool]string{true: "husky", false: "husky install"}[strings.HasPrefix(v, "husky@9")]
			for variable, fails := range map[string]bool{"": false, "env -u HUSKY": strings.HasPrefix(v, "husky@8")} {
				out, err := p.exec(fmt.Sprintf(`rm -rf node_modules package-lock.json && cat >package.json <<'X'
{"name": "x", "private": true, "scripts": {"prepare": "%s"}, "devDependencies": {"husky": "file:packs/%s.tgz"}}
X
%s npm install --offline --no-audit --no-fund`, command, v, variable))
				if failed := err != nil; failed != fails {
					t.Errorf("%s, %q: failed %v, want %v: %s", v, variable, failed, fails, out)
				}
			}
		}
	})
	// The network of Compose's services is the container's, and of what is in it only what a
	// person named is open.
	t.Run("ServiceOfTheProjectsComposeFile", func(t *testing.T) {
		const reach = `timeout 10 node -e 'require("net").connect(%d, "%s").on("data", ` +
			`d => process.stdout.write(d)).on("error", e => { throw e })'`
		if out, err := p.exec(fmt.Sprintf(reach, 5432, "db")); err != nil || !strings.Contains(out, "rows") {
			t.Errorf("%v: %s", err, out)
		}
		cache := p.must(p.docker, "inspect", "--format", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}",
			p.must(testenv.Program(t, "docker-compose"), "--project-directory", p.dir, "-f",
				filepath.Join(p.dir, "compose.yaml"), "ps", "-q", "cache"))
		p.in(t).repel(t, []attack{
			{"another port", fmt.Sprintf(reach, 5433, "db")},
			{"another service", fmt.Sprintf(reach, 5432, "cache")},
			{"its address", fmt.Sprintf(reach, 5432, cache)},
		})
	})
	t.Run("StoreOfPnpmIsNoPartOfTheProject", func(t *testing.T) {
		for _, v := range []string{"pnpm@9.15.9", "pnpm@11.28.11"} {
			out, err := p.exec(
				fmt.Sprintf(`mkdir -p /tmp/%[1]s && tar -xzf packs/%[1]s.tgz -C /tmp/%[1]s && rm -rf node_modules *lock* && cat >package.json <<'X'
{"name": "x", "private": true, "dependencies": {"is-number": "file:packs/is-number@6.0.0.tgz"}}
X
node /tmp/%[1]s/package/bin/pnpm.?js install && test -d node_modules/is-number && node /tmp/%[1]s/package/bin/pnpm.?js store `+
					`path && git status --short`, v))
			if err != nil || !strings.Contains(out, "/home/agent/.cache/pnpm/v") || strings.Contains(out, ".pnpm-store") {
				t.Errorf("%s: %v: %s", v, err, out)
			}
		}
	})
	t.Run("CachesAreOfThisContainerAndOutliveIt", func(t *testing.T) {
		if out, err := p.exec("npm config get cache; touch ~/.cache/kept"); err != nil || !strings.Contains(out, "/home/agent/.cache/npm") {
			t.Errorf("%v: %s", err, out)
		}
		volumes := func() string {
			return p.must(p.docker, "inspect", "--format", `{{range .Mounts}}{{if eq .Destination "/home/agent/.cache"}}{{.Name}}{{end}}{{end}}`,
				p.containers()[0])
		}
		before := volumes()
		p.must(p.docker, "rm", "-f", p.containers()[0])
		if outcome, log := p.up(); outcome != "success" {
			t.Fatalf("devcontainer up: %s\n%s", outcome, log)
		}
		if out, err := p.exec("test -e ~/.cache/kept"); err != nil || volumes() != before || !strings.HasPrefix(before, "cache-") {
			t.Errorf("%q then %q: %v %s", before, volumes(), err, out)
		}
	})
	t.Run("ClaudeAsksNothing", func(t *testing.T) {
		term := newTerminal(t, 100, 40, fmt.Sprintf("TMPDIR=%s %s exec --workspace-folder %s claude; echo exit=$?; cat", p.tmp, p.cli, p.dir))
		term.expect("bypass permissions on")
		if screen := term.run("capture-pane", "-p", "-J"); strings.Contains(screen, "Enter to confirm") ||
			!strings.Contains(screen, "run /login") {
			t.Errorf("the screen shows\n%s", screen)
		}
	})
}

// pack puts a package of the npm registry into the project, as packs/NAME@VERSION.tgz.
func (p *devProject) pack(name string) {
	p.t.Helper()
	dir := filepath.Join(p.dir, "packs")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.CommandContext(p.t.Context(), testenv.Program(p.t, "npm"), "pack", "--silent", name)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		p.t.Fatalf("npm pack %s: %v", name, err)
	}
	if err := os.Rename(filepath.Join(dir, strings.TrimSpace(string(out))), filepath.Join(dir, name+".tgz")); err != nil {
		p.t.Fatal(err)
	}
}
