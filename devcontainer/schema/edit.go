package schema

import (
	"slices"
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

// Opening are the properties that a slip of the pen must not start to act by
// itself: they open the host, or run something there.
var Opening = []string{"privileged", "capAdd", "securityOpt", "runArgs", "mounts", "initializeCommand", "appPort"}

// sameButForCase reports whether a name differs from another in case, hyphens
// and underscores alone: then it can only have been meant.
func sameButForCase(a, b string) bool {
	fold := strings.NewReplacer("_", "", "-", "")
	return strings.EqualFold(fold.Replace(a), fold.Replace(b))
}
