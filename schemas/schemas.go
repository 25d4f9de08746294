// Package schemas has the JSON Schemas of our own files and those of dev containers, which editors
// load by their address.
//
//	sandbox.schema.json ─ embed ─ Accepts(file, path) ─► names and values that may stand there
//
// The language server completes sandbox.jsonc and sbx-devc.jsonc from them. It compares nothing:
// package settings and package selection read these files.
package schemas

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed sandbox.schema.json sbx-devc.schema.json
var files embed.FS

// Accepted is what may stand at a place of a file.
type Accepted struct {
	What   string   // in words; "" when the schema does not say
	Names  []string // of an object's members, sorted
	Values []string // as JSON
}

// node is a schema, as far as editors need it.
type node struct {
	Ref         string          `json:"$ref"`
	Description string          `json:"description"`
	Type        any             `json:"type"`
	Enum        []any           `json:"enum"`
	Properties  map[string]node `json:"properties"`
	Items       *node           `json:"items"`
	Rest        json.RawMessage `json:"additionalProperties"`
	OneOf       []node          `json:"oneOf"`
	AnyOf       []node          `json:"anyOf"`
	Defs        map[string]node `json:"$defs"`
}

var roots = map[string]func() node{
	"sandbox.jsonc":  sync.OnceValue(func() node { return read("sandbox.schema.json") }),
	"sbx-devc.jsonc": sync.OnceValue(func() node { return read("sbx-devc.schema.json") }),
}

func read(name string) (root node) {
	src, err := files.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(src, &root)
	}
	if err != nil {
		panic(fmt.Sprintf("%s in this program: %v", name, err)) // a test reads each
	}
	return root
}

// Has reports whether files of a name have a schema here.
func Has(name string) bool { return roots[name] != nil }

// Accepts says what may stand at the end of a path of names and numbers in a file of this name;
// nothing when the schema does not say.
func Accepts(name string, path []string) (out Accepted) {
	root := roots[name]
	if root == nil {
		return out
	}
	at := forms(root(), root())
	for _, step := range path {
		var next []node
		for _, form := range at {
			if below, ok := form.below(step); ok {
				next = append(next, forms(root(), below)...)
			}
		}
		at = next
	}
	for _, form := range at {
		if out.What == "" {
			out.What = form.Description
		}
		out.Names = append(out.Names, slices.Collect(maps.Keys(form.Properties))...)
		for _, value := range form.Enum {
			if text, err := json.Marshal(value); err == nil {
				out.Values = append(out.Values, string(text))
			}
		}
		if form.Type == "boolean" {
			out.Values = append(out.Values, "true", "false")
		}
	}
	slices.Sort(out.Names)
	out.Names = slices.Compact(out.Names)
	return out
}

// forms are a schema and those that it refers to or chooses from.
func forms(root, n node) []node {
	all := []node{n}
	for i := 0; i < len(all) && len(all) < 100; i++ {
		if def, ok := root.Defs[strings.TrimPrefix(all[i].Ref, "#/$defs/")]; ok {
			all = append(all, def)
		}
		all = append(append(all, all[i].OneOf...), all[i].AnyOf...)
	}
	return all
}

// below is the schema of a member or element.
func (n node) below(step string) (next node, ok bool) {
	if next, ok = n.Properties[step]; ok {
		return next, true
	}
	if _, err := strconv.Atoi(step); err == nil && n.Items != nil {
		return *n.Items, true
	}
	return next, len(n.Rest) > 0 && n.Rest[0] == '{' && json.Unmarshal(n.Rest, &next) == nil
}
