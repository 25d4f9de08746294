package devcontainer

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/tailscale/hujson"

	"github.com/org/claude-sandbox/internal/diag"
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
		"policy.schema.json":                jsonSchema(orgShape),
	}
}

var titles = map[string]string{
	"devcontainer.schema.json":          "devcontainer.json",
	"devcontainer-feature.schema.json":  "devcontainer-feature.json",
	"devcontainer-template.schema.json": "devcontainer-template.json",
	"devcontainer-lock.schema.json":     "devcontainer-lock.json",
	"sandbox-lock.schema.json":          "sandbox.lock",
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
			file := filepath.Join("..", "schemas", name)
			if golden.Updating() {
				if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want, err := os.ReadFile(file); err != nil || !bytes.Equal(want, out.Bytes()) {
				t.Errorf("%s is not what the tables say (%v): run go test ./devcontainer -run TestSchemaFiles -update", file, err)
			}
		})
	}
}

// The files and the program agree on every example and on the probes.
func TestSchemaFilesAgree(t *testing.T) {
	compiled := map[string]*jsonschema.Schema{}
	for name := range schemas() {
		s, err := jsonschema.NewCompiler().Compile(filepath.Join("..", "schemas", name))
		if err != nil {
			t.Fatal(err)
		}
		compiled[name] = s
	}
	bad, compared := 0, 0
	compare := func(schema, file string, src []byte) {
		p := Parse(file, src)
		std, err := hujson.Standardize(append(bytes.TrimPrefix(bytes.Clone(src), []byte("\ufeff")), '\n'))
		if err != nil || p.Config.Root == nil {
			return
		}
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(std))
		if err != nil {
			t.Fatal(err)
		}
		ours := !slices.ContainsFunc(Check(p), func(f diag.Finding) bool {
			return strings.HasPrefix(f.Rule, "SBX2") || slices.Contains([]string{"SBX301", "SBX302", "SBX303"}, f.Rule)
		})
		if theirs := compiled[schema].Validate(v); (theirs == nil) != ours {
			t.Errorf("%s says %v, the program %v\n%s", schema, theirs, ours, src)
		}
		compared++
		if !ours {
			bad++
		}
	}
	for _, r := range Rules() {
		for _, example := range []Example{r.Bad(), r.Good()} {
			for name, src := range example.Files() {
				switch filepath.Base(name) {
				case "devcontainer.json", ".devcontainer.json":
					compare("devcontainer.schema.json", "devcontainer.json", []byte(src))
				case FeatureName:
					compare("devcontainer-feature.schema.json", FeatureName, []byte(src))
				case TemplateName:
					compare("devcontainer-template.schema.json", TemplateName, []byte(src))
				}
			}
		}
	}
	probes, err := filepath.Glob("testdata/probes/*/.devcontainer/devcontainer.json")
	if err != nil || len(probes) < 40 {
		t.Fatalf("%d probes, %v", len(probes), err)
	}
	for _, name := range probes {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		compare("devcontainer.schema.json", "devcontainer.json", src)
	}
	if compared < 150 || bad < 20 {
		t.Errorf("%d compared, %d of them bad", compared, bad)
	}
}
