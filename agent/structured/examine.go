package structured

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Keywords whose values are schemas: one or a list of them, or schemas by name.
var (
	nested = []string{"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "prefixItems", "items", "additionalItems", "unevaluatedItems",
		"contains", "additionalProperties", "unevaluatedProperties", "propertyNames", "contentSchema"}
	named = []string{"$defs", "definitions", "properties", "patternProperties", "dependentSchemas", "dependencies"}
	// inPlace are those about the value itself, and not about a part of it.
	inPlace = []string{"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"}
)

var (
	types  = []string{"array", "boolean", "integer", "null", "number", "object", "string"}
	drafts = []string{"https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema"}
)

// subschema is a schema inside of another one.
type subschema struct {
	keyword, place string
	value          any
}

// subschemas lists the schemas right below one.
func subschemas(of map[string]any, place string) []subschema {
	var all []subschema
	for _, keyword := range nested {
		if list, ok := of[keyword].([]any); ok {
			for i, value := range list {
				all = append(all, subschema{keyword, place + "/" + keyword + "/" + strconv.Itoa(i), value})
			}
		} else if value, ok := of[keyword]; ok {
			all = append(all, subschema{keyword, place + "/" + keyword, value})
		}
	}
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	for _, keyword := range named {
		byName, _ := of[keyword].(map[string]any)
		for name, value := range byName {
			all = append(all, subschema{keyword, place + "/" + keyword + "/" + escape.Replace(name), value})
		}
	}
	return all
}

// examine refuses what the library takes and cannot use: unknown types and drafts,
// references to the outside, and those that lead back to themselves without an end.
func examine(root map[string]any) (examination, error) {
	if draft, ok := root["$schema"].(string); ok && !slices.Contains(drafts, strings.TrimSuffix(draft, "#")) {
		return examination{}, fmt.Errorf("it refers to the draft %s; draft 2020-12 and draft-07 are known", draft)
	}
	x := examination{schemas: map[string]map[string]any{}, refers: map[string]string{}, names: map[string]string{}}
	if err := x.collect(root, "", 0); err != nil {
		return x, err
	}
	for place, ref := range x.refers {
		target, err := x.target(ref)
		if err != nil {
			return x, err
		}
		x.refers[place] = target
	}
	state := map[string]int{}
	for place := range x.schemas {
		if err := x.ends(place, state); err != nil {
			return x, err
		}
	}
	return x, nil
}

// examination is a schema taken apart; places are JSON Pointers into it.
type examination struct {
	schemas map[string]map[string]any // by place
	refers  map[string]string         // place -> the value of its $ref, later the place that it names
	names   map[string]string         // $anchor -> place
}

func (x examination) collect(schema any, place string, depth int) error {
	object, _ := schema.(map[string]any)
	if object == nil {
		object = map[string]any{} // true or false, or nothing that the library reads
	}
	if depth > maxDepth {
		return fmt.Errorf("it is nested deeper than %d levels", maxDepth)
	}
	x.schemas[place] = object
	if err := knownTypes(object["type"], place); err != nil {
		return err
	}
	if pattern, ok := object["pattern"].(string); ok {
		if _, err := regexp.Compile(pattern); err != nil {
			return fmt.Errorf("%s/pattern: %w", place, err)
		}
	}
	for _, keyword := range []string{"$dynamicRef", "$recursiveRef", "$id"} {
		if object[keyword] != nil && (keyword != "$id" || place != "") {
			return fmt.Errorf(`%s/%s: references of this form are not known; use "$ref" and "$defs"`, place, keyword)
		}
	}
	if ref, ok := object["$ref"].(string); ok {
		x.refers[place] = ref
	}
	if name, ok := object["$anchor"].(string); ok {
		x.names[name] = place
	}
	for _, below := range subschemas(object, place) {
		if err := x.collect(below.value, below.place, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func knownTypes(value any, place string) error {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	for _, one := range list {
		if kind, ok := one.(string); ok && !slices.Contains(types, kind) {
			return fmt.Errorf("%s/type: %q is no type; one of %s", place, kind, strings.Join(types, ", "))
		}
	}
	return nil
}

// target returns the place that a reference names.
func (x examination) target(ref string) (string, error) {
	fragment, inside := strings.CutPrefix(ref, "#")
	if !inside {
		return "", fmt.Errorf("it refers to %s, and a schema must hold all that it needs", ref)
	}
	place, err := url.PathUnescape(fragment)
	if named, ok := x.names[place]; ok {
		place = named
	}
	if x.schemas[place] == nil || err != nil {
		return "", fmt.Errorf("it refers to %s, where it has no schema", ref)
	}
	return place, nil
}

const (
	entered = 1 + iota
	done
)

// ends fails if a schema leads back to itself about the same value.
func (x examination) ends(place string, state map[string]int) error {
	switch state[place] {
	case entered:
		return fmt.Errorf("%s/ refers to itself, and would never end", place)
	case done:
		return nil
	}
	state[place] = entered
	var next []string
	if target, ok := x.refers[place]; ok {
		next = append(next, target)
	}
	for _, below := range subschemas(x.schemas[place], place) {
		if slices.Contains(inPlace, below.keyword) && x.schemas[below.place] != nil {
			next = append(next, below.place)
		}
	}
	for _, to := range next {
		if err := x.ends(to, state); err != nil {
			return err
		}
	}
	state[place] = done
	return nil
}
