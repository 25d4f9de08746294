// Package selection says which findings count, and how much.
//
//	sbx-devc.jsonc ─ Find, Parse ─► Selection ─┐
//	baseline ─ ReadBaseline ───────────────────┼─► Run.Judge(finding) ─► shown, and how severe
//	command line, organisation's policy ───────┘
//
// Choices does this for all files of one run, each by the files of its own folder. Check
// runs the rules over the files by their choices, counts the bad findings, and makes new
// baselines.
//
// A later word wins over an earlier one: profile, categories, rules, overrides, command
// line; within one list the more specific one. An organisation's policy wins over all of them: what it holds is neither switched
// off nor lowered, whatever a project's files say. A file that is not valid is an error
// with its place; nothing is checked by half a selection.
package selection
