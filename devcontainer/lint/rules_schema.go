package lint

import (
	"github.com/org/claude-sandbox/devcontainer/contract"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
)

// schemaRules are reported by the comparison with the property tables. Those
// of sandbox.jsonc come from package settings.
var schemaRules = []rule.Rule{
	{ID: "SBX201", Name: "unknown-property", Severity: diag.SeverityError, Title: "unknown property",
		Reason:  "The dev container tools ignore names that they do not know. A typo in a name therefore disables its line.",
		Fix:     "a name that differs only in case, - or _ is written right",
		FoundBy: "schema",
		Spoils:  rule.Misspelt},
	{ID: "SBX202", Name: "wrong-type", Severity: diag.SeverityError, Title: "wrong type",
		Reason:  "The tools do not check types: a value of the wrong one is dropped, turned into text, or ends the start with an error that names no line.",
		Spoils:  rule.Mistyped,
		FoundBy: "schema"},
	{ID: "SBX203", Name: "value-not-accepted", Severity: diag.SeverityError, Title: "value not accepted",
		Reason:  "The specification lists the values of this property; any other counts as missing.",
		Spoils:  rule.Mistyped,
		FoundBy: "schema"},
	{ID: "SBX204", Name: "required-property", Severity: diag.SeverityError, Title: "required property missing",
		Reason:  "Without it the tools cannot start the container, or they guess.",
		FoundBy: "schema",
		Spoils:  rule.Malformed},
	{ID: "SBX205", Name: "image-source", Severity: diag.SeverityError, Title: "no image source, or more than one",
		Reason:  "A container is made from an image, from a Dockerfile or by Compose. Of two sources one is ignored in silence: a Dockerfile wins over an image.",
		FoundBy: "schema"},
	{ID: "SBX206", Name: "no-effect", Severity: diag.SeverityError, Title: "property without effect in this kind of configuration",
		Reason:  "The property is known and has no effect here: with Compose, for example, runArgs are never used.",
		FoundBy: "schema"},
	{ID: "SBX207", Name: "legacy-property", Severity: diag.SeverityWarning, Title: "legacy property",
		Reason:  "The property moved years ago. Some tools still read it at its old place and others do not; the schema refuses it.",
		Fix:     "it moves into customizations",
		FoundBy: "schema"},
	{ID: "SBX208", Name: "outside-specification", Severity: diag.SeverityWarning, Title: "property outside the specification",
		Reason:  "Only some tools know this property. With the others it has no effect.",
		FoundBy: "schema"},
	{ID: "SBX210", Name: "network-entry", Severity: diag.SeverityError, Title: "network entry of sandbox.jsonc, or of the firewall Feature, not accepted",
		Reason: "An entry that cannot be read as a host, a wildcard, an address or a network allows nothing, or something else than intended. The firewall refuses to start on it.",
		Check:  contract.FeatureEntries, FoundBy: "settings"},
	{ID: "SBX211", Name: "list-file", Severity: diag.SeverityError, Title: "list file of sandbox.jsonc cannot be read",
		Reason:  "Without this finding, a missing list would count as an empty one.",
		FoundBy: "settings"},
	{ID: "SBX212", Name: "network-review", Severity: diag.SeverityWarning, Title: "suspicious network entry of sandbox.jsonc",
		Reason:  "The entry changes nothing, because a denial or another entry covers it, or it opens more than it seems to: a domain where anybody can rent a host, a cloud's metadata, a name that looks like another one, the whole internet.",
		FoundBy: "settings"},
}
