// Package review shows the changes of a run by their danger, before they count.
//
//	changes.Set, its diff ──► files, and their hunks ─┐
//	transcript ──► calls that wrote them ─────────────┼─► Review ─► Screen, WriteText, JSON, WriteHTML
//	audit log  ──► hosts that were read before ───────┘      ▲
//	table of kinds: names (workspace/obeyed), types, texts ──┘
//
// It is pure: New reads what it is given and touches no file. Danger is a table
// (Kinds): what a program outside obeys later, what a reader does not see, and what
// cannot be shown. A file with a finding of any kind comes before all others.
//
// It promises that the first screen (Screen) names every dangerous file, or, where
// the lines do not suffice, counts them by kind: none is below the fold, however many
// harmless changes there are. A file that it cannot look at is a finding, never silence. The
// values of the run's secrets are asterisks in the diff that it is given. The
// words of the agent reach a screen or a page escaped.
//
// The tool call is the transcript's word, which is the agent's; the time by which
// hosts were read is the kernel's. Where neither is known it says "unknown".
package review
