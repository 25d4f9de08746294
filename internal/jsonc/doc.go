// Package jsonc reads JSON with comments strictly and remembers where
// everything stood, so that a finding can point at the byte that is wrong.
//
//	bytes -> Parse -> Document{Root *Node} + findings (SBX101 … SBX106)
//	                      └─ Node.Start/End, Member.NameStart/NameEnd -> Document.Finding -> line:column
//
// A text that is not well formed has no Document, but its first error.
//
// Comments and trailing commas are accepted. Everything that editors and the
// reference dev container CLI read past in silence (missing commas, unquoted
// names, two roots, a cut file) is an error here, because what they drop may
// be the line that mattered.
package jsonc
