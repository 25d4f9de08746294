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
// A Template is judged as what it makes: addRendered fills its options in, runs the same
// rules over that and reports what they find at its place in the Template's own files. A
// Feature's install.sh is a RUN of a build that root runs. A script of the project that a hook calls is a part of that hook, and findings
// stand at its own lines. A Feature of the repository is
// judged, in its own files, with each configuration that uses it.
//
// A rule is a line in the table of its family (rules.go, and package contract for
// SBX8xx), and names the one function that looks for it, or the package that finds
// it while the files are read. Its page, with two examples that a test runs, is
// pages/ID.txtar. Nothing else has to know of a new rule. The line also says which
// files the rule judges, and what its findings mean for others: a value of a wrong
// type is judged by no other rule.
//
// The reference CLI validates nothing: it reads past syntax errors, ignores
// unknown names and treats the text "false" as true. So the rules follow what
// it does with a file, not only what the specification says.
package lint
