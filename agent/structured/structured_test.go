package structured

import (
	"strings"
	"testing"
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
		`{"verdict": "bad", "notes": ["\u001b[2J"]}`: "/notes/0",
		`{"verdict": "bad", "notes": [], "more": 1}`: "more",
		`[]`:                                 "want object",
		`{`:                                  "no JSON",
		``:                                   "no JSON",
		`{"verdict": "bad", "notes": []} {}`: "no JSON",
		`{"verdict": "bad", "notes": [1,2,3,4,5,6,7,8]}`:   "and 3 more",
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

// Attack: a schema of somebody else's reads files of this machine, or is endless.
func TestAttackSchemas(t *testing.T) {
	for text, want := range map[string]string{
		`{"type": "object", "properties": {"a": {"$ref": "file:///etc/passwd"}}}`:   "refers to file:///etc/passwd",
		`{"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:1/x"}}}`: "refers to http://127.0.0.1:1/x",
		`{"type": "object", "$schema": "http://127.0.0.1:1/x"}`:                     "refers to",
		`{"type": "object", "properties": {"a": {"type": "thing"}}}`:                "/properties/a/type",
		`{"type": "object", "properties": {"a": {"pattern": "("}}}`:                 "/properties/a/pattern",
		`{"type": "array"}`: "must be one of an object", `{}`: "must be one of an object", `[]`: "no JSON object", `{`: "no JSON", ``: "no JSON",
		`{"type": "object", "title": "` + strings.Repeat("x", MaxSchema) + `"}`: "longer than",
		`{"type": "object", "properties": {"a": {"$ref": "#/$defs/b"}}}`:        "$defs/b",
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
