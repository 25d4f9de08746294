package runplan

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/cabundle"
	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/internal/test/workspacetest"
	"github.com/org/claude-sandbox/settings"
)

// A run whose policy opens no TLS has nothing of a certificate.
func TestOnlyARunThatOpensTLSTrustsTheSandbox(t *testing.T) {
	for entry, opens := range map[string]bool{"https://api.example.com GET /v1/**": true, "api.example.com": false} {
		user := settings.Settings{Network: firewall.Network{Allow: []string{entry}}, Env: map[string]string{"PIP_CERT": "/mine.pem"}}
		p := plan(t, Options{Layers: Layers{User: user}}, workspacetest.Folder(t))
		if got := slices.Contains(p.Agent.Entrypoint, "--trust"); got != opens {
			t.Errorf("%s: %q", entry, p.Agent.Entrypoint)
		}
		for _, v := range cabundle.Variables() {
			if got, mine := slices.Contains(p.Agent.Env, v), strings.HasPrefix(v, "PIP_CERT="); got != (opens && !mine) {
				t.Errorf("%s: %s is there: %t", entry, v, got)
			}
		}
		if !slices.Contains(p.Agent.Env, "PIP_CERT=/mine.pem") ||
			slices.ContainsFunc(p.Sidecar.Env, func(v string) bool { return strings.Contains(v, cabundle.Folder) }) {
			t.Errorf("%s: agent %q, firewall %q", entry, p.Agent.Env, p.Sidecar.Env)
		}
	}
}

// Whoever asks for mode audit hears that entries about operations hold nothing back there.
func TestModeAuditSaysThatOperationsAreNotRefused(t *testing.T) {
	for entry, told := range map[string]bool{"npm:read": true, "api.example.com": false} {
		n := firewall.Network{Mode: firewall.ModeAudit, Allow: []string{entry}}
		p := plan(t, Options{Layers: Layers{User: settings.Settings{Network: n}}}, workspacetest.Folder(t))
		if got := strings.Contains(strings.Join(p.Warnings, "\n"), "entries about operations refuse nothing in mode audit"); got != told {
			t.Errorf("%s: %q", entry, p.Warnings)
		}
	}
}

// Remotes over ssh work where entries say what git may do, and only there: git itself is
// asked where it would go.
func TestRemotesOverSSHGoOverHTTPS(t *testing.T) {
	user := settings.Settings{Network: firewall.Network{Allow: []string{
		"git:git.example.com/acme/app", "git:git.example.com/acme/lib push refs/heads/x", "https://api.example.com GET /**",
	}}}
	p := plan(t, Options{Layers: Layers{User: user}}, workspacetest.Folder(t))
	for remote, want := range map[string]string{
		"git@git.example.com:acme/app.git":       "https://git.example.com/acme/app.git",
		"ssh://git@git.example.com/acme/app":     "https://git.example.com/acme/app",
		"git@api.example.com:a/b":                "git@api.example.com:a/b",
		"git@git.example.com.evil.test:acme/app": "git@git.example.com.evil.test:acme/app",
		"https://git.example.com/acme/app":       "https://git.example.com/acme/app",
	} {
		cmd := exec.CommandContext(t.Context(), testenv.Program(t, "git"), "ls-remote", "--get-url", remote)
		cmd.Dir = t.TempDir()
		cmd.Env = append(slices.Clone(p.Agent.Env), "PATH="+os.Getenv("PATH"), "HOME="+cmd.Dir)
		out, err := cmd.Output()
		if got := strings.TrimSpace(string(out)); got != want || err != nil {
			t.Errorf("%s goes to %q, want %q: %v", remote, got, want, err)
		}
	}
}
