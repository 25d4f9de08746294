package lint

import (
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
)

// syntaxRules are reported by package jsonc while it parses.
var syntaxRules = []rule.Rule{
	{ID: "SBX101", Name: "syntax", Severity: diag.SeverityError, Title: "syntax error",
		Reason:  "Editors and the reference CLI silently drop parts that they do not understand: an unquoted name, everything behind a missing bracket. The dropped part may be the line that protects you.",
		Fix:     "a name without quotes gets them, unless it opens the host",
		FoundBy: "jsonc"},
	{ID: "SBX102", Name: "duplicate-name", Severity: diag.SeverityError, Title: "a name is given twice",
		Reason:  "Some readers take the first value and some the last, so what a reviewer reads and what runs can differ.",
		Check:   twiceInCompose,
		FoundBy: "jsonc"},
	{ID: "SBX103", Name: "trailing-comma", Severity: diag.SeverityNote, Title: "trailing comma",
		Reason:  "The schema of devcontainer.json does not allow trailing commas. Most readers do, strict ones refuse the file.",
		Fix:     "the comma goes",
		FoundBy: "jsonc"},
	{ID: "SBX104", Name: "byte-order-mark", Severity: diag.SeverityWarning, Title: "byte order mark",
		Reason:  "Strict JSON readers refuse a file that starts with a byte order mark, and no editor shows it.",
		FoundBy: "jsonc"},
	{ID: "SBX105", Name: "empty-file", Severity: diag.SeverityError, Title: "empty file",
		Reason:  "An empty devcontainer.json ends the reference CLI without a message.",
		FoundBy: "jsonc"},
	{ID: "SBX106", Name: "control-character", Severity: diag.SeverityError, Title: "control character in a string",
		Reason:  "JSON does not allow raw control characters in strings; a tab or line break there is mostly a slip of the editor, and readers differ in what they make of it.",
		FoundBy: "jsonc"},
	{ID: "SBX107", Name: "suppression-form", Severity: diag.SeverityError, Title: "sbx-ignore without a rule or a reason",
		Reason:  "An exception must name its rule and its reason, so that readers can judge it. Otherwise it switches nothing off.",
		FoundBy: "suppress"},
	{ID: "SBX108", Name: "suppression-unused", Severity: diag.SeverityWarning, Title: "sbx-ignore that switches nothing off",
		Reason:  "The finding that it excused is gone. If the comment stays, it hides the next one.",
		Fix:     "the comment goes",
		FoundBy: "suppress"},
	{ID: "SBX109", Name: "unchecked", Severity: diag.SeverityError, Title: "a part of the configuration is not checked",
		Reason: "A file that is named but too large, no regular file or not readable, and text whose variables, aliases or stages stand for more than a bounded amount, is not checked. The absence of findings about it means nothing. It is a warning where the file lies outside the repository or a variable names it.",
		Check:  unchecked, Last: true},
}
