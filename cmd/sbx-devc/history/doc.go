// Package history has the commands about runs as a whole: ls, status, logs, usage, stop, and
// clean for what they keep.
//
//	session/runs: folders of runs, sockets of those that go on ──► tables, JSON, transcripts
package history
