package settings_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/settings"
)

func TestAmendKeepsEverythingElse(t *testing.T) {
	tests := []struct{ name, src, want string }{
		{"comments, order and indentation", `// ours
{
    "topology": "single", // editors
    "network": {
        /* why */ "allow": [
            "a.example", // for the docs
            // "off.example",
        ],
        "presets": ["github"]
    }
}
`, `// ours
{
    "topology": "single", // editors
    "network": {
        /* why */ "allow": [
            "a.example", // for the docs
            "x.example:443",
            "y.example",
            // "off.example",
        ],
        "presets": ["github", "npm"]
    }
}
`},
		{"no lists", "{\n\t\"network\": {\n\t\t\"mode\": \"audit\"\n\t}\n}\n",
			"{\n\t\"network\": {\n\t\t\"mode\": \"audit\",\n\t\t\"presets\": [\n\t\t\t\"npm\"\n\t\t],\n\t\t\"allow\": [\n" +
				"\t\t\t\"x.example:443\",\n\t\t\t\"y.example\"\n\t\t]\n\t}\n}\n"},
		{"no network", "{\n  \"env\": {}\n}",
			"{\n  \"env\": {},\n  \"network\": {\n    \"presets\": [\n      \"npm\"\n    ],\n    \"allow\": [\n      \"x.example:443\",\n" +
				"      \"y.example\"\n    ]\n  }\n}"},
		{"one line without lists", `{"network": {"deny": ["*.x"]}}`,
			`{"network": {"deny": ["*.x"], "presets": ["npm"], "allow": ["x.example:443", "y.example"]}}`},
		{"one line without a network", `{}`, `{"network": {"presets": ["npm"], "allow": ["x.example:443", "y.example"]}}`},
		{"one line", `{"network": {"allow": ["a.example"], "presets": []}}`,
			`{"network": {"allow": ["a.example", "x.example:443", "y.example"], "presets": ["npm"]}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x := settings.Change{Add: settings.Lists{Presets: []string{"npm"}, Allow: []string{"x.example:443", "y.example"}}}
			got, err := amend("f", []byte(tt.src), x, settings.NoFiles)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
			again, err := amend("f", got, x, settings.NoFiles)
			if err != nil || !bytes.Equal(again, got) {
				t.Errorf("not idempotent (%v):\n%s", err, again)
			}
			windows := strings.ReplaceAll(tt.src, "\n", "\r\n")
			got, err = amend("f", []byte(windows), x, settings.NoFiles)
			if err != nil || string(got) != strings.ReplaceAll(tt.want, "\n", "\r\n") {
				t.Errorf("with the line ends of Windows (%v):\n%q", err, got)
			}
		})
	}
}

// A path in other letters is another path.
func TestAmendDistinguishesOperations(t *testing.T) {
	const src = `{"network": {"allow": ["https://api.example.com GET /v1/**"]}}`
	const upper = "https://api.example.com GET /V1/**"
	got, err := amend("f", []byte(src), settings.Change{Add: settings.Lists{Allow: []string{upper, "https://api.example.com  GET /v1/**"}}},
		settings.NoFiles)
	if want := `{"network": {"allow": ["https://api.example.com GET /v1/**", "` + upper + `"]}}`; err != nil || string(got) != want {
		t.Errorf("%s (%v), want %s", got, err, want)
	}
	got, err = amend("f", []byte(src), settings.Change{Remove: settings.Lists{Allow: []string{upper}}}, settings.NoFiles)
	if err != nil || string(got) != src {
		t.Errorf("%s (%v)", got, err)
	}
	if _, err = amend("f", []byte(src), settings.Change{Add: settings.Lists{Allow: []string{"*.example.com"}}}, settings.NoFiles); err == nil {
		t.Error("a host is opened around its operations")
	}
}

func TestAmendSetsTheMode(t *testing.T) {
	for src, want := range map[string]string{
		`{"network": {"mode": "audit"}}`: `{"network": {"mode": "allowlist"}}`,
		`{"network": {}}`:                `{"network": {"mode": "allowlist"}}`,
	} {
		got, err := amend("f", []byte(src), settings.Change{Mode: firewall.ModeAllowlist}, settings.NoFiles)
		if err != nil || string(got) != want {
			t.Errorf("%s became %s (%v), want %s", src, got, err, want)
		}
	}
	src := "{\n}"
	if got, err := amend("f", []byte(src), settings.Change{}, settings.NoFiles); err != nil || string(got) != src {
		t.Errorf("an empty extension made %q (%v)", got, err)
	}
}

func TestAmendRefusesWhatIsNotValid(t *testing.T) {
	for src, x := range map[string]settings.Change{
		`{"network": {"alow": []}}`:   {Add: settings.Lists{Allow: []string{"a.example"}}},
		`{"network": {"allow": []}}`:  {Add: settings.Lists{Allow: []string{"*"}}},
		`{"network": {"allow": [] }}`: {Add: settings.Lists{Presets: []string{"nobody"}}},
	} {
		if got, err := amend("f", []byte(src), x, settings.NoFiles); err == nil {
			t.Errorf("%s became %s", src, got)
		}
	}
}

// Added entries are there afterwards, in order, and the former ones still are.
func FuzzAmend(f *testing.F) {
	f.Add("{\n \"network\": {\"allow\": [\n\"a.example\" /* x */, // y\n]}}", "b.example")
	f.Add("{\"network\":{/*,*/}}//", "*.example.org:8443")
	f.Add("{ // [\n}", "192.0.2.1:22")
	f.Fuzz(func(t *testing.T, src, entry string) {
		before, _ := settings.Parse("f", []byte(src), settings.NoFiles)
		if _, bad := firewall.NewPolicy(firewall.Network{Allow: []string{entry}}); before == nil || len(bad) > 0 {
			return
		}
		got, err := amend("f", []byte(src), settings.Change{Add: settings.Lists{Allow: []string{entry}}}, settings.NoFiles)
		if err != nil {
			t.Fatalf("%q: %v", src, err)
		}
		after, findings := settings.Parse("f", got, settings.NoFiles)
		if after == nil {
			t.Fatalf("%q became %q: %v", src, got, findings)
		}
		want := before.Network.Allow
		if !slices.Contains(want, entry) {
			want = append(slices.Clip(want), entry)
		}
		if !slices.Equal(after.Network.Allow, want) {
			t.Fatalf("%q became %q: allow is %q, want %q", src, got, after.Network.Allow, want)
		}
	})
}

func TestAmendRemoves(t *testing.T) {
	src := `{
  "network": {
    "presets": ["npm", "go"], // the tools
    "allow": [
      "a.example", // for the docs
      "B.example:443",
      "c.example"
    ],
    "deny": ["c.example"]
  }
}
`
	want := `{
  "network": {
    "presets": ["npm"], // the tools
    "allow": [
      "a.example", // for the docs
      "c.example"
    ],
    "deny": ["b.example"]
  }
}
`
	change := settings.Change{
		Remove: settings.Lists{Presets: []string{"go"}, Allow: []string{"b.example:443", "never.example"}, Deny: []string{"c.example"}},
		Add:    settings.Lists{Deny: []string{"b.example"}},
	}
	got, err := amend("f", []byte(src), change, settings.NoFiles)
	if err != nil || string(got) != want {
		t.Fatalf("%v, got\n%s\nwant\n%s", err, got, want)
	}
	if again, err := amend("f", got, change, settings.NoFiles); err != nil || !bytes.Equal(again, got) {
		t.Errorf("not idempotent (%v):\n%s", err, again)
	}
}

// Amend edits the file itself: an entry that a list file brings is not taken for
// one that is gone.
func TestAmendDoesNotRemoveFromAListFile(t *testing.T) {
	lists := func(string) ([]byte, error) { return []byte("a.example\n"), nil }
	change := settings.Change{Remove: settings.Lists{Allow: []string{"a.example"}}}
	if got, err := amend("f", []byte(`{"network": {"allow": ["@hosts.txt"]}}`), change, lists); err == nil {
		t.Errorf("became %s", got)
	}
}

// amend is File.Amend for texts.
func amend(name string, src []byte, c settings.Change, read settings.FileReader) ([]byte, error) {
	f, err := settings.ParseFile(name, src, read).Amend(c)
	if err != nil {
		return nil, err
	}
	return f.Source, nil
}
