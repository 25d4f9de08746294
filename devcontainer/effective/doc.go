// Package effective works out what a configuration amounts to: the file, its
// Features and the label of its image merged as the reference implementation
// merges them, where each value comes from, and the engine's command line that
// follows.
//
//	Project ─ entries: image label ─┐
//	          Features, in order ───┼─ substitute ─ merge ─> Result ─> docker run
//	          devcontainer.json ────┘
//
// It talks to nobody. What only an engine or a registry knows, the caller looks
// up through Options; what nobody could tell is listed in Result.Unknown, and
// the rest is still merged. Facts are those of the reference CLI, with which a
// test compares every value.
package effective
