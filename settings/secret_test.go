package settings

import (
	"strings"
	"testing"
)

func TestReferences(t *testing.T) {
	for text, want := range map[string]Reference{
		"env:NPM_TOKEN":             {ReferenceEnv, "NPM_TOKEN"},
		"op://Dev/npm/token":        {ReferenceOp, "//Dev/npm/token"},
		"op://Dev/npm/sec tion/tok": {ReferenceOp, "//Dev/npm/sec tion/tok"},
		"keyring:npm/me@example":    {ReferenceKeyring, "npm/me@example"},
		"pass:dev/npm":              {ReferencePass, "dev/npm"},
		"file:~/.npm-token":         {ReferenceFile, "~/.npm-token"},
		"cmd:gh auth token":         {ReferenceCommand, "gh auth token"},
	} {
		if r, bad := parseReference(text); bad != nil || r != want || r.String() != text {
			t.Errorf("%s: %+v %v", text, r, bad)
		}
	}
	const value = "s3cr3t-Value"
	for _, text := range []string{value, value + ":", "env:" + value, "env:", "op:" + value, "op://" + value,
		"op://a//" + value, "keyring:" + value,
		"keyring:/" + value, "pass:-" + value, "pass:a/../" + value, "vault:" + value, "file:a\n" + value, "cmd:\x00" + value, ""} {
		if r, bad := parseReference(text); bad == nil || strings.Contains(bad.message+bad.hint, value) {
			t.Errorf("%q: %+v %v", text, r, bad)
		}
	}
}

func TestAnotherSourceKeepsTheForm(t *testing.T) {
	var g Given
	g.AddSecrets("--secret", []string{"A=env:B"})
	got := MergeSecrets([]Secret{{Name: "A", From: "pass:a", As: "file"}, {Name: "C"}}, g.Secrets)
	if len(got) != 2 || got[0] != (Secret{Name: "A", From: "env:B", As: "file"}) || got[1] != (Secret{Name: "C"}) {
		t.Errorf("%+v", got)
	}
	g.AddSecrets("--secret", []string{"not-a-name", "A=hunter2"})
	if _, errs := g.Accept(); len(errs) != 2 || strings.Contains(errs[1].Error(), "hunter2") {
		t.Errorf("%v", errs)
	}
}

// Values are held by name: of two keys with one name, neither may go to the other's host.
func TestTwoKeysWithOneName(t *testing.T) {
	twice := []Secret{{Name: "A", From: "env:B", For: "git:b.example/x"}, {Name: "A", From: "env:C", For: "git:c.example/x"}}
	for _, got := range [][]Secret{MergeSecrets(twice, nil), MergeSecrets(nil, twice)} {
		if len(got) != 1 || got[0] != twice[1] {
			t.Errorf("%+v", got)
		}
	}
	if twice[0].From != "env:B" {
		t.Error("the list that was given has changed")
	}
}

// A reference that is accepted is one line, and reads back as it was.
func FuzzReference(f *testing.F) {
	for _, seed := range []string{"env:A", "op://a/b/c", "keyring:a/b", "pass:a", "file:/a", "cmd:a b", "x:", ":", "op:///"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, bad := parseReference(text)
		if bad != nil {
			return
		}
		if r.String() != text || r.Of == "" || strings.ContainsAny(text, "\n\r\x00") {
			t.Errorf("%q became %+v", text, r)
		}
	})
}
