package devcontainer

import "github.com/org/claude-sandbox/internal/diag"

// syntaxRules are reported by package jsonc while it parses.
var syntaxRules = []Rule{
	{ID: "SBX101", Name: "syntax", Severity: diag.SeverityError, Title: "syntax error",
		Reason: "Editors and the reference CLI read past what they do not understand and drop it without a word: an unquoted name, everything behind a missing bracket. What they drop may be the line that protects you.",
		Bad:    "{\n  \"image\": \"debian:13\",\n  privileged: false\n}",
		Good:   "{\n  \"image\": \"debian:13\",\n  \"privileged\": false\n}"},
	{ID: "SBX102", Name: "duplicate-name", Severity: diag.SeverityError, Title: "a name is given twice",
		Reason: "Some readers take the first value and some the last, so what a reviewer reads and what runs can differ.",
		Bad:    "{\n  \"image\": \"debian:13\",\n  \"remoteUser\": \"dev\",\n  \"remoteUser\": \"root\"\n}",
		Good:   "{\n  \"image\": \"debian:13\",\n  \"remoteUser\": \"dev\"\n}"},
	{ID: "SBX103", Name: "trailing-comma", Severity: diag.SeverityNote, Title: "trailing comma",
		Reason: "The schema of devcontainer.json does not allow trailing commas. Most readers do, strict ones refuse the file.",
		Bad:    "{\n  \"image\": \"debian:13\",\n}",
		Good:   "{\n  \"image\": \"debian:13\"\n}"},
	{ID: "SBX104", Name: "byte-order-mark", Severity: diag.SeverityWarning, Title: "byte order mark",
		Reason: "Strict JSON readers refuse a file that starts with a byte order mark, and no editor shows it.",
		Bad:    "\ufeff{\"image\": \"debian:13\"}",
		Good:   "{\"image\": \"debian:13\"}"},
	{ID: "SBX105", Name: "empty-file", Severity: diag.SeverityError, Title: "empty file",
		Reason: "An empty devcontainer.json ends the reference CLI without a message.",
		Bad:    "// nothing yet\n",
		Good:   "{\"image\": \"debian:13\"}"},
	{ID: "SBX106", Name: "control-character", Severity: diag.SeverityError, Title: "control character in a string",
		Reason: "JSON does not allow raw control characters in strings; a tab or line break there is mostly a slip of the editor, and readers differ in what they make of it.",
		Bad:    "{\"image\": \"debian:13\", \"name\": \"two\twords\"}",
		Good:   "{\"image\": \"debian:13\", \"name\": \"two\\twords\"}"},
}
