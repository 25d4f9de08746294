package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// testHostUsers has a user with another id than the image's, and root, start the dev
// container of their own projects. The first one's agent works as that user. Root's
// can read the project, and git and the shell say what there is to know.
func testHostUsers(t *testing.T, p *devProject) {
	up := func(uid int) {
		t.Helper()
		for _, id := range p.containers() {
			volumes := p.must(p.docker, "inspect", "--format", `{{range .Mounts}}{{if eq .Type "volume"}}{{.Name}} {{end}}{{end}}`, id)
			p.must(p.docker, "rm", "-f", id)
			for _, v := range strings.Fields(volumes) { // each user has their own
				p.must(p.docker, "volume", "rm", v)
			}
		}
		p.owner = &uid
		if outcome, log := p.up(); outcome != "success" {
			t.Fatalf("uid %d: devcontainer up: %s\n%s", uid, outcome, log)
		}
	}
	reach := fmt.Sprintf("curl -sS --max-time 10 http://allowed.example:%d/", p.world.allowed)

	other := 1001
	p.as = &other
	up(other)
	out, err := p.exec(`id -un; id -u; touch made ~/.cache/made $CLAUDE_CONFIG_DIR/made && git status --porcelain -- made && ` + reach)
	if err != nil || !strings.HasPrefix(out, "agent\n1001\n?? made\n") || !strings.Contains(out, "hello from outside") {
		t.Errorf("uid 1001: %v: %s", err, out)
	}
	if owner := p.must("stat", "-c", "%u", filepath.Join(p.dir, "made")); owner != "1001" {
		t.Errorf("what the agent makes belongs to %s", owner)
	}
	p.repel(t, []attack{
		{"OtherUserReachesAnotherName", fmt.Sprintf("curl -sS --max-time 5 http://other.example:%d/", p.world.allowed)},
		{"OtherUserWritesTheDevContainer", "echo x >>.devcontainer/devcontainer.json"},
	})
	if err := os.Remove(filepath.Join(p.dir, "made")); err != nil {
		t.Error(err)
	}

	p.as = nil
	if code, _, said := call(t, "validate", p.dir); code != 0 {
		t.Errorf("validate: exit %d: %s", code, said)
	}
	up(0)
	out, err = p.exec(`id -u; git log --format=%s -n1; bash -lic 'touch made'; ` + reach)
	for _, want := range []string{"1000\n", "x\n", "is read-only for you: on the host, chown -R 1000:1000 lets user 1000 change the project",
		"hello from outside"} {
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("root's project: %v, no %q: %s", err, want, out)
		}
	}
	p.owner = nil
	up(agentUID)
	if out, err = p.exec(`touch made && rm made && bash -lic true`); err != nil || strings.Contains(out, "is read-only") {
		t.Errorf("after chown: %v: %s", err, out)
	}
}
