// Package structured holds an answer against the JSON Schema that it was asked for,
// on the host: what Claude says of its own answer is the agent's word.
//
//	--json-schema -> Parse -> Schema ── Text ──► Claude Code
//	the model's answer, as JSON ────── Check ──► it fits, or the first place that it breaks
//
// A schema is bounded in size and depth, refers to nothing outside of itself, and its
// references end with the answer that it is held against.
package structured
