package scaffold

import (
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/templates/detect"
	"github.com/org/claude-sandbox/templates/lock"
)

// A service that somebody allows may lead to a private address; no other host may, and no
// service is allowed unasked.
func TestAnAllowedServiceIsPrivate(t *testing.T) {
	r := detect.Report{Services: []detect.Proposal{{Value: "db:5432"}, {Value: "cache:6379"}}}
	for _, allow := range [][]string{{"db:5432", "docs.example.com"}, nil} {
		in, err := Choose(Request{Allow: allow}, r)
		if err != nil {
			t.Fatal(err)
		}
		l, files, err := lock.New(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, f := range files {
			if f.Path == settingsPath {
				text = string(f.Content)
			}
		}
		if got := strings.Contains(text, `"private": ["db"]`); got != (allow != nil) || strings.Contains(text, "cache") ||
			len(l.Input().Private) != len(allow)/2 {
			t.Errorf("%q: private %q, in\n%s", allow, l.Input().Private, text)
		}
	}
}

func TestReasonsAndMissingTools(t *testing.T) {
	r := detect.Report{
		Template: detect.Proposal{Value: "claude-node", Reason: "there is a package.json", File: "package.json", Line: 1},
		Presets:  []detect.Proposal{{Value: "npm", Reason: "npm's lock"}},
		Hosts: []detect.Proposal{{Value: "a.example", Reason: "a registry"},
			{Value: "b.example", Reason: "a registry", File: ".npmrc", Line: 2}},
		Services: []detect.Proposal{{Value: "db:5432", Reason: "a service", File: "compose.yaml", Line: 2}},
		Notes:    []detect.Proposal{{Value: "look at this", File: "x", Line: 3}},
		Languages: []detect.Language{{Name: "Rust", File: "Cargo.toml", Packages: "cargo"},
			{Name: "Node", Template: "claude-node", File: "package.json"}},
	}
	c := lock.Input{Template: "claude", Allow: []string{"a.example"}}
	want := []string{
		"template claude, not claude-node: there is a package.json (package.json:1)",
		"preset npm: npm's lock",
		"not allowed: b.example: a registry (.npmrc:2); --allow b.example adds it",
		"not allowed: db:5432: a service (compose.yaml:2); --allow db:5432 adds it; 'sbx-devc allow --private db:5432' does, later",
		"note: x:3: look at this",
	}
	if got := Reasons(r, c); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	want = []string{
		"note: no tools for Rust (Cargo.toml): --option extraPackages=cargo adds Debian's",
		"note: no tools for Node (package.json): --template claude-node has them",
	}
	if got := MissingTools(r, c); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	c.Options = map[string]string{"extraPackages": "cargo"}
	if got := MissingTools(r, c); got != nil {
		t.Errorf("the user named packages, and reads %q", got)
	}
}
