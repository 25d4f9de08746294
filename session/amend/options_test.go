package amend_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/session/amend"
	"github.com/org/claude-sandbox/session/recipe"
	"github.com/org/claude-sandbox/settings/trust"
)

// The options of the firewall Feature are changed as a settings file is: comments and
// order stay, defaults stay in force, and what is wrong is refused.
func TestOptionsOfTheFeature(t *testing.T) {
	const config = `{
  // theirs
  "image": "debian:bookworm", "features": {
    "ghcr.io/x/firewall:0": {
      "allow": "a.example, b.example" // why
    }
  }
}
`
	p := newPlace(t, "").OptionsOf()
	if err := os.Mkdir(filepath.Dir(p.File), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.File, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	standing := func() trust.Standing {
		t.Helper()
		project, err := trust.Project(p.Project)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := p.Trust.Look(project, recipe.Accepted(nil, recipe.Read(p.Project), nil))
		if err != nil {
			t.Fatal(err)
		}
		return answer.Standing
	}
	project, err := trust.Project(p.Project)
	if err == nil {
		err = p.Trust.Accept(project, recipe.Accepted(nil, recipe.Read(p.Project), nil), "test")
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		request amend.Request
		old     string // in the file, "" = it stays as it is
		now     string
	}{
		{allow("c.example"), `"a.example, b.example"`, `"a.example,b.example,c.example"`},
		{amend.Request{List: "deny", Entries: []string{"d.example"}}, "", `"deny": "gist.github.com,d.example"`},
		{amend.Request{List: "presets", Entries: []string{"npm"}}, "", `"presets": "anthropic,github,vscode,npm"`},
		{amend.Request{List: "allow", Entries: []string{"a.example"}, Remove: true}, "", `"allow": "b.example,c.example"`},
	} {
		preview, err := p.Preview(step.request)
		if err != nil {
			t.Fatal(err)
		}
		edit, _, err := p.Edit(step.request)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(p.File)
		if err != nil || string(text) != string(edit.After) || string(preview.After) != string(edit.After) ||
			!strings.Contains(string(text), step.now) || !strings.Contains(string(text), "// theirs") || !strings.Contains(string(text), "// why") {
			t.Errorf("%+v: %v\n%s", step.request, err, text)
		}
		if got := standing(); got != trust.Trusted {
			t.Errorf("%+v: the dev container is no longer accepted: %v", step.request, got)
		}
	}
	for what, r := range map[string]amend.Request{
		`:6 denies d.example`:      allow("d.example"),
		`has no "nowhere.example"`: {List: "allow", Entries: []string{"nowhere.example"}, Remove: true},
		`https://e.example/x`:      allow("https://e.example/x"),
	} {
		if _, _, err := p.Edit(r); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("want %q: %v", what, err)
		}
	}
	// Text that somebody else added is not accepted with it.
	text, err := os.ReadFile(p.File)
	if err == nil {
		err = os.WriteFile(p.File, append(text, "// evil\n"...), 0o644)
	}
	if err == nil {
		_, _, err = p.Edit(allow("f.example"))
	}
	if err != nil || standing() == trust.Trusted {
		t.Errorf("a change of somebody else's is accepted: %v", err)
	}
}
