package settings_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/settings"
)

// TestSchemaAgrees keeps schemas/sandbox.schema.json, which editors complete
// from, and the decoder on the same names: a name that neither knows is put
// into every object, and the decoder's answer lists the names it accepts.
func TestSchemaAgrees(t *testing.T) {
	var schema map[string]any
	text, err := os.ReadFile("../schemas/sandbox.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	properties := func(path ...string) []string {
		node := any(schema)
		for _, step := range path {
			if list, ok := node.([]any); ok {
				node = list[1] // of oneOf, the object form
				continue
			}
			node = node.(map[string]any)[step]
		}
		return slices.Sorted(maps.Keys(node.(map[string]any)))
	}
	for src, path := range map[string]string{
		`{"?": 1}`:                        "properties",
		`{"network": {"?": 1}}`:           "properties network properties",
		`{"workspace": {"?": 1}}`:         "properties workspace properties",
		`{"mounts": [{"?": 1}]}`:          "properties mounts items properties",
		`{"secrets": [{"?": 1}]}`:         "properties secrets items oneOf 1 properties",
		`{"limits": {"?": 1}}`:            "properties limits properties",
		`{"mcp": {"?": 1}}`:               "properties mcp properties",
		`{"mcp": {"servers": [{"?":1}]}}`: "properties mcp properties servers items properties",
	} {
		_, findings := settings.Parse("f", []byte(src), settings.NoFiles)
		var hint string
		for _, f := range findings {
			if f.Rule == settings.RuleUnknown {
				hint = f.Hint
			}
		}
		if want := "accepted: " + strings.Join(properties(strings.Fields(path)...), ", "); hint != want {
			t.Errorf("%s:\n decoder %s\n schema  %s", src, hint, want)
		}
	}
}
