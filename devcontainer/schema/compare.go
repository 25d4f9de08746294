package schema

import (
	"fmt"
	"slices"

	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// Mismatch is a place of a file that is not as its tables say.
type Mismatch struct {
	Rule string // SBX2xx, or SBX301 and SBX303 where the tools take the value for another
	rights.Place
	Message, Hint string
	Edits         []jsonc.Edit // that correct it; nil when that needs the author
	Offer         []jsonc.Edit // that correct it if the author wants them
}

// Config compares a devcontainer.json.
func Config(doc *jsonc.Document) []Mismatch { return compare(doc, (*comparison).config) }

// Feature compares a devcontainer-feature.json.
func Feature(doc *jsonc.Document) []Mismatch {
	return compare(doc, func(c *comparison) {
		c.check(c.root, featureShape)
		c.options(c.root.Member("options"), true)
	})
}

// Template compares a devcontainer-template.json.
func Template(doc *jsonc.Document) []Mismatch {
	return compare(doc, func(c *comparison) {
		c.check(c.root, templateShape)
		c.options(c.root.Member("options"), false)
	})
}

// Lock compares a devcontainer-lock.json.
func Lock(doc *jsonc.Document) []Mismatch {
	return compare(doc, func(c *comparison) { c.check(c.root, lockShape) })
}

// Made compares a sandbox.lock.
func Made(doc *jsonc.Document) []Mismatch {
	return compare(doc, func(c *comparison) { c.check(c.root, madeShape) })
}

// Policy compares an organisation's policy.
func Policy(doc *jsonc.Document) []Mismatch {
	return compare(doc, func(c *comparison) { c.check(c.root, policyShape) })
}

// Tool compares a sbx-devc.jsonc.
func Tool(doc *jsonc.Document) []Mismatch {
	return compare(doc, func(c *comparison) { c.check(c.root, toolShape) })
}

// Choice compares the part of a file that says which rules count; n is not nil.
func Choice(doc *jsonc.Document, n *jsonc.Node) []Mismatch {
	c := &comparison{doc: doc, root: n}
	c.check(n, choiceShape)
	return c.out
}

// Misspelt reports whether a member of n is among the mismatches as unknown that
// was meant to be one of names: one slip is one finding.
func Misspelt(found []Mismatch, n *jsonc.Node, names ...string) bool {
	return slices.ContainsFunc(n.Members, func(m jsonc.Member) bool {
		return diag.Suggest(m.Name, names) != "" && slices.ContainsFunc(found, func(r Mismatch) bool {
			return r.Rule == "SBX201" && r.Pointer == m.Value.Pointer
		})
	})
}

// Known returns the property that a top-level name was most likely meant to be,
// or "".
func Known(name string) string { return diag.Suggest(name, everyName) }

// IsProperty reports whether a configuration of some kind has a property of that name.
func IsProperty(name string) bool {
	_, is := everyKind[name]
	return is
}

// comparison is one walk over a document.
type comparison struct {
	doc  *jsonc.Document
	root *jsonc.Node
	out  []Mismatch

	counted *jsonc.Node // see count
	counts  map[string]int
}

// compare walks over a document; nothing over one that is not well formed.
func compare(doc *jsonc.Document, walk func(*comparison)) []Mismatch {
	if doc == nil || doc.Root == nil {
		return nil
	}
	c := &comparison{doc: doc, root: doc.Root}
	if c.root.Kind == jsonc.Object {
		walk(c)
	} else {
		c.at(c.root, "SBX202", fmt.Sprintf("the file must be an object, not %s", c.root.Kind), "")
	}
	return c.out
}

func (c *comparison) add(start, end int, pointer, rule, message, hint string) *Mismatch {
	c.out = append(c.out, Mismatch{Rule: rule, Place: rights.Place{Doc: c.doc, Start: start, End: end, Pointer: pointer},
		Message: message, Hint: hint})
	return &c.out[len(c.out)-1]
}

// at adds one at a value.
func (c *comparison) at(n *jsonc.Node, rule, message, hint string) *Mismatch {
	return c.add(n.Start, n.End, n.Pointer, rule, message, hint)
}

// name adds one at a member's name.
func (c *comparison) name(m jsonc.Member, rule, message, hint string) *Mismatch {
	return c.add(m.NameStart, m.NameEnd, m.Value.Pointer, rule, message, hint)
}

// missing adds that something is not there, at the value that should have it, or
// at the opening bracket of the file.
func (c *comparison) missing(n *jsonc.Node, rule, message, hint string) {
	if n == c.root {
		c.add(n.Start, n.Start+1, "", rule, message, hint)
	} else {
		c.at(n, rule, message, hint)
	}
}

func (m *Mismatch) fix(edits []jsonc.Edit) { m.Edits = edits }

func (m *Mismatch) offer(edits []jsonc.Edit) { m.Offer = edits }
