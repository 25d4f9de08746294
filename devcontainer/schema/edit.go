package schema

import (
	"slices"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/internal/jsonc"
)

// moveLegacy moves a legacy property to where it belongs now, or returns
// nothing when something is there already.
func (c *comparison) moveLegacy(m jsonc.Member) []jsonc.Edit {
	root, doc := c.root, c.doc
	i := slices.IndexFunc(root.Members, func(x jsonc.Member) bool { return x.NameStart == m.NameStart })
	custom := root.Member("customizations")
	if custom == nil {
		if slices.ContainsFunc(root.Members[:i], func(x jsonc.Member) bool { return legacy[x.Name] != "" }) {
			return nil // the first one makes the place that this one moves to
		}
		// In place, so that nothing else moves.
		return []jsonc.Edit{
			{Start: m.NameStart, End: m.NameEnd, Text: `"customizations": {"vscode": {` + jsonc.Quote(m.Name)},
			{Start: m.Value.End, End: m.Value.End, Text: "}}"},
		}
	}
	vscode := custom.Member("vscode")
	value := doc.Outdented(m.Value)
	switch {
	case custom.Kind != jsonc.Object || vscode != nil && (vscode.Kind != jsonc.Object || vscode.Member(m.Name) != nil):
		return nil
	case vscode == nil:
		return append(doc.AddMember(custom, "vscode", "{"+jsonc.Quote(m.Name)+": "+value+"}"), doc.RemoveMember(root, i)...)
	}
	return append(doc.AddMember(vscode, m.Name, value), doc.RemoveMember(root, i)...)
}

// mergeLegacy adds what a legacy list or object has to the property that is there already, and takes
// it out; nothing when a name would have two values.
func (c *comparison) mergeLegacy(m jsonc.Member) (edits []jsonc.Edit) {
	there := c.root.Member("customizations").Member("vscode").Member(m.Name)
	i := slices.IndexFunc(c.root.Members, func(x jsonc.Member) bool { return x.NameStart == m.NameStart })
	if there == nil || there.Kind != m.Value.Kind {
		return nil
	}
	switch there.Kind {
	case jsonc.Array:
		var missing []string
		for _, e := range m.Value.Elements {
			text, ok := e.Str()
			if !ok {
				return nil
			}
			if !slices.ContainsFunc(there.Elements, func(x *jsonc.Node) bool { return x.TextOr("") == text }) {
				missing = append(missing, jsonc.Quote(text))
			}
		}
		if len(missing) > 0 {
			edits = c.doc.AddElement(there, strings.Join(missing, ",\n"))
		}
	case jsonc.Object:
		var missing []string
		for _, e := range m.Value.Members {
			value := string(c.doc.Src[e.Value.Start:e.Value.End])
			switch other := there.Member(e.Name); {
			case other == nil:
				missing = append(missing, jsonc.Quote(e.Name)+": "+c.doc.Outdented(e.Value))
			case string(c.doc.Src[other.Start:other.End]) != value:
				return nil
			}
		}
		if len(missing) == 0 {
			break
		}
		name, value, _ := strings.Cut(strings.Join(missing, ",\n"), ": ")
		if text, err := strconv.Unquote(name); err == nil {
			edits = c.doc.AddMember(there, text, value)
		}
	default:
		return nil
	}
	return append(edits, c.doc.RemoveMember(c.root, i)...)
}

// Opening are the properties that a slip of the pen must not start to act by
// itself: they open the host, or run something there.
var Opening = []string{"privileged", "capAdd", "securityOpt", "runArgs", "mounts", "initializeCommand", "appPort"}

// sameButForCase reports whether a name differs from another in case, hyphens
// and underscores alone: then it can only have been meant.
func sameButForCase(a, b string) bool {
	fold := strings.NewReplacer("_", "", "-", "")
	return strings.EqualFold(fold.Replace(a), fold.Replace(b))
}
