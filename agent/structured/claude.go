package structured

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"

	"github.com/org/claude-sandbox/internal/jsonc"
)

// Claude Code 2.1.329 reads schemas as draft-07 and ends with an error at every other draft's
// name and at every keyword that it does not know. So it gets the schema in words that it
// knows. Each answer that fits the schema fits those words, too; Check holds the answer against the schema itself.

// plain are the keywords that it takes as they are, in addition to nested and named.
var plain = []string{
	"type", "enum", "const", "required", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
	"minLength", "maxLength", "pattern", "format", "minItems", "maxItems", "uniqueItems", "minProperties",
	"maxProperties", "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment",
	"contentMediaType", "contentEncoding",
}

// unsaid are keywords of draft 2020-12 without a counterpart: it allows more without them.
var unsaid = []string{"unevaluatedProperties", "unevaluatedItems", "minContains", "maxContains"}

// claudes writes a schema for Claude Code.
type claudes struct {
	examination
	text  []byte // of the schema
	loose bool   // it has one of unsaid, so that nothing may be refused for what fits a part of it
}

// forClaude returns the schema of text, which is examined, in one line.
func forClaude(text []byte, x examination) (string, error) {
	doc, findings := jsonc.Parse("schema", text)
	if doc == nil || len(findings) > 0 {
		return compact(text) // it is JSON, and of a form in which nothing was found to change
	}
	c := claudes{examination: x, text: text}
	for _, schema := range x.schemas {
		for _, keyword := range unsaid {
			c.loose = c.loose || schema[keyword] != nil
		}
	}
	return compact(c.schema(doc.Root))
}

func compact(text []byte) (string, error) {
	var out bytes.Buffer
	err := json.Compact(&out, text)
	return out.String(), err
}

// schema writes one, in the order of its members: a model answers in it.
func (c claudes) schema(n *jsonc.Node) []byte {
	if n.Kind != jsonc.Object {
		return c.text[n.Start:n.End]
	}
	var out object
	dependencies := object{}
	for _, m := range n.Fields() {
		name, value := m.Name, m.Value
		switch {
		case c.loose && slices.Contains([]string{"not", "if", "then", "else"}, name),
			slices.Contains([]string{"then", "else"}, name) && n.Member("if") == nil,
			name == "if" && n.Member("then") == nil && n.Member("else") == nil,
			name == "contains" && n.Member("minContains") != nil,
			name == "additionalItems" && (n.Member("items") == nil || n.Member("items").Kind != jsonc.Array),
			name == "items" && n.Member("prefixItems") != nil: // which has it
		case name == "$ref":
			out.add(name, c.reference(value.Text))
		case name == "prefixItems":
			out.add("items", c.list(value))
			if rest := n.Member("items"); rest != nil {
				out.add("additionalItems", c.schema(rest))
			}
		case name == "dependentRequired" || name == "dependentSchemas" || name == "dependencies":
			for _, d := range value.Fields() {
				if !slices.Contains(dependencies.names, d.Name) {
					dependencies.add(d.Name, c.schema(d.Value))
				}
			}
		case name == "oneOf" && c.loose:
			if n.Member("anyOf") == nil {
				out.add("anyOf", c.list(value))
			}
		case value.Kind == jsonc.Array && slices.Contains(nested, name):
			out.add(name, c.list(value))
		case slices.Contains(nested, name) && !slices.Contains(unsaid, name):
			out.add(name, c.schema(value))
		case slices.Contains(named, name) && value.Kind == jsonc.Object:
			var all object
			for _, one := range value.Fields() {
				all.add(one.Name, c.schema(one.Value))
			}
			out.add(name, all.bytes())
		case slices.Contains(plain, name):
			out.add(name, c.text[value.Start:value.End])
		}
	}
	if len(dependencies.names) > 0 {
		out.add("dependencies", dependencies.bytes())
	}
	return out.bytes()
}

func (c claudes) list(n *jsonc.Node) []byte {
	all := make([][]byte, len(n.Elements))
	for i, one := range n.Elements {
		all[i] = c.schema(one)
	}
	return slices.Concat([]byte("["), bytes.Join(all, []byte(",")), []byte("]"))
}

// reference names a schema by its place; a name of its own is a keyword that Claude Code does
// not know.
func (c claudes) reference(ref string) []byte {
	place, err := c.target(ref)
	if err == nil {
		ref = "#" + (&url.URL{Fragment: place}).EscapedFragment()
	}
	text, _ := json.Marshal(ref) // a string always is JSON
	return text
}

// object is a JSON object in the making.
type object struct {
	names   []string
	members [][]byte
}

func (o *object) add(name string, value []byte) {
	key, _ := json.Marshal(name) // a string always is JSON
	o.names = append(o.names, name)
	o.members = append(o.members, slices.Concat(key, []byte(":"), value))
}

func (o *object) bytes() []byte {
	return slices.Concat([]byte("{"), bytes.Join(o.members, []byte(",")), []byte("}"))
}
