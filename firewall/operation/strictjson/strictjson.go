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

// MaxDepth is how deep arrays and objects may stand in each other.
const MaxDepth = 64

var (
	errText  = errors.New("the body is no JSON")
	errBytes = errors.New("the body's JSON holds characters that servers read differently")
	errDepth = errors.New("the body's JSON is too deep")
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
	from := json.NewDecoder(bytes.NewReader(text))
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

func parseValue(from *json.Decoder, depth int) (any, error) {
	if depth > MaxDepth {
		return nil, errDepth
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

func parseArray(from *json.Decoder, depth int) (any, error) {
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

func parseObject(from *json.Decoder, depth int) (any, error) {
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

func endOf(from *json.Decoder) error {
	if _, err := from.Token(); err != nil {
		return errText
	}
	return nil
}
