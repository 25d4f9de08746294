package structured

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/org/claude-sandbox/internal/visible"
)

const (
	// MaxSchema bounds a schema, in bytes: it is an argument of a program.
	MaxSchema = 64 << 10
	// maxDepth bounds the levels of a schema and of an answer: the library recurses,
	// and repeats the deeper part of a value at each level of an error.
	maxDepth = 200
)

// Schema is a JSON Schema for an answer.
type Schema struct {
	text     string
	resolved *jsonschema.Resolved
}

// Parse reads a schema of draft 2020-12 or draft-07. It must be about an object, as the
// model's answer is the arguments of a tool.
func Parse(text []byte) (*Schema, error) {
	if len(text) > MaxSchema {
		return nil, fmt.Errorf("the schema is longer than %d bytes", MaxSchema)
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return nil, fmt.Errorf("the schema is no JSON: %w", err)
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("the schema is no JSON object")
	}
	if kind, ok := object["type"].(string); !ok || kind != "object" {
		return nil, errors.New(`the schema must be one of an object: its "type" is "object"`)
	}
	x, err := examine(object)
	if err != nil {
		return nil, fmt.Errorf("the schema cannot be used: %w", oneLine(err))
	}
	schema, resolved := new(jsonschema.Schema), (*jsonschema.Resolved)(nil)
	err = json.Unmarshal(text, schema)
	if err == nil {
		resolved, err = schema.Resolve(&jsonschema.ResolveOptions{BaseURI: "answer:///"})
	}
	if err != nil {
		return nil, fmt.Errorf("the schema cannot be used: %w", oneLine(err))
	}
	claudes, err := forClaude(text, x)
	if err != nil {
		return nil, fmt.Errorf("the schema is no JSON: %w", err)
	}
	return &Schema{claudes, resolved}, nil
}

// Text is the schema as Claude Code reads it, JSON on one line.
func (s *Schema) Text() string { return s.text }

// Check returns why an answer, as JSON, does not fit: the first place of the schema that
// it breaks; nil = it fits. The answer is the agent's, and what the error quotes of it is
// safe to show.
func (s *Schema) Check(answer []byte) error {
	var value any
	if err := json.Unmarshal(answer, &value); err != nil {
		return errors.New("the answer is no JSON")
	}
	if deeper(value, maxDepth) {
		return fmt.Errorf("the answer is nested deeper than %d levels", maxDepth)
	}
	if err := s.resolved.Validate(value); err != nil {
		return fmt.Errorf("the answer does not fit its schema: %w", atPlace(err))
	}
	return nil
}

// deeper says whether a value has more levels than these.
func deeper(value any, levels int) bool {
	if levels < 0 {
		return true
	}
	switch value := value.(type) {
	case map[string]any:
		for _, member := range value {
			if deeper(member, levels-1) {
				return true
			}
		}
	case []any:
		for _, item := range value {
			if deeper(item, levels-1) {
				return true
			}
		}
	}
	return false
}

// atPlace keeps the innermost error of the library and the place of the schema that it
// is about: the library puts each place on the way there before it.
func atPlace(err error) error {
	place := ""
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		place = strings.TrimSuffix(err.Error(), inner.Error())
		err = inner
	}
	place = strings.TrimSuffix(strings.TrimPrefix(place, "validating "), ": ")
	if place == "root" {
		place = "/"
	}
	return oneLine(fmt.Errorf("%s: %w", place, err))
}

// oneLine makes an error safe to show, and bounds it.
func oneLine(err error) error {
	text := err.Error()
	return errors.New(visible.Line(text[:min(len(text), 300)]))
}
