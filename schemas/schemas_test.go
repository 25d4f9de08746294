package schemas

import (
	"slices"
	"testing"
)

// Names and values of both files, through references, choices and lists.
func TestAccepts(t *testing.T) {
	for _, c := range []struct {
		file        string
		path        []string
		name, value string
	}{
		{"sandbox.jsonc", nil, "network", ""},
		{"sandbox.jsonc", []string{"network"}, "allow", ""},
		{"sandbox.jsonc", []string{"network", "mode"}, "", `"allowlist"`},
		{"sandbox.jsonc", []string{"secrets", "0"}, "name", ""},
		{"sbx-devc.jsonc", []string{"validate"}, "rules", ""},
		{"sbx-devc.jsonc", []string{"validate", "profile"}, "", `"strict"`},
	} {
		got := Accepts(c.file, c.path)
		if c.name != "" && !slices.Contains(got.Names, c.name) || c.value != "" && !slices.Contains(got.Values, c.value) {
			t.Errorf("%s %v: %+v", c.file, c.path, got)
		}
	}
	if got := Accepts("sandbox.jsonc", []string{"nothing", "x"}); len(got.Names)+len(got.Values) > 0 {
		t.Errorf("an unknown place has %+v", got)
	}
	if Has("x.jsonc") || !Has("sandbox.jsonc") {
		t.Error("which files have a schema")
	}
}
