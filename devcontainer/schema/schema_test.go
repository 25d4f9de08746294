package schema

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/test/golden"
)

// The files in schemas/ are what our tables say, in the language of editors.

// jsonSchema writes a shape as JSON Schema.
func jsonSchema(s shape) any {
	if s.kinds == nil {
		return true
	}
	var choice []map[string]any
	for _, kind := range s.kinds {
		m := map[string]any{"type": string(kind)}
		switch kind {
		case jsonc.String:
			if s.enum != nil {
				m["enum"] = s.enum
			}
			if s.pattern != nil {
				m["pattern"] = s.pattern.String()
			}
		case jsonc.Number:
			if s.integer {
				m["type"] = "integer"
				if s.min > math.MinInt {
					m["minimum"] = s.min
				}
				if s.max > 0 {
					m["maximum"] = s.max
				}
			}
		case jsonc.Array:
			if s.items != nil {
				m["items"] = jsonSchema(*s.items)
			}
		case jsonc.Object:
			objectSchema(m, s)
		}
		choice = append(choice, m)
	}
	if len(choice) == 1 {
		return choice[0]
	}
	return map[string]any{"anyOf": choice}
}

func objectSchema(m map[string]any, s shape) {
	if s.props != nil {
		props := map[string]any{}
		for name, p := range s.props {
			props[name] = jsonSchema(p)
		}
		m["properties"] = props
		m["additionalProperties"] = false
	}
	if s.rest != nil {
		m["additionalProperties"] = jsonSchema(*s.rest)
	}
	if s.names != nil {
		m["propertyNames"] = map[string]any{"pattern": s.names.String()}
	}
	if len(s.needs) > 0 {
		m["required"] = s.needs
	}
}

// schemas are the files by name.
func schemas() map[string]any {
	kind := func(props map[string]shape, needs ...string) any { return jsonSchema(object(props, needs...)) }
	build := merged(buildKind)
	build["build"] = object(build["build"].props, "dockerfile")
	return map[string]any{
		"devcontainer.schema.json": map[string]any{"anyOf": []any{
			kind(imageKind, "image"), kind(build, "build"), kind(dockerFileKind, "dockerFile"),
			kind(composeKind, "dockerComposeFile", "service", "workspaceFolder"),
		}},
		"devcontainer-feature.schema.json":  jsonSchema(featureShape),
		"devcontainer-template.schema.json": jsonSchema(templateShape),
		"devcontainer-lock.schema.json":     jsonSchema(lockShape),
		"sandbox-lock.schema.json":          jsonSchema(madeShape),
		"policy.schema.json":                jsonSchema(policyShape),
		"sbx-devc.schema.json":              jsonSchema(toolShape),
	}
}

var titles = map[string]string{
	"devcontainer.schema.json":          "devcontainer.json",
	"devcontainer-feature.schema.json":  "devcontainer-feature.json",
	"devcontainer-template.schema.json": "devcontainer-template.json",
	"devcontainer-lock.schema.json":     "devcontainer-lock.json",
	"sandbox-lock.schema.json":          "sandbox.lock",
	"sbx-devc.schema.json":              "sbx-devc.jsonc: which rules of sbx-devc validate count, and how much",
	"policy.schema.json":                "policy of an organisation for sbx-devc validate --policy",
}

func TestSchemaFiles(t *testing.T) {
	for name, body := range schemas() {
		t.Run(name, func(t *testing.T) {
			schema := body.(map[string]any)
			schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
			schema["title"] = titles[name]
			var out bytes.Buffer
			enc := json.NewEncoder(&out)
			enc.SetEscapeHTML(false)
			enc.SetIndent("", "  ")
			if err := enc.Encode(schema); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("..", "..", "schemas", name)
			if golden.Updating() {
				if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want, err := os.ReadFile(file); err != nil || !bytes.Equal(want, out.Bytes()) {
				t.Errorf("%s is not what the tables say (%v): run go test ./devcontainer/schema -run TestSchemaFiles -update", file, err)
			}
		})
	}
}
