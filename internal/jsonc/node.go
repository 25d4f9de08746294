package jsonc

import (
	"slices"
	"strconv"
	"strings"
)

// Kind is the JSON type of a Node.
type Kind string

// The kinds, named as messages show them.
const (
	Object Kind = "object"
	Array  Kind = "array"
	String Kind = "string"
	Number Kind = "number"
	Bool   Kind = "boolean"
	Null   Kind = "null"
)

// WithArticle names the kind within a sentence: "an array", "null".
func (k Kind) WithArticle() string {
	switch k {
	case Null:
		return "null"
	case Object, Array:
		return "an " + string(k)
	}
	return "a " + string(k)
}

// Node is one JSON value with its place in the source.
type Node struct {
	Kind     Kind
	Start    int      // offset of the first byte
	End      int      // offset after the last byte
	Pointer  string   // RFC 6901 pointer from the root; "" for the root itself
	Members  []Member // of an object, in source order, duplicates included
	Elements []*Node  // of an array
	Text     string   // a string's decoded value; a number's or boolean's literal
}

// Member is one name and value of an object.
type Member struct {
	Name      string // decoded
	NameStart int    // offset of the opening quote
	NameEnd   int    // offset after the closing quote
	Value     *Node
}

// Member returns the value of name. The last duplicate wins, as it does
// for encoding/json and the reference dev container CLI. It returns nil when n
// is nil, is not an object or has no such member, so that lookups chain.
func (n *Node) Member(name string) *Node {
	if n == nil {
		return nil
	}
	for _, m := range slices.Backward(n.Members) {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

// Fields returns the members of an object; none when n is nil or is no object.
func (n *Node) Fields() []Member {
	if n == nil {
		return nil
	}
	return n.Members
}

// Where names a value for people: "mounts[0].type".
func (n *Node) Where() string {
	var b strings.Builder
	for i, token := range strings.Split(n.Pointer, "/") {
		token = unescape.Replace(token)
		if _, err := strconv.Atoi(token); err == nil {
			b.WriteString("[" + token + "]")
			continue
		}
		if i > 1 {
			b.WriteByte('.')
		}
		b.WriteString(token)
	}
	if b.Len() == 0 {
		return "the file"
	}
	return b.String()
}

// Count returns how often a name is given.
func (n *Node) Count(name string) int {
	count := 0
	for _, m := range n.Members {
		if m.Name == name {
			count++
		}
	}
	return count
}

// Str returns the decoded text of a string node and whether n is one.
func (n *Node) Str() (string, bool) {
	if n == nil || n.Kind != String {
		return "", false
	}
	return n.Text, true
}

// Is reports whether n is the boolean b.
func (n *Node) Is(b bool) bool {
	return n != nil && n.Kind == Bool && n.Text == strconv.FormatBool(b)
}

// Walk calls visit for n and everything below it, in source order.
func (n *Node) Walk(visit func(*Node)) {
	if n == nil {
		return
	}
	visit(n)
	for _, m := range n.Members {
		m.Value.Walk(visit)
	}
	for _, e := range n.Elements {
		e.Walk(visit)
	}
}

// Find returns the node at an RFC 6901 pointer below n, or nil.
func (n *Node) Find(pointer string) *Node {
	if pointer == "" {
		return n
	}
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if n == nil {
			return nil
		}
		switch token = unescape.Replace(token); n.Kind {
		case Object:
			n = n.Member(token)
		case Array:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(n.Elements) {
				return nil
			}
			n = n.Elements[i]
		default:
			return nil
		}
	}
	return n
}

var (
	escape   = strings.NewReplacer("~", "~0", "/", "~1")
	unescape = strings.NewReplacer("~1", "/", "~0", "~")
)

// Child returns the pointer of token below the pointer parent, escaped as
// RFC 6901 section 4 wants.
func Child(parent, token string) string { return parent + "/" + escape.Replace(token) }

// TextOr returns the text of a string, number or boolean, or other.
func (n *Node) TextOr(other string) string {
	if n == nil || n.Kind == Object || n.Kind == Array || n.Kind == Null {
		return other
	}
	return n.Text
}
