package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/settings"
)

// A firewall in a container of its own has the keys whose variables it was given, closed by
// default alone, and says why a key is not used. The variables leave its environment.
func TestKeysOfAPolicyFile(t *testing.T) {
	const value = "canary-key-71d4"
	t.Setenv("APP_KEY", value)
	t.Setenv("SHORT_KEY", "abc")
	var said bytes.Buffer
	p := &program{stderr: &said}
	k := new(keyring)
	read := func(mode, allow, secrets string) policyFile {
		t.Helper()
		text := `{"network": {"mode": "` + mode + `", "allow": [` + allow + `]}, "secrets": [` + secrets + `]}`
		policy, err := p.judgePolicy(settings.ParseFile("sandbox.jsonc", []byte(text), nil), nil)
		if err != nil {
			t.Fatalf("%v: %s", err, &said)
		}
		return policy
	}
	const entry, other = `"git:git.example/acme/app"`, `"git:git.example/acme/other"`
	app := `{"name": "app", "from": "env:APP_KEY", "for": ` + entry + `}`
	keys := k.bind(p, read("allowlist", entry, app))
	if keys == nil || len(keys.Bindings()) != 1 || os.Getenv("APP_KEY") != "" || said.Len() > 0 {
		t.Fatalf("%v, the variable is %q, said %q", keys, os.Getenv("APP_KEY"), &said)
	}
	if again := k.bind(p, read("allowlist", entry+", "+other, app)); again != keys {
		t.Error("other entries of the policy change the keys, which breaks requests off")
	}
	for _, tt := range []struct{ mode, allow, secrets, want string }{
		{"audit", entry, app, "mode is audit"},
		{"none", entry, app, "mode is none"},
		{"allowlist", other, app, "the policy has no entry for git:git.example/acme/app"},
		{"allowlist", entry, strings.Replace(app, "env:APP_KEY", "env:NOT_SET", 1),
			"the variable NOT_SET of the firewall's container has no value"},
		{"allowlist", entry, strings.Replace(app, "env:APP_KEY", "env:SHORT_KEY", 1), "fewer than 8 characters"},
		{"allowlist", entry, strings.Replace(app, "env:APP_KEY", "gh:git.example", 1), "its value is from gh:"},
		{"allowlist", entry, app + ", " + strings.Replace(app, `"app"`, `"too"`, 1), "no key is used: "},
	} {
		said.Reset()
		if keys := k.bind(p, read(tt.mode, tt.allow, tt.secrets)); keys != nil || !strings.Contains(said.String(), tt.want) ||
			strings.Contains(said.String(), value) {
			t.Errorf("%s, %s: %v, said %q, want %q", tt.mode, tt.secrets, keys, &said, tt.want)
		}
	}
	if keys := k.bind(p, read("allowlist", entry, app)); keys == nil {
		t.Error("the key does not come back")
	}

	// Of two keys with one name, neither goes to the other's host.
	said.Reset()
	t.Setenv("OTHER_KEY", "canary-key-other")
	const elsewhere = `"git:elsewhere.example/acme/app"`
	keys = k.bind(p, read("allowlist", entry+", "+elsewhere, app+`, {"name": "app", "from": "env:OTHER_KEY", "for": `+elsewhere+`}`))
	if hosts := keys.Hosts(); len(hosts) != 1 || hosts[0].Name != "git.example" ||
		!strings.Contains(said.String(), "another key has the same name") {
		t.Errorf("keys go to %v, said %q", hosts, &said)
	}
}
