// Package schema compares files with tables of their names, types and values:
// devcontainer.json, the metadata of Features and Templates, locks and policies.
//
//	jsonc.Document ─ shape ─► []Mismatch{Rule, Place, Message, Hint, Edits}
//
// A shape says what one value may be; config.go has those of devcontainer.json,
// of which there are four kinds, and other.go the rest. One mistake gives one
// Mismatch. The tables were written from the specification; a test compares the
// verdicts with the official schemas. Everything here is pure.
package schema
