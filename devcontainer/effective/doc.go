// Package effective works out what a configuration amounts to: the file, its
// Features and the label of its image merged as the reference implementation
// merges them, where each value comes from, and the engine's command line that
// follows.
//
//	Project ─ entries: image label ─┐
//	          Features, in order ───┼─ substitute ─ merge ─> Result ─> docker run
//	          devcontainer.json ────┘
//
// The list of package rights is no input: it has every place where a right is written,
// and variables as they are written; here one value wins, variables have the host's
// values, and names and order of all properties count. A test holds that each right that
// is shown here is in that list.
//
// It sends nothing. Facts that only an engine or a registry knows, the caller looks
// up through Options; facts that could not be looked up are listed in Result.Unknown, and
// the rest is still merged. Facts are those of the reference CLI, with which a
// test compares every value.
package effective
