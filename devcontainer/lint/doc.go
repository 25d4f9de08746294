// Package lint judges dev container configurations: are they well formed, do they
// say what their author meant, and do they open the host or the sandbox.
//
//	Project ─ rule.NewView ─► View ─ check of each rule ─► []rule.Finding
//	                                                             │
//	           []diag.Finding ◄─ sort ◄─ suppress ◄─ report (severity, position)
//
// A finding's way: reading, or a rule's check, says what is wrong and at which
// bytes; report adds the rule's id and severity and turns bytes into lines;
// comments take out what they excuse; package diag writes text, JSON or SARIF.
//
// A rule is an entry in the table of its family's file, and its entry names the
// one function that looks for it:
//
//	rules_syntax.go     SBX1xx  package jsonc finds them
//	rules_schema.go     SBX2xx  package schema finds them
//	rules_reference.go  SBX3xx  what the reference dev container CLI makes of a file
//	rules_host.go       SBX4xx  the host's border
//	rules_secrets.go    SBX5xx  keys
//	rules_supply.go     SBX6xx  images, Features, programs from elsewhere
//	rules_dockerfile.go SBX7xx  the Dockerfile
//	package contract    SBX8xx  our own sandbox, across files
//	rules_template.go   SBX9xx  Templates and what was made from them
//
// A new rule needs its entry and two examples (package examples), which a test
// runs. Nothing else has to know of it. An entry also says which files the rule
// judges, and what its findings mean for others: a value of a wrong type is
// judged by no other rule.
//
// The reference CLI validates nothing: it reads past syntax errors, ignores
// unknown names and treats the text "false" as true. So the rules follow what
// it does with a file, not only what the specification says.
package lint
