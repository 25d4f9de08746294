package lint_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tailscale/hujson"

	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/internal/diag"
)

// soundOnes hold together every property of the specification, each kind of
// configuration what only it may have, and nothing that deserves a warning.
var soundOnes = func() map[string]string {
	const common = `
  "$schema": "https://example.com/s.json", "name": "n", "features": {"ghcr.io/a/b/c:1.0.0": {"version": "1"}}, ` +
		`"overrideFeatureInstallOrder": ["ghcr.io/a/b/c"],
  "secrets": {"A_B": {"description": "d", "documentationUrl": "https://example.com"}},
  "forwardPorts": [3000, "localhost:5432"], "portsAttributes": {"3000": {"onAutoForward": "openBrowserOnce", "elevateIfNeeded": false, ` +
		`"label": "l", "requireLocalPort": true, "protocol": "https"}},
  "otherPortsAttributes": {"onAutoForward": "silent", "elevateIfNeeded": false, "label": "l", "requireLocalPort": true, "protocol": "http"},
  "updateRemoteUserUID": true, "containerEnv": {"A": "b"}, "containerUser": "dev", "remoteUser": "dev",
  "mounts": ["type=volume,source=v,target=/v", {"type": "bind", "source": "${localWorkspaceFolder}/x", "target": "/x"}],
  "init": true, "privileged": false, "capAdd": ["SYS_NICE"], "securityOpt": ["no-new-privileges"], "remoteEnv": {"A": "b", "C": null},
  "onCreateCommand": "echo", "updateContentCommand": ["echo", "a"], "postCreateCommand": {"a": "echo", "b": ["echo", "b"]}, ` +
		`"postStartCommand": "", "postAttachCommand": [],
  "waitFor": "onCreateCommand", "userEnvProbe": "none", "customizations": {"vscode": {"extensions": ["a.b"]}},
  "hostRequirements": {"cpus": 2, "memory": "8gb", "storage": "1tb", "gpu": {"cores": 1, "memory": "1gb"}}`
	const single = `,
  "appPort": [3000, "127.0.0.1:1:1"], "runArgs": ["--hostname", "x"], "shutdownAction": "none", "overrideCommand": ` +
		`true, "workspaceFolder": "/w",
  "workspaceMount": "type=bind,source=${localWorkspaceFolder},target=/w"`
	const options = `"context": "..", "target": "t", "args": {"A": "b"}, "cacheFrom": ["c"], "options": ["--pull"]`
	return map[string]string{
		"image": `{"image": "debian:13",` + common + single + `}`,
		"build": `{"build": {"dockerfile": "Dockerfile", ` + options + `}, "privileged": false` + single + `}`,
		"dockerFile": `{"dockerFile": "Dockerfile", "context": "..", "build": {` + strings.Replace(options, `"context": "..", `, "", 1) +
			`}, "privileged": false` + single + `}`,
		"Compose": `{"dockerComposeFile": ["compose.yaml"], "service": "app", "runServices": ["app"], "workspaceFolder": "/w", ` +
			`"shutdownAction": "stopCompose", "overrideCommand": true, "privileged": false}`,
	}
}()

// alarms are the findings that are no advice.
func alarms(findings []diag.Finding) (out []diag.Finding) {
	for _, f := range findings {
		if f.Severity != diag.SeverityNote {
			out = append(out, f)
		}
	}
	return out
}

// One mistake, one finding: a value of each wrong type at every place, an
// unknown name beside every known one, every name misspelt, left out where it
// is needed, and given twice.
func TestEveryMistakeHasOneFinding(t *testing.T) {
	t.Parallel()
	schema := officialSchema(t, "devContainer.base.schema.json")
	for kind, src := range soundOnes {
		t.Run(kind, func(t *testing.T) {
			parsed, err := hujson.Parse([]byte(src))
			if err != nil {
				t.Fatal(err)
			}
			sound := valueOf(&parsed)
			if found := alarms(alone(write(sound))); len(found) > 0 || !official(t, schema, []byte(src)) {
				t.Fatalf("not sound: %v", found)
			}
			tried, mistakes := 0, 0
			// what is done to the copy of one container, and how many findings that deserves.
			try := func(what string, at int, change func(c *value) bool) {
				root := sound.clone()
				if !change(root.containers(nil)[at]) {
					return
				}
				text := write(root)
				tried++
				want := 0
				if !official(t, schema, []byte(text)) || strings.HasPrefix(what, "twice") {
					want = 1
					mistakes++
				}
				found := alarms(alone(text))
				if want == 0 {
					found = slices.DeleteFunc(found, func(f diag.Finding) bool { return !strings.HasPrefix(f.Rule, "SBX2") && f.Rule != "SBX301" })
				}
				if len(found) == 2 && found[0].Rule == "SBX204" && found[1].Rule == "SBX201" && strings.Contains(what, `{"x"`) {
					return // an object that lacks its names and has another: two mistakes
				}
				if len(found) != want {
					t.Errorf("%s: %d findings, not %d: %v", what, len(found), want, found)
				}
			}
			for at, c := range sound.containers(nil) {
				for i := range c.values {
					name := fmt.Sprint(i)
					if c.object {
						name = c.names[i]
					}
					for _, wrong := range []string{`null`, `true`, `"true"`, `"false"`, `"x"`, `""`, `1`, `1.5`, `-1`, `[]`, `{}`, `["x"]`, `[1]`,
						`{"x": 1}`, `{"x": "y"}`, `[["x"]]`, `{"x": {"y": "z"}}`} {
						try(name+" is "+wrong, at, func(c *value) bool {
							v, _ := hujson.Parse([]byte(wrong))
							c.values[i] = valueOf(&v)
							return true
						})
					}
					if !c.object {
						continue
					}
					try("unknown beside "+name, at, func(c *value) bool {
						c.names, c.values = append(c.names, "quux"), append(c.values, &value{literal: `"x"`})
						return true
					})
					try("without "+name, at, func(c *value) bool {
						c.names, c.values = slices.Delete(c.names, i, i+1), slices.Delete(c.values, i, i+1)
						return true
					})
					try("twice "+name, at, func(c *value) bool {
						c.names, c.values = append(c.names, name), append(c.values, c.values[i].clone())
						return true
					})
					for _, slip := range []string{name + "s", name[:len(name)-1], strings.ToUpper(name), strings.ToLower(name),
						name[:1] + "_" + name[1:]} {
						try(name+" misspelt as "+slip, at, func(c *value) bool {
							if slip == "" || slices.Contains(c.names, slip) {
								return false
							}
							c.names[i] = slip
							return true
						})
					}
				}
			}
			t.Logf("%d changes, %d of them mistakes", tried, mistakes)
			if mistakes < 150 {
				t.Errorf("only %d mistakes", mistakes)
			}
		})
	}
}

// A mistake in what a promise of the sandbox rests on is one finding, too; and
// when a comment excuses the mistake, the broken promise is what is said.
func TestMistakesInASandboxHaveOneFinding(t *testing.T) {
	for _, name := range []string{"overrideCommand", "remoteUser", "capAdd", "securityOpt", "mounts"} {
		misspelt := strings.Replace(sandbox, `"`+name+`"`, `"`+name+`s"`, 1)
		if found := alarms(check(t, misspelt, around())); len(found) != 1 || found[0].Rule != "SBX201" {
			t.Errorf("%s misspelt: %v", name, found)
		}
		excused := strings.Replace(misspelt, `"`+name, "// sbx-ignore SBX201: x\n  \""+name, 1)
		if found := alarms(check(t, excused, around())); len(found) == 0 ||
			slices.ContainsFunc(found, func(f diag.Finding) bool { return f.Rule[3] != '8' }) {
			t.Errorf("%s misspelt, and excused: %v", name, found)
		}
		removed := strings.Replace(sandbox, `"`+name+`"`, `"zzzz"`, 1)
		if found := alarms(check(t, removed, around())); !slices.ContainsFunc(found, func(f diag.Finding) bool { return f.Rule[3] == '8' }) {
			t.Errorf("without %s: %v", name, found)
		}
	}
	for old, replacement := range map[string]string{
		`"capAdd": ["NET_ADMIN"]`: `"capAdd": [{}]`, `"securityOpt": ["no-new-privileges"]`: `"securityOpt": [1]`,
		`"overrideCommand": false`: `"overrideCommand": 0`,
		`,readonly",`:              `,readonly", {"type": "bind"},`,
	} {
		if found := alarms(check(t, with(t, old, replacement), around())); len(found) != 1 || found[0].Rule[3] != '2' {
			t.Errorf("%s: %v", replacement, found)
		}
	}
}

// write writes a value as plain JSON.
func write(v *value) string {
	var b strings.Builder
	switch {
	case v.object:
		b.WriteByte('{')
		for i := range v.values {
			name, _ := json.Marshal(v.names[i])
			b.WriteString(",\n "[btoi(i == 0):])
			b.Write(name)
			b.WriteString(": " + write(v.values[i]))
		}
		return strings.Replace(b.String(), "{\n", "{", 1) + "}"
	case v.array:
		b.WriteByte('[')
		for i := range v.values {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(write(v.values[i]))
		}
		return b.String() + "]"
	}
	return v.literal
}

// The bad example of a rule has one mistake, so it has one finding.
func TestEveryBadExampleHasOneFinding(t *testing.T) {
	for _, r := range lint.Rules() {
		if r.Severity == diag.SeverityNote {
			continue
		}
		if found := alarms(judge(t, r.Bad.Files())); len(found) != 1 {
			t.Errorf("%s: %d findings: %v", r.ID, len(found), found)
		}
	}
}

// One slip of the pen is one finding: each bracket, quote, comma and colon of a
// file left out or doubled. A tolerant reader finds several things after it.
func TestEverySlipOfThePenHasOneFinding(t *testing.T) {
	const src = `{
  // a comment, "quoted"
  "image": "debian:13",
  "mounts": [
    "type=volume,source=v,target=/v",
    {"type": "bind", "source": "${localWorkspaceFolder}/x", "target": "/x"}
  ],
  "forwardPorts": [3000, 4000], /* another */
  "init": true,
  "remoteEnv": {"A": "b", "C": null},
  "remoteUser": "dev"
}
`
	slips := 0
	for i := range len(src) {
		if !strings.ContainsRune(`{}[],:"`, rune(src[i])) {
			continue
		}
		for what, text := range map[string]string{"without": src[:i] + src[i+1:], "twice": src[:i+1] + src[i:]} {
			found := alarms(alone(text))
			if _, err := hujson.Parse([]byte(text)); err == nil {
				continue // in a text or a comment, or no slip
			}
			slips++
			if len(found) != 1 {
				t.Errorf("%s the %q on line %d: %d findings: %v", what, src[i], 1+strings.Count(src[:i], "\n"), len(found), found)
			}
		}
	}
	t.Logf("%d slips", slips)
	if slips < 80 {
		t.Errorf("only %d", slips)
	}
}
