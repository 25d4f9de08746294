// Package structured holds an answer against the JSON Schema that it was asked for,
// on this side of the walls: what Claude says of its own answer is the agent's word.
//
//	--json-schema -> Parse -> Schema ── Text ──► Claude Code
//	the model's answer, as JSON ────── Check ──► it fits, or the places that do not
//
// A schema is bounded in size, and refers to nothing outside of itself.
package structured
