package structured

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/org/claude-sandbox/internal/visible"
)

// MaxSchema bounds a schema, in bytes: it is an argument of a program.
const MaxSchema = 64 << 10

// Schema is a JSON Schema for an answer.
type Schema struct {
	text     string
	compiled *jsonschema.Schema
}

// nowhere loads no schema: neither files of this machine nor addresses.
type nowhere struct{}

func (nowhere) Load(url string) (any, error) {
	return nil, fmt.Errorf("it refers to %s, and a schema must hold all that it needs", url)
}

// Parse reads a schema. It must be about an object, as the model's answer is the
// arguments of a tool.
func Parse(text []byte) (*Schema, error) {
	if len(text) > MaxSchema {
		return nil, fmt.Errorf("the schema is longer than %d bytes", MaxSchema)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("the schema is no JSON: %w", err)
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("the schema is no JSON object")
	}
	if kind, ok := object["type"].(string); !ok || kind != "object" {
		return nil, errors.New(`the schema must be one of an object: its "type" is "object"`)
	}
	const place = "urn:answer"
	c := jsonschema.NewCompiler()
	c.UseLoader(nowhere{})
	if err := c.AddResource(place, value); err != nil {
		return nil, fmt.Errorf("the schema cannot be used: %w", err)
	}
	compiled, err := c.Compile(place)
	if err != nil {
		return nil, fmt.Errorf("the schema cannot be used: %w", inWords(err))
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		return nil, fmt.Errorf("the schema is no JSON: %w", err)
	}
	return &Schema{compact.String(), compiled}, nil
}

// Text is the schema as JSON on one line.
func (s *Schema) Text() string { return s.text }

// Check returns why an answer, as JSON, does not fit; nil = it does. The answer is
// the agent's, and what the error quotes of it is safe to show.
func (s *Schema) Check(answer []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(answer))
	if err != nil {
		return errors.New("the answer is no JSON")
	}
	if err := s.compiled.Validate(value); err != nil {
		return fmt.Errorf("the answer does not fit its schema: %w", inWords(err))
	}
	return nil
}

// maxPlaces bounds the places that an error names.
const maxPlaces = 5

// inWords names the places that do not fit, on one line.
func inWords(err error) error {
	var failure *jsonschema.ValidationError
	var schema *jsonschema.SchemaValidationError
	if errors.As(err, &schema) {
		err = schema.Err
	}
	if !errors.As(err, &failure) {
		return errors.New(visible.Line(err.Error()))
	}
	var places []string
	printer := message.NewPrinter(language.English)
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		for _, cause := range e.Causes {
			walk(cause)
		}
		if len(e.Causes) == 0 {
			places = append(places, "/"+strings.Join(e.InstanceLocation, "/")+": "+e.ErrorKind.LocalizedString(printer))
		}
	}
	walk(failure)
	slices.Sort(places)
	places = slices.Compact(places)
	more := ""
	if len(places) > maxPlaces {
		places, more = places[:maxPlaces], fmt.Sprintf("; and %d more", len(places)-maxPlaces)
	}
	for i, place := range places {
		places[i] = visible.Line(place[:min(len(place), 200)])
	}
	return errors.New(strings.Join(places, "; ") + more)
}
