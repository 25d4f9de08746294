package main

import (
	"slices"
	"strings"
	"testing"
)

// askMode prints the mode in which claude starts and whether it takes any folder for
// trusted.
const askMode = `cd /tmp; ANTHROPIC_BASE_URL=http://127.0.0.1:9 ANTHROPIC_API_KEY=x CLAUDE_CODE_MAX_RETRIES=0 ` +
	`CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 timeout 30 claude -p --output-format stream-json --verbose x |
	grep -o '"permissionMode":"[^"]*"' | head -n1; echo trusted=$CLAUDE_CODE_SANDBOXED`

const (
	unasked = "\"permissionMode\":\"bypassPermissions\"\ntrusted=1"
	asked   = "trusted=\n"
)

// Attack: the image of a dev container starts without its firewall, or with one that
// leaves everything open. Claude must then ask, as anywhere else.
func testClaudeAsksWithoutTheFirewall(t *testing.T, p *devProject) {
	id := p.containers()[0]
	root := func(script string) { p.must(p.docker, "exec", "-u", "root", id, "sh", "-c", script) }
	inside := func(what, container string, verified bool) {
		t.Helper()
		out, err := p.try(p.docker, "exec", "-u", "agent", container, "bash", "-lc", askMode)
		switch {
		case err != nil || !strings.Contains(out, `"permissionMode":"`):
			t.Errorf("%s: claude does not start: %v: %s", what, err, out)
		case verified && !strings.Contains(out, unasked):
			t.Errorf("%s: claude asks: %s", what, out)
		case !verified && (strings.Contains(out, "bypassPermissions") || !strings.HasSuffix(out, asked)):
			t.Errorf("%s: claude does not ask: %s", what, out)
		}
	}
	inside("behind the firewall", id, true)

	root(`cp /etc/sbx/sandbox.jsonc /root/kept; sed -i 's/"mode": "allowlist"/"mode": "audit"/' /etc/sbx/sandbox.jsonc; sbx-init reload`)
	inside("in mode audit", id, false)
	root(`sed -i 's/"mode": "audit"/"mode": "host"/' /etc/sbx/sandbox.jsonc; sbx-init reload`)
	inside("in mode host", id, false)
	root(`echo nonsense >/etc/sbx/sandbox.jsonc; ! sbx-init reload`)
	inside("after a bad policy", id, false)
	root(`cat /root/kept >/etc/sbx/sandbox.jsonc; sbx-init reload`)
	inside("behind the firewall again", id, true)
	if out, err := p.exec(
		"ln -s /etc/sbx/if-verified /dev/sbx-verified || rm /dev/sbx-verified || ln -sfn /tmp /etc/sbx/verified || rm -rf " +
			"/etc/claude-code/managed-settings.json"); err == nil {
		t.Errorf("the agent makes the mark itself: %s", out)
	}

	image := "sbx-c-unasked:" + id[:12]
	p.must(p.docker, "commit", "--change", `ENTRYPOINT ["sleep", "infinity"]`, id, image)
	t.Cleanup(func() { p.must(p.docker, "rmi", "-f", image) })
	for what, args := range map[string][]string{
		"with another entrypoint":                {"--tmpfs=/run/sbx:mode=0755", image},
		"with another entrypoint and no tmpfs":   {image},
		"with the host's network and entrypoint": {"--network=host", image},
	} {
		other := p.must(p.docker, append([]string{"run", "-d", "--env=SBX_WAIT_FOR="}, args...)...)
		t.Cleanup(func() { p.must(p.docker, "rm", "-f", other) })
		inside(what, other, false)
	}

	// As with Compose and a published Feature, which cannot mount a tmpfs. An image of that
	// container, and a container that shares the machine's /dev, must not have the mark.
	policy := `{"network": {"mode": "none"}}`
	raised := func(more ...string) (id string) {
		args := slices.Concat([]string{"run", "-d", "--cap-add=NET_ADMIN", "--entrypoint=sh"}, more, []string{image, "-c",
			"echo '" + policy + "' >/root/p.jsonc; exec sbx-init run --policy /root/p.jsonc --user agent -- sleep infinity"})
		id = p.must(p.docker, args...)
		t.Cleanup(func() { p.must(p.docker, "rm", "-f", id) })
		return id
	}
	plain := raised()
	inside("without a tmpfs", plain, true)
	p.must(p.docker, "commit", "--change", `ENTRYPOINT ["sleep", "infinity"]`, plain, image)
	again := p.must(p.docker, "run", "-d", "--env=SBX_WAIT_FOR=", image)
	t.Cleanup(func() { p.must(p.docker, "rm", "-f", again) })
	inside("from the image of a verified one", again, false)
	inside("with the machine's /dev", raised("--volume=/dev:/dev"), false)
}
