package structured

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	oracle "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

const review = `{"type": "object", "required": ["verdict", "notes"], "additionalProperties": false, "properties": {
  "verdict": {"enum": ["good", "bad"]}, "notes": {"type": "array", "items": {"$ref": "#/$defs/note"}}},
  "$defs": {"note": {"type": "string", "pattern": "^[a-z ]+$"}}}`

func TestCheck(t *testing.T) {
	s, err := Parse([]byte(review))
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(s.Text(), "\n\t") {
		t.Errorf("%q", s.Text())
	}
	for answer, want := range map[string]string{
		`{"verdict": "good", "notes": ["a", "b c"]}`: "",
		`{"verdict": "good"}`:                        "notes",
		`{"verdict": "so so", "notes": []}`:          "/verdict",
		`{"verdict": "bad", "notes": ["\u001b[2J"]}`: "/$defs/note: pattern",
		`{"verdict": "bad", "notes": [], "more": 1}`: "more",
		`[]`:                                 `has type "array", want "object"`,
		`{`:                                  "no JSON",
		``:                                   "no JSON",
		`{"verdict": "bad", "notes": []} {}`: "no JSON",
		`{"verdict": "bad", "notes": [1,2,3,4,5,6,7,8]}`:   `/$defs/note: type: 1 has type "integer", want "string"`,
		`{"verdict": "bad", "verdict": 1, "notes": ["a"]}`: "/verdict",
	} {
		err := s.Check([]byte(answer))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", answer, err, want)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%s: %q", answer, err)
		}
	}
}

// known are the members of schemas of both drafts.
func known() (schemas []string) {
	schemas = []string{`"required": ["a"]`, `"additionalProperties": false`, `"minProperties": 1, "maxProperties": 1`,
		`"patternProperties": {"^a$": false}`,
		`"propertyNames": {"pattern": "^[a-z]$"}`, `"dependentRequired": {"a": ["b"]}`, `"dependentSchemas": {"a": {"required": ["b"]}}`,
		`"properties": {"a": {"$ref": "#"}}`, `"properties": {"a": {"$ref": "#/$defs/a~1b"}}, "$defs": {"a/b": {"type": ["string", "null"]}}`,
		`"properties": {"a": {"$ref": "#n"}}, "$defs": {"x": {"$anchor": "n", "type": "number"}}`,
		`"properties": {"a": true}, "unevaluatedProperties": false`,
		`"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"d": false}, "properties": {"a": {"$ref": "#/definitions/d"}}`,
		`"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": {"items": [{"type": "integer"}], "additionalItems": false}}`,
		`"$schema": "http://json-schema.org/draft-07/schema#", "dependencies": {"a": ["b"]}`,
		`"$schema": "https://json-schema.org/draft/2020-12/schema"`, `"$id": "answer"`,
		`"x-order": 1, "discriminator": {"propertyName": "a"}, "nullable": true`, `"then": false`, `"if": true`,
		`"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"b": false}`,
		`"not": {"properties": {"a": {"contains": {"const": 1}, "minContains": 2}}, "required": ["a"]}`,
		`"oneOf": [{"required": ["a"], "unevaluatedProperties": false}, {"required": ["a", "b"]}]`,
		`"properties": {"a": {"$ref": "#n"}}, "$defs": {"50% {": {"$anchor": "n", "type": "number"}}`}
	for _, a := range []string{`"type": "integer"`, `"type": "number"`, `"type": ["string", "boolean"]`, `"enum": [1, "x", null]`,
		`"const": 1`, `"const": null`, `"minimum": 1.5`,
		`"exclusiveMaximum": 1`, `"multipleOf": 0.5`, `"minLength": 1`, `"maxLength": 0`, `"pattern": "x"`, `"minItems": 1`,
		`"uniqueItems": true`, `"contains": {"const": 1}, "maxContains": 1`, `"contains": {"const": 1}, "minContains": 0`,
		`"prefixItems": [{"type": "string"}]`,
		`"additionalItems": false`,
		`"prefixItems": [{"type": "integer"}], "items": false`, `"not": {"type": "string"}`,
		`"anyOf": [{"type": "string"}, {"minimum": 2}]`, `"oneOf": [{"type": "number"}, {"type": "integer"}]`,
		`"allOf": [{"type": "number"}, {"minimum": 0}]`, `"if": {"type": "string"}, "then": {"minLength": 1}, "else": {"type": "array"}`,
		`"format": "date"`} {
		schemas = append(schemas, `"properties": {"a": {`+a+`}}`)
	}
	return schemas
}

// Attack: a schema of somebody else's reads files of this machine, or is endless.
func TestAttackSchemas(t *testing.T) {
	for text, want := range map[string]string{
		`{"type": "object", "properties": {"a": {"$ref": "file:///etc/passwd"}}}`:   "refers to file:///etc/passwd",
		`{"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:1/x"}}}`: "refers to http://127.0.0.1:1/x",
		`{"type": "object", "$schema": "http://127.0.0.1:1/x"}`:                     "refers to",
		`{"type": "object", "properties": {"a": {"type": "thing"}}}`:                "/properties/a/type",
		`{"type": "object", "properties": {"a": {"pattern": "("}}}`:                 "/properties/a/pattern",
		`{"type": "array"}`: "must be one of an object", `{}`: "must be one of an object", `[]`: "no JSON object", `{`: "no JSON", ``: "no JSON",
		`{"type": "object", "title": "` + strings.Repeat("x", MaxSchema) + `"}`:                          "longer than",
		`{"type": "object", "properties": {"a": {"$ref": "#/$defs/b"}}}`:                                 "$defs/b",
		`{"type": "object", "properties": {"a": {"type": ["null", "thing"]}}}`:                           "/properties/a/type",
		`{"type": "object", "properties": {"a": {"minimum": "1"}}}`:                                      "minimum",
		`{"type": "object", "properties": {"a": null}}`:                                                  "/properties/a",
		`{"type": "object", "$dynamicRef": "#a", "$dynamicAnchor": "a"}`:                                 "not known",
		`{"type": "object", "properties": {"a": {"$id": "b"}}}`:                                          "not known",
		`{"type": "object", "not": ` + strings.Repeat(`{"not": `, 300) + "{}" + strings.Repeat("}", 301): "deeper than",
		// These would never end, about one and the same answer.
		`{"type": "object", "$ref": "#"}`: "never end",
		`{"type": "object", "anyOf": [{"$ref": "#/$defs/a%7E1b"}],
			"$defs": {"a/b": {"not": {"$ref": "#b"}}, "c": {"$anchor": "b", "$ref": "#"}}}`: "never end",
		`{"type": "object", "dependentSchemas": {"a": {"$ref": "#"}}}`: "never end",
	} {
		if s, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v %v, want %q", text, s, err, want)
		}
	}
	// A schema that refers to itself ends with the answer that it is held against.
	s, err := Parse([]byte(`{"type": "object", "properties": {"a": {"$ref": "#"}}}`))
	if err != nil || s.Check([]byte(`{"a": {"a": {"a": {}}}}`)) != nil || s.Check([]byte(`{"a": {"a": 1}}`)) == nil {
		t.Error(err)
	}
	if err := s.Check([]byte(strings.Repeat(`{"a":`, 20000) + "{}" + strings.Repeat("}", 20000))); err == nil {
		t.Error("20,000 levels pass")
	}
}

// Another library, which the program does without because it prepares the metaschemas of
// all drafts at each start, comes to the same verdicts.
func TestAnotherLibraryAgrees(t *testing.T) {
	answers := []string{`{}`, `{"a": 1}`, `{"a": 1.0}`, `{"a": 1.5}`, `{"a": "x"}`, `{"a": ""}`, `{"a": null}`, `{"a": true}`,
		`{"a": []}`, `{"a": [1, "x"]}`,
		`{"a": [1, 1]}`, `{"a": {"a": {"a": 1}}}`, `{"b": 1}`, `{"a": 1, "b": "ü"}`, `{"a": -0}`, `{"a": 1e3}`, `{"a": {"b": {}}}`,
		`{"A": 1}`, `[]`, `1`, `null`}
	for _, members := range known() {
		text := `{"type": "object", ` + members + `}`
		s, err := Parse([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		other := compiled(t, text, oracle.Draft2020)
		claudes := compiled(t, s.Text(), oracle.Draft7)
		for _, answer := range answers {
			value, err := oracle.UnmarshalJSON(strings.NewReader(answer))
			if err != nil {
				t.Fatal(err)
			}
			if ours, theirs := s.Check([]byte(answer)), other.Validate(value); (ours == nil) != (theirs == nil) {
				t.Errorf("%s, %s: %v, the other library says %v", text, answer, ours, theirs)
			} else if err := claudes.Validate(value); err != nil && ours == nil && !strings.Contains(text, "format") { // which Claude does not check
				t.Errorf("%s: Claude is told %s, and would refuse %s: %v", text, s.Text(), answer, err)
			}
		}
	}
}

// compiled is a schema as another library reads it, by a draft unless it names one.
func compiled(t *testing.T, text string, draft *oracle.Draft) *oracle.Schema {
	t.Helper()
	value, err := oracle.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := oracle.NewCompiler()
	c.DefaultDraft(draft)
	if err := c.AddResource("answer:///", value); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("answer:///")
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return schema
}

// Claude Code takes each schema that Parse takes: it goes on to ask the model, which is not there.
func TestTheRealClaudeTakesEverySchema(t *testing.T) {
	testenv.Slow(t)
	program := testenv.Program(t, "claude")
	var own, together []string
	for i, members := range known() {
		if strings.Contains(members, "$ref") || strings.Contains(members, "$schema") || strings.Contains(members, "$id") {
			own = append(own, members)
		} else {
			together = append(together, fmt.Sprintf(`"p%d": {%s}`, i, members))
		}
	}
	own = append(own, `"$schema": "https://json-schema.org/draft/2020-12/schema", "properties": {`+strings.Join(together, ", ")+`}`)
	for _, members := range own {
		t.Run(fmt.Sprintf("%.60s", members), func(t *testing.T) {
			t.Parallel()
			s, err := Parse([]byte(`{"type": "object", ` + members + `}`))
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), program, "-p", "hello", "--output-format", "json", "--json-schema", s.Text())
			cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "ANTHROPIC_API_KEY=none", "ANTHROPIC_BASE_URL=http://127.0.0.1:1",
				"CLAUDE_CODE_MAX_RETRIES=0")
			if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), `"is_error":true`) {
				t.Errorf("%s: %v: %.500s", s.Text(), err, out)
			}
		})
	}
}
