package effective

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/org/claude-sandbox/internal/jsonc"
)

// Object is a JSON object that keeps the order of its members, because the
// engine's command line follows it. Names are unique.
type Object []Member

// Member is one name and its value: nil, bool, json.Number, string, []any or
// Object.
type Member struct {
	Name  string
	Value any
}

// Get returns the value of name, nil when there is none.
func (o Object) Get(name string) any {
	for _, m := range o {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

// Has reports whether name is a member, if only null.
func (o Object) Has(name string) bool {
	return slices.ContainsFunc(o, func(m Member) bool { return m.Name == name })
}

// set replaces the value of name or appends it, as JavaScript does.
func (o *Object) set(name string, value any) {
	for i := range *o {
		if (*o)[i].Name == name {
			(*o)[i].Value = value
			return
		}
	}
	*o = append(*o, Member{name, value})
}

// builder makes an Object of any number of members.
type builder struct {
	made Object
	at   map[string]int
}

// get returns the value of name, nil when there is none yet.
func (b *builder) get(name string) any {
	if i, ok := b.at[name]; ok {
		return b.made[i].Value
	}
	return nil
}

// set replaces the value of name or appends it, as JavaScript does.
func (b *builder) set(name string, value any) {
	if i, ok := b.at[name]; ok {
		b.made[i].Value = value
		return
	}
	if b.at == nil {
		b.at = map[string]int{}
	}
	b.at[name] = len(b.made)
	b.made = append(b.made, Member{name, value})
}

// MarshalJSON writes the members in their order.
func (o Object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := marshal(m.Name)
		if err != nil {
			return nil, err
		}
		value, err := marshal(m.Value)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// marshal writes JSON without turning <, > and & into escapes.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}

// valueOf turns a node into a value. The last of several members with one
// name counts, in the place of the first.
func valueOf(n *jsonc.Node) any {
	if n == nil {
		return nil
	}
	switch n.Kind {
	case jsonc.Object:
		out := builder{made: Object{}}
		for _, m := range n.Members {
			out.set(m.Name, valueOf(m.Value))
		}
		return out.made
	case jsonc.Array:
		out := make([]any, 0, len(n.Elements))
		for _, e := range n.Elements {
			out = append(out, valueOf(e))
		}
		return out
	case jsonc.String:
		return n.Text
	case jsonc.Number:
		return json.Number(n.Text)
	case jsonc.Bool:
		return n.Text == "true"
	}
	return nil
}

// truthy is JavaScript's idea of true.
func truthy(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case json.Number:
		f, err := v.Float64()
		return err != nil || f != 0
	}
	return true
}

// list returns an array's elements, or a single value as an array of one: so
// JavaScript's concat takes it.
func list(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	}
	return []any{v}
}

// text writes a value as JavaScript does inside a string.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return v
	case bool:
		if v {
			return "true"
		}
		return "false"
	case json.Number:
		return v.String()
	case Object:
		return "[object Object]"
	case []any:
		var b bytes.Buffer
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			if e != nil {
				b.WriteString(text(e))
			}
		}
		return b.String()
	}
	return ""
}
