// Package dockerfile reads a Dockerfile into facts that have a place: stages
// and what they are made from, which user and variables hold at each
// instruction, and the commands that RUN, CMD and ENTRYPOINT run.
//
//	text ─ BuildKit's parser ─> nodes ─ Parse ─> File ─┬ Stages ─> Instructions ─> shell.Command
//	                                                   ├ Problems: what BuildKit would refuse
//	                                                   └ Warnings: its build checks
//
// It judges nothing, reads no other file and builds nothing. A file that
// BuildKit refuses still yields the facts of its other instructions.
package dockerfile
