package runplan

import (
	"strings"
	"testing"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/credential"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/test/workspacetest"
	"github.com/org/claude-sandbox/settings"
)

// A key whose value the agent gets in another way is no key.
func TestAttackTheKeyIsAVariableToo(t *testing.T) {
	const value = "canary-key-4411aa"
	key := []Key{{credential.Binding{Name: "K"}, "env:K"}}
	for name, p := range map[string]*Plan{
		"a secret":                {Keys: key, Handed: Handed{Secrets: []Secret{{Name: "S"}}}},
		"a secret's file":         {Keys: key, Handed: Handed{Secrets: []Secret{{Name: "S", File: "/f"}}}},
		"a variable":              {Keys: key, Handed: Handed{variables: []string{"V=a " + value + " b"}}},
		"a variable of settings":  {Keys: key, Agent: engine.Spec{Process: engine.Process{Env: []string{"V=" + value}}}},
		"a password":              {Keys: []Key{{credential.Binding{Name: "U"}, "env:U"}}, Handed: Handed{variables: []string{"V=" + value}}},
		"servers that have a key": {Keys: key, Handed: Handed{servers: []byte(`{"k": "` + value + `"}`)}},
	} {
		err := p.CheckKeys(map[string]string{"K": value, "S": value, "U": "me:" + value})
		if err == nil || strings.Contains(err.Error(), value) {
			t.Errorf("%s: %v", name, err)
		}
	}
	alone := &Plan{Keys: key, Handed: Handed{variables: []string{"V=other"}}}
	if err := alone.CheckKeys(map[string]string{"K": value}); err != nil {
		t.Error(err)
	}
	if err := alone.CheckKeys(nil); err == nil {
		t.Error("a key without a value")
	}
}

// A key goes only through a firewall that is closed by default, and a run without one says so. The
// key goes to the agent in no mode.
func TestAttackKeyWhereEgressIsOpen(t *testing.T) {
	const entry = "https://api.example.com GET /v1/**"
	for mode, used := range map[firewall.Mode]bool{
		"": true, firewall.ModeAllowlist: true, firewall.ModeAudit: false, firewall.ModeHost: false, firewall.ModeNone: false,
	} {
		user := settings.Settings{
			Network: firewall.Network{Mode: mode, Allow: []string{entry}},
			Secrets: []settings.Secret{{Name: "K", From: "env:K", For: entry}},
		}
		p := plan(t, Options{Layers: Layers{User: user}, Containers: Containers{AcceptNoFirewall: true}}, workspacetest.Folder(t))
		said := strings.Contains(strings.Join(p.Notes, "\n"), "no key is used, because the network's mode is "+string(mode)+":")
		if got := len(p.Keys) == 1; got != used || said == used || len(p.Secrets) > 0 {
			t.Errorf("mode %q: keys %v, secrets %v, notes %q", mode, p.Keys, p.Secrets, p.Notes)
		}
	}
}
