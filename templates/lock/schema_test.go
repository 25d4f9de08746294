package lock_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/templates/lock"
)

func compile(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile(filepath.Join("..", "..", "schemas", name))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func valid(t *testing.T, s *jsonschema.Schema, text []byte) error {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(v)
}

// TestLockAgreesWithItsSchema: what is written is valid, and not without what
// says how to read it.
func TestLockAgreesWithItsSchema(t *testing.T) {
	s := compile(t, "sandbox-lock.schema.json")
	sums := map[string]string{"amd64": strings.Repeat("a", 64)}
	for _, id := range templates.IDs() {
		l, _, err := lock.New(lock.Input{Template: id, Workflow: true, Presets: []string{"npm"},
			Facts: templates.Facts{Covered: []string{".idea"}}}, sums)
		if err != nil {
			t.Fatal(err)
		}
		text := l.Encode()
		if err := valid(t, s, text); err != nil {
			t.Errorf("%s: %v", id, err)
		}
		for _, name := range []string{"template", "lockVersion"} {
			if valid(t, s, bytes.Replace(text, []byte(`"`+name+`"`), []byte(`"x`+name+`"`), 1)) == nil {
				t.Errorf("%s: valid without %s", id, name)
			}
		}
	}
}

func TestTemplatesAgreeWithTheirSchema(t *testing.T) {
	s := compile(t, "devcontainer-template.schema.json")
	for _, id := range templates.IDs() {
		text, err := os.ReadFile(filepath.Join("..", "src", id, "devcontainer-template.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := valid(t, s, text); err != nil {
			t.Errorf("%s: %v", id, err)
		}
		for _, bad := range [][2]string{{`"type": "string"`, `"type": "text"`}, {`"version": "0.2.0"`, `"version": 2`},
			{`"options"`, `"option"`}} {
			if valid(t, s, []byte(strings.Replace(string(text), bad[0], bad[1], 1))) == nil {
				t.Errorf("%s: valid with %s", id, bad[1])
			}
		}
	}
}
