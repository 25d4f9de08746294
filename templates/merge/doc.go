// Package merge brings what a new version of a template says into files that
// people have edited since.
//
//	base (as the template wrote it) ─┐   JSONC: tree by tree
//	template (as it writes it now) ──┼─> Dockerfile: by region  ─┬─> merged text, the user's but for what the template changed
//	mine (as it is)  ────────────────┘   Text: line by line      └─> []Conflict: both sides changed the same place
//
// The text that comes out is the user's: only values that the template changed
// since and the user did not are edited in it, so comments, order and layout
// stay. Lists whose order means nothing are merged as sets, mounts by their
// target and arguments of the engine by their flag. A version that both sides
// raised is no conflict unless the template's is the newer one. Everything is
// pure.
package merge
