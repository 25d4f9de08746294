package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

const (
	MaxDepth  = 64      // arrays and objects in each other
	MaxValues = 100_000 // names too
)

var (
	errText  = errors.New("the body is no JSON")
	errBytes = errors.New("the body's JSON holds characters that servers read differently")
	errDepth = errors.New("the body's JSON is too deep")
	errMany  = errors.New("the body's JSON holds too many values")
)

// Parse returns the value: nil, bool, json.Number, string, []any or map[string]any.
func Parse(text []byte) (any, error) {
	// A replacement character is also how the decoder shows half of a pair.
	if !utf8.Valid(text) {
		return nil, errBytes
	}
	if !json.Valid(text) {
		return nil, errText
	}
	from := &decoder{json.NewDecoder(bytes.NewReader(text)), MaxValues}
	from.UseNumber()
	value, err := parseValue(from, 0)
	if err != nil {
		return nil, err
	}
	if _, err := from.Token(); !errors.Is(err, io.EOF) {
		return nil, errText
	}
	return value, nil
}

// Object parses a text whose value is an object.
func Object(text []byte) (map[string]any, error) {
	value, err := Parse(text)
	if err != nil {
		return nil, err
	}
	if members, ok := value.(map[string]any); ok {
		return members, nil
	}
	return nil, errText
}

// decoder is a decoder of a text that may hold so many more values.
type decoder struct {
	*json.Decoder
	left int
}

func parseValue(from *decoder, depth int) (any, error) {
	if depth > MaxDepth {
		return nil, errDepth
	}
	if from.left--; from.left < 0 {
		return nil, errMany
	}
	token, err := from.Token()
	if err != nil {
		return nil, errText
	}
	switch token := token.(type) {
	case string:
		return checkString(token)
	case json.Delim:
		if token == '[' {
			return parseArray(from, depth)
		}
		return parseObject(from, depth)
	default:
		return token, nil
	}
}

func checkString(text string) (any, error) {
	if strings.ContainsRune(text, utf8.RuneError) {
		return nil, errBytes
	}
	return text, nil
}

func parseArray(from *decoder, depth int) (any, error) {
	values := []any{}
	for from.More() {
		value, err := parseValue(from, depth+1)
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return values, endOf(from)
}

func parseObject(from *decoder, depth int) (any, error) {
	members, folded := map[string]any{}, map[string]bool{}
	for from.More() {
		name, err := parseValue(from, depth+1)
		if err != nil {
			return nil, err
		}
		key, ok := name.(string)
		if !ok {
			return nil, errText
		}
		if folded[strings.ToLower(key)] {
			return nil, fmt.Errorf("the body names %q twice", key)
		}
		folded[strings.ToLower(key)] = true
		if members[key], err = parseValue(from, depth+1); err != nil {
			return nil, err
		}
	}
	return members, endOf(from)
}

func endOf(from *decoder) error {
	if _, err := from.Token(); err != nil {
		return errText
	}
	return nil
}
