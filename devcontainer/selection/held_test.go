package selection_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer/selection"
	"github.com/org/claude-sandbox/internal/diag"
)

// heldFindings checks one configuration by a policy, and returns what the policy holds of it as
// "RULE severity", sorted, and how many findings are bad.
func heldFindings(t *testing.T, policyText, config string, failOn diag.Severity, files map[string]string) (held []string, bad int) {
	t.Helper()
	const name = "a/.devcontainer/devcontainer.json"
	all := map[string]string{name: config}
	for file, text := range files {
		all[file] = text
	}
	dir := write(t, all)
	choices, err := selection.NewChoices(selection.Options{Policy: policy(t, policyText), Top: func(string) string { return dir }})
	if err != nil {
		t.Fatal(err)
	}
	k := selection.Check{Choices: choices, FailOn: failOn}
	if err := k.Open(t.Context(), []string{filepath.Join(dir, name)}); err != nil {
		t.Fatal(err)
	}
	c, err := choices.Of(t.Context(), filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range k.Files.Findings {
		if c.Holds(f.Rule) {
			held = append(held, fmt.Sprintf("%s %s", f.Rule, f.Severity))
		}
	}
	slices.Sort(held)
	return held, k.Bad
}

const heldConfig = `{"image": "debian", "privileged": true, "capAdd": ["NET_RAW"], "initializeCommand": "make"}`

// No file of a project makes a finding milder that a policy holds, whatever the policy's own word for it.
func TestAttackAProjectLowersWhatThePolicyHolds(t *testing.T) {
	const lists = `{"properties": {"forbid": ["privileged"]}, "capabilities": {"forbid": ["NET_RAW"]}`
	projects := map[string]map[string]string{}
	for _, section := range []string{
		`{"exclude": [".devcontainer"]}`, `{"exclude": ["**"]}`, `{"exclude": ["a"]}`,
		`{"profile": "correctness"}`, `{"profile": "recommended"}`,
		`{"categories": {"security": "off", "correctness": "off", "supply-chain": "off"}}`,
		`{"categories": {"security": "note", "correctness": "note", "supply-chain": "note"}}`,
		`{"rules": {"security": "off"}}`, `{"rules": {"security": "note", "SBX4xx": "note"}}`,
		`{"rules": {"SBX402": "off", "SBX414": "off", "SBX416": "off", "SBX408": "off", "SBX601": "off"}}`,
		`{"rules": {"SBX402": "note", "policy-capability": "note", "SBX416": "warning", "SBX408": "note", "SBX601": "note"}}`,
		`{"overrides": [{"files": ["**"], "rules": {"security": "off", "supply-chain": "off"}}]}`,
		`{"overrides": [{"files": ["**"], "rules": {"SBX402": "note", "SBX414": "note", "SBX416": "note", "SBX601": "note"}}]}`,
		`{"failOn": "error"}`, `{"failOn": "error", "exclude": ["**"], "profile": "correctness"}`,
	} {
		projects["at the root: "+section] = map[string]string{"sbx-devc.jsonc": `{"validate": ` + section + `}`}
		projects["beside it: "+section] = map[string]string{"a/.devcontainer/sbx-devc.jsonc": `{"validate": ` + section + `}`}
	}
	for _, rules := range []string{
		``, `, "rules": {"security": "warning"}`, `, "rules": {"security": "note"}`, `, "rules": {"security": "on", "supply-chain": "warning"}`,
		`, "rules": {"SBX402": "note", "SBX414": "note", "SBX416": "warning"}`, `, "rules": {"SBX4xx": "warning"}`,
		`, "rules": {"SBX402": "on", "security": "warning", "SBX601": "note"}`, `, "rules": {"correctness": "note", "SBX601": "warning"}`,
	} {
		policyText := lists + rules + `}`
		want, bad := heldFindings(t, policyText, heldConfig, diag.SeverityError, nil)
		if len(want) < 2 || bad == 0 {
			t.Fatal(rules, want, bad)
		}
		for name, files := range projects {
			if got, bad := heldFindings(t, policyText, heldConfig, diag.SeverityError, files); !slices.Equal(got, want) || bad == 0 {
				t.Errorf("%s, %s: %v (%d bad), want %v", rules, name, got, bad, want)
			}
		}
		// A baseline that knows all of it, and more often than it is there.
		dir := write(t, map[string]string{"a/.devcontainer/devcontainer.json": heldConfig})
		k := check(t, dir, selection.Check{Record: true}, "a/.devcontainer/devcontainer.json", "a/.devcontainer/devcontainer.json")
		files := map[string]string{"sbx-devc-baseline.json": string(k.Baselines()[0].Text)}
		if got, bad := heldFindings(t, policyText, heldConfig, diag.SeverityError, files); !slices.Equal(got, want) || bad == 0 {
			t.Errorf("%s, a baseline: %v (%d bad), want %v", rules, got, bad, want)
		}
		// A comment adds findings about itself, and takes none away.
		const commented = "{\n// sbx-ignore SBX402, SBX414, SBX416, SBX601, SBX408: they are in our way\n" +
			`"image": "debian", "privileged": true, "capAdd": ["NET_RAW"], "initializeCommand": "make"}`
		got, _ := heldFindings(t, policyText, commented, "", nil)
		for _, f := range want {
			if !slices.Contains(got, f) {
				t.Errorf("%s, comments: %v, want %s", rules, got, f)
			}
		}
	}
}

// A warning that a policy holds fails a run that by the project's own word fails on errors alone; the person's flag decides for all.
func TestAttackAProjectsLimitExcusesThePolicy(t *testing.T) {
	const lists, config = `{"rules": {"initialize-command": "warning"}}`, `{"image": "debian:12", "initializeCommand": "make"}`
	files := map[string]string{"sbx-devc.jsonc": `{"validate": {"failOn": "error"}}`}
	if held, bad := heldFindings(t, lists, config, "", files); bad != 1 || !slices.Contains(held, "SBX408 warning") {
		t.Errorf("by the project's word: %d bad of %v", bad, held)
	}
	if held, bad := heldFindings(t, lists, config, diag.SeverityError, files); bad != 0 {
		t.Errorf("by the flag: %d bad of %v", bad, held)
	}
}

// Of the words of one list the more specific one wins, in any order.
func TestTheMoreSpecificWordWins(t *testing.T) {
	const name = "a/devcontainer.json"
	f := diag.Finding{Rule: "SBX408", Severity: diag.SeverityNote, File: name}
	for _, words := range []string{
		`"SBX408": "error", "SBX4xx": "note", "security": "warning"`, `"security": "warning", "SBX4xx": "note", "SBX408": "error"`,
		`"SBX4xx": "error", "security": "warning"`, `"initialize-command": "error", "SBX4xx": "warning"`,
		`"security": "note", "sbx408": "note", "initialize-command": "error"`,
	} {
		byPolicy, err := selection.NewRun(nil, nil, policy(t, `{"rules": {`+words+`}}`))
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := byPolicy.Judge(chosen(t, `{}`), nil, false, f); got.Severity != diag.SeverityError {
			t.Errorf("a policy with %s: %s", words, got.Severity)
		}
		var run selection.Run
		for _, section := range []string{`{"rules": {` + words + `}}`, `{"overrides": [{"files": ["a"], "rules": {` + words + `}}]}`} {
			if got, _ := run.Judge(chosen(t, section), nil, false, f); got.Severity != diag.SeverityError {
				t.Errorf("%s: %s", section, got.Severity)
			}
		}
	}
}

// A default that the reference CLI cuts, and a file that Compose refuses, are taken otherwise than the policy was compared with them.
func TestAttackAProjectSilencesWhatIsNotRead(t *testing.T) {
	for _, c := range []struct {
		rule, config string
		files        map[string]string
	}{
		{"SBX305", `{"image": "debian:13", "runArgs": ["--cap-add=${localEnv:X:NET_RAW:y}"]}`, nil},
		{"SBX316", `{"dockerComposeFile": "c.yml", "service": "a", "workspaceFolder": "/w"}`,
			map[string]string{"a/.devcontainer/c.yml": "services:\n  a: {image: i}\n---\nservices:\n  a: {privileged: true}\n"}},
	} {
		files := map[string]string{"sbx-devc.jsonc": fmt.Sprintf(`{"validate": {"rules": {%q: "off"}}}`, c.rule)}
		for name, text := range c.files {
			files[name] = text
		}
		held, _ := heldFindings(t, `{"capabilities": {"forbid": ["NET_RAW"]}}`, c.config, "", files)
		if !slices.ContainsFunc(held, func(f string) bool { return strings.HasPrefix(f, c.rule) }) {
			t.Errorf("%s is silent: %v", c.rule, held)
		}
	}
}
