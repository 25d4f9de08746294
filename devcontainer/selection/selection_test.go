package selection_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/devcontainer/org"
	"github.com/org/claude-sandbox/devcontainer/selection"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// write makes a folder with files and returns it.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// chosen parses the section "validate" of a file in the current folder.
func chosen(t *testing.T, section string) *selection.Selection {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	doc, findings := jsonc.Parse("sbx-devc.jsonc", []byte(`{"validate": `+section+`}`))
	s, wrong := selection.Parse(doc, "/validate", here)
	if s == nil {
		t.Fatal(findings, wrong)
	}
	return s
}

func policy(t *testing.T, text string) *org.Policy {
	t.Helper()
	p, findings := org.Parse("org.jsonc", []byte(text))
	if p == nil {
		t.Fatal(findings)
	}
	return p
}

// A later word wins over an earlier one.
func TestPrecedence(t *testing.T) {
	warning := diag.Finding{Rule: "SBX408", Severity: diag.SeverityWarning, File: "a/devcontainer.json"}
	for _, c := range []struct {
		section       string
		only, ignored []string
		contained     bool
		want          diag.Severity // "" = not shown
	}{
		{`{}`, nil, nil, false, "note"},
		{`{}`, nil, nil, true, "warning"},
		{`{"profile": "strict"}`, nil, nil, false, "warning"},
		{`{"profile": "correctness"}`, nil, nil, true, ""},
		{`{"profile": "correctness", "categories": {"security": "on"}}`, nil, nil, false, "warning"},
		{`{"categories": {"security": "note"}}`, nil, nil, true, "note"},
		{`{"categories": {"security": "off"}, "rules": {"SBX4xx": "error"}}`, nil, nil, false, "error"},
		{`{"rules": {"security": "off", "initialize-command": "note"}}`, nil, nil, true, "note"},
		{`{"rules": {"SBX408": "error"}, "overrides": [{"files": ["a"], "rules": {"SBX408": "off"}}]}`, nil, nil, false, ""},
		{`{"rules": {"SBX408": "error"}, "overrides": [{"files": ["b/**"], "rules": {"SBX408": "off"}}]}`, nil, nil, false, "error"},
		{`{"rules": {"SBX408": "error"}, "exclude": ["*/devcontainer.json"]}`, nil, nil, false, ""},
		{`{"exclude": ["."]}`, nil, nil, false, ""},
		{`{"exclude": ["./a/"]}`, nil, nil, false, ""},
		{`{"exclude": ["./b"]}`, nil, nil, true, "warning"},
		{`{"rules": {"SBX408": "off"}}`, []string{"sbx408"}, nil, false, "warning"},
		{`{"rules": {"SBX408": "error"}}`, []string{"security"}, []string{"SBX408"}, false, ""},
		{`{}`, []string{"style"}, nil, true, ""},
	} {
		run, err := selection.NewRun(c.only, c.ignored, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, shown := run.Judge(chosen(t, c.section), nil, c.contained, warning)
		if shown != (c.want != "") || shown && got.Severity != c.want {
			t.Errorf("%+v: %v %s", c, shown, got.Severity)
		}
	}
}

// Every rule has a category, and every word that names rules is known.
func TestRulesOf(t *testing.T) {
	for _, r := range lint.Rules() {
		for _, word := range []string{r.ID, r.Name, strings.ToLower(r.ID), r.ID[:4] + "xx", string(r.Category)} {
			if !slices.Contains(selection.RulesOf(word), r.ID) {
				t.Errorf("%s does not name %s", word, r.ID)
			}
		}
	}
	for _, word := range []string{"", "SBX", "SBXxx", "SBX4", "secur"} {
		if ids := selection.RulesOf(word); ids != nil {
			t.Errorf("%q names %v", word, ids)
		}
	}
}

// What a policy compares, and what keeps it from being compared, is shown whatever the
// project's file, its baseline and the command line say.
func TestAttackAProjectSilencesThePolicy(t *testing.T) {
	quiet := chosen(t,
		`{"profile": "correctness", "exclude": ["**"], "rules": {"correctness": "off", "security": "off", "supply-chain": "off"}}`)
	run, err := selection.NewRun([]string{"style"}, []string{"correctness", "SBX103"},
		policy(t, `{"rules": {"SBX601": "warning", "privileged": "on"}}`))
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]diag.Severity{
		"SBX414": "error", "SBX415": "error", "SBX416": "error", "SBX606": "error", "SBX607": "error", "SBX611": "error",
		"SBX101": "error", "SBX102": "error", "SBX105": "error", "SBX106": "error", "SBX107": "error", "SBX109": "error",
		"SBX202": "error", "SBX203": "error", "SBX204": "error", "SBX301": "error", "SBX303": "error", "SBX310": "error", "SBX903": "error",
		"SBX601": "warning", "SBX402": "error", "SBX401": "", "SBX103": "",
	} {
		rule, _ := lint.LookupRule(id)
		f := diag.Finding{Rule: id, Severity: rule.Severity, File: "devcontainer.json", Message: "m"}
		known, err := selection.ParseBaseline("b", quiet.NewBaseline([]diag.Finding{f,
			{Rule: id, Severity: "note", File: f.File, Message: "m"}}, nil))
		if err != nil {
			t.Fatal(err)
		}
		if got, shown := run.Judge(quiet, known, false, f); shown != (want != "") || shown && got.Severity != want {
			t.Errorf("%s: shown %v, %s, want %q", id, shown, got.Severity, want)
		}
	}
}

// A known finding may move, counts as often as the baseline has it, and is gone when
// nothing takes it.
func TestBaseline(t *testing.T) {
	s := chosen(t, `{}`)
	f := diag.Finding{Rule: "SBX402", Severity: diag.SeverityError, File: "a.json", Line: 3, Message: "m"}
	known, err := selection.ParseBaseline("b", s.NewBaseline([]diag.Finding{f, f, {Rule: "SBX402", File: "a.json", Message: "other"}}, nil))
	if err != nil {
		t.Fatal(err)
	}
	var run selection.Run
	for i, want := range []bool{false, false, true} {
		f.Line = 10 + i
		if _, shown := run.Judge(s, known, false, f); shown != want {
			t.Errorf("%d: shown %v", i, shown)
		}
	}
	all, none := func(selection.Known) bool { return true }, func(selection.Known) bool { return false }
	if known.Gone(all) != 1 || known.Gone(none) != 0 || run.Known != 2 {
		t.Error(known, run)
	}
	for _, bad := range []string{``, `[]`, `{"schemaVersion": 2}`} {
		if _, err := selection.ParseBaseline("b", []byte(bad)); err == nil {
			t.Errorf("%q is a baseline", bad)
		}
	}
}

// The nearest file counts, and its paths start at its folder.
func TestFind(t *testing.T) {
	dir := write(t, map[string]string{
		"sbx-devc.jsonc":         `{"validate": {"failOn": "error"}}`,
		"a/sbx-devc.jsonc":       `{"validate": {"failOn": "note", "baseline": "known.json"}}`,
		"a/known.json":           `{"schemaVersion": 1}`,
		"a/.devcontainer/x":      "",
		"b/c/x":                  "",
		"b/" + "sbx-devc-x":      "",
		"sbx-devc-baseline.json": `{"schemaVersion": 1}`,
	})
	for sub, want := range map[string]struct {
		failOn   diag.Severity
		root     string
		baseline string
	}{"a/.devcontainer": {"note", "a", "known.json"}, "b/c": {"error", "", "sbx-devc-baseline.json"},
		"": {"error", "", "sbx-devc-baseline.json"}} {
		s, known, err := selection.Find(filepath.Join(dir, sub), dir)
		if err != nil {
			t.Fatal(err)
		}
		if s.FailOn != want.failOn || s.Root != filepath.Join(dir, want.root) || known == nil || filepath.Base(known.File) != want.baseline {
			t.Errorf("%s: %+v %v", sub, s, known)
		}
	}
}

// A mistake in a file is an error that says where, and a link out of the repository is
// not followed: its target's text would be quoted.
func TestFindRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"syntax":   {`{"validate": {,}}`, "sbx-devc.jsonc:1:15"},
		"word":     {`{"validate": {"rules": {"SBX000": "off"}}}`, `1:25: there is no rule "SBX000"`},
		"level":    {`{"validate": {"rules": {"SBX402": "of"}}}`, `1:35: validate.rules.SBX402 cannot be "of"`},
		"category": {`{"validate": {"categories": {"speed": "off"}}}`, `1:30: unknown property "speed"`},
		"type":     {`{"validate": {"exclude": "x"}}`, `1:26: validate.exclude must be an array of strings`},
		"glob":     {`{"validate": {"exclude": ["["]}}`, `"[" names no path`},
		"baseline": {`{"validate": {"baseline": "../x"}}`, "the baseline lies outside"},
		"array":    {`[]`, "must be an object"},
		"two":      {`{"validate": {"profil": "strict", "failOn": "never"}}`, `1:45: validate.failOn cannot be "never"`},
	} {
		dir := write(t, map[string]string{"sbx-devc.jsonc": c.text})
		if _, _, err := selection.Find(dir, dir); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	outside := write(t, map[string]string{"secret": `password: hunter2`})
	for _, name := range []string{"sbx-devc.jsonc", "sbx-devc-baseline.json"} {
		dir := t.TempDir()
		testenv.Symlink(t, filepath.Join(outside, "secret"), filepath.Join(dir, name))
		if _, _, err := selection.Find(dir, dir); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A policy that a project's file names and that is not there is told with the file that names it.
func TestAPolicyThatIsNotThere(t *testing.T) {
	dir := write(t, map[string]string{"sbx-devc.jsonc": `{"validate": {"policy": "policy.jsonc"}}`})
	choices, err := selection.NewChoices(selection.Options{Top: func(string) string { return dir },
		Fetch: func(_ context.Context, name string) (*org.Policy, error) { return org.Read(name) }})
	if err != nil {
		t.Fatal(err)
	}
	_, err = choices.Of(t.Context(), filepath.Join(dir, "devcontainer.json"))
	if err == nil || !strings.Contains(err.Error(), "sbx-devc.jsonc names the policy policy.jsonc, and there is no such file") {
		t.Error(err)
	}
}

// The file that docs/checks.md shows is one.
func TestDocumentedFile(t *testing.T) {
	page, err := os.ReadFile("../../docs/checks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "## Choice of rules")
	_, text, _ = strings.Cut(text, "```jsonc\n")
	text, _, _ = strings.Cut(text, "```")
	doc, findings := jsonc.Parse("docs/checks.md", []byte(text))
	if doc == nil {
		t.Fatal(findings)
	}
	if s, findings := selection.Parse(doc, "/validate", "/"); s == nil || s.Policy != "policy.jsonc" {
		t.Fatal(findings)
	}
}
