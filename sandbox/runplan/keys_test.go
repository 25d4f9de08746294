package runplan

import (
	"strings"
	"testing"

	"github.com/org/claude-sandbox/firewall/credential"
	"github.com/org/claude-sandbox/internal/engine"
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
