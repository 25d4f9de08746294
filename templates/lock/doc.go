// Package lock keeps .devcontainer/sandbox.lock: what a dev container was made
// from, so that it can be updated a year later, by a program that no longer has
// the old template and on a machine without a network.
//
//	init, update -> Lock{template, options, policy, facts, base} -> Encode -> file
//	file -> Parse -> Lock ─┬ rendered: what the template would write now
//	                       ├ References: the images that the files name, with digests
//	                       └ Check: does it still describe the files?
package lock
