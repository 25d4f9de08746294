package org_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer/org"
)

// A forbidden entry wins, and a list of what is allowed forbids the rest. The
// answer names the line that says so. No policy refuses nothing.
func TestJudge(t *testing.T) {
	policy, findings := org.Parse("p.jsonc",
		[]byte("{\n\"capabilities\": {\"allow\": [\"CHOWN\", \"KILL\"], \"forbid\": [\"KILL\"]},\n\"mounts\": {}\n}"))
	if policy == nil {
		t.Fatal(findings)
	}
	for name, want := range map[string]string{
		"CHOWN": "", "KILL": "p.jsonc:2:57 forbids it", "BPF": "p.jsonc:2:27 lists what is allowed",
	} {
		why, where := policy.Judge("capabilities", func(entry string) bool { return entry == name })
		if where != want || (why == "") != (want == "") {
			t.Errorf("%s: %q, %q, want %q", name, why, where, want)
		}
	}
	if why, _ := policy.Judge("mounts", func(string) bool { return true }); why != "" {
		t.Error(why)
	}
	if why, _ := (*org.Policy)(nil).Judge("mounts", func(string) bool { return true }); why != "" {
		t.Error(why)
	}
}

// Whole parts of a name are compared.
func TestRegistryMatch(t *testing.T) {
	for _, c := range []struct {
		entry, name string
		want        bool
	}{
		{"ghcr.io/acme", "ghcr.io/acme/a", true}, {"ghcr.io/acme", "ghcr.io/acme-evil/a", false},
		{"ghcr.io/*/a", "ghcr.io/acme/a", true}, {"ghcr.io/*", "evil.io/acme", false}, {"ghcr.io/acme/a/b", "ghcr.io/acme/a", false},
	} {
		if got := org.RegistryMatch(c.entry, c.name); got != c.want {
			t.Errorf("%s, %s: %v", c.entry, c.name, got)
		}
	}
}

// An entry that names nothing is an error with what was probably meant: it would forbid nothing.
func TestParseNamesWhatDoesNotExist(t *testing.T) {
	const idle = `an entry is a folder of the host, without target, options, variables and blanks around it`
	for text, want := range map[string]string{
		`{"properties": {"forbid": ["privilegd"]}}`:                `p:1:28 there is no property "privilegd": did you mean "privileged"?`,
		`{"properties": {"forbid": ["init"], "require": ["nme"]}}`: `p:1:49 there is no property "nme": did you mean "name"?`,
		`{"capabilities": {"forbid": ["NET_RW"]}}`:                 `p:1:30 there is no capability "NET_RW": did you mean "NET_RAW"?`,
		`{"capabilities": {"allow": ["*"]}}`:                       `p:1:29 there is no capability "*": `,
		`{"capabilities": {"allow": ["ALL", "cap_net_raw", "CAP_SYS_ADMIN", "Bpf"]}, "properties": {"forbid": ["dockerComposeFile", "runArgs",
			"customizations", "initializeCommand", "build", "features", "secrets", "hostRequirements", "appPort"]}}`: "",
		`{"registries": {"allow": ["https://ghcr.io/acme"]}}`: `p:1:27 "https://ghcr.io/acme" matches nothing: an entry has neither scheme, ` +
			`version nor blanks: write "ghcr.io/acme"`,
		`{"registries": {"allow": ["ghcr.io/acme/", "localhost:5000", "*.io", "ghcr.io/*/x", "r.io:5000/a", "localhost"]}}`: "",
		`{"registries": {"allow": ["ghcr.io//a/b:1"]}}`: `p:1:27 "ghcr.io//a/b:1" matches nothing: an entry has neither scheme, ` +
			`version nor blanks: write "ghcr.io/a/b"`,
		`{"registries": {"allow": ["python"]}}`: `p:1:27 "python" matches nothing: an entry begins with a host: ` +
			`write "docker.io/python" for a namespace of Docker Hub, "docker.io/library/python" for an image of its own`,
		`{"registries": {"allow": ["library/python"]}}`: `p:1:27 "library/python" matches nothing: an entry begins with a host: ` +
			`write "docker.io/library/python" for Docker Hub's`,
		`{"registries": {"allow": ["hub.docker.com"]}}`: `p:1:27 "hub.docker.com" matches nothing: images of Docker Hub come from ` +
			`docker.io: write "docker.io/…"`,
		`{"registries": {"allow": [""]}}`: `p:1:27 an entry is empty: name a registry or a Feature, or leave it out`,
		`{"mounts": {"forbid": ["/run/docker.sock:/run/docker.sock"]}}`: `p:1:24 "/run/docker.sock:/run/docker.sock" matches nothing: it is ` +
			`neither /PATH nor ~/PATH nor "..": ` + idle,
		`{"properties": {"forbid": ["build.args"]}}`: `p:1:28 "build.args" matches nothing: a policy knows properties at the top level ` +
			`alone: write "build"`,
		`{"features": {"forbid": ["docker-in-docker:2"]}}`: `p:1:26 "docker-in-docker:2" matches nothing: an entry has neither scheme, ` +
			`version nor blanks: write "docker-in-docker"`,
		`{"features": {"forbid": ["docker-*", "./f", "ghcr.io/acme/*", "devcontainers/features/go"]}}`: "",
		`{"extensions": {"forbid": ["evil"]}}`: `p:1:28 "evil" matches nothing: an extension is PUBLISHER.NAME: ` +
			`write "evil.*" for all of a publisher`,
		`{"extensions": {"forbid": ["evil.tool@1.2"]}}`: `p:1:28 "evil.tool@1.2" matches nothing: an extension is PUBLISHER.NAME: ` +
			`write PUBLISHER.NAME without a version; * stands for any`,
		`{"extensions": {"forbid": ["*", "*.*", "evil.*", "ms-python.python", "a.b.c"]}}`: "",
		`{"extensions": {"forbid": ["a.[b"]}}`: `p:1:28 "a.[b" matches nothing: a bracket is open: ` +
			`* is the sign that stands for any`,
		`{"mounts": {"forbid": ["${localEnv:HOME}/.ssh"]}}`: `p:1:24 "${localEnv:HOME}/.ssh" matches nothing: it is neither /PATH ` +
			`nor ~/PATH nor "..": write "~/.ssh"`,
		`{"mounts": {"forbid": ["etc"]}}`: `p:1:24 "etc" matches nothing: it is neither /PATH nor ~/PATH nor "..": ` +
			idle,
		`{"mounts": {"forbid": ["/", "~", "/etc/", "~/.ssh/*", ".."]}}`: "",
	} {
		policy, findings := org.Parse("p", []byte(text))
		got := ""
		for _, f := range findings {
			got += fmt.Sprintf("%s:%d:%d %s: %s", f.File, f.Line, f.Column, f.Message, f.Hint)
		}
		if got != want || (policy == nil) != (want != "") {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// A policy with an unknown part or a value of a wrong type is none.
func TestParseRefuses(t *testing.T) {
	for _, text := range []string{`[]`, `{"capability": {}}`, `{"mounts": {"allow": "/srv"}}`, `{`} {
		if policy, findings := org.Parse("p", []byte(text)); policy != nil || len(findings) != 1 {
			t.Errorf("%s: %v", text, findings)
		}
	}
}

// Every mistake of a policy is said in one run.
func TestLoadNamesAllMistakes(t *testing.T) {
	_, err := org.Load("p", []byte("{\"mounts\": {\"forbid\": [\"etc\",\n\"x\"]}}"))
	if err == nil || !strings.Contains(err.Error(), `p:1:24: "etc"`) || !strings.Contains(err.Error(), "\n  p:2:1: \"x\"") {
		t.Error(err)
	}
}
