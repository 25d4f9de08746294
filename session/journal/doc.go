// Package journal keeps what a run does as records: lines of JSON for programs and for
// bug reports.
//
//	progress, package sandbox, the command ─► Logger ─► redact, one line, cut ─┬─► --log FILE     levels info and above
//	a line for people ─► Say ─► people and ───────────┘                       ├─► debug.jsonl    all levels
//	                                                                           └─► Show           all but what people read anyway
//
// A record has time, level, msg, run and what: build, start, network, resources, tool,
// answer, note, error or end. The texts in it may be the agent's. So each is searched for
// the run's secrets, written without control characters, and cut at 4 KiB.
//
// FILE is appended to, takes 10 MiB, and has three older ones, FILE.1 to FILE.3; several
// runs may share it. It is no symbolic link and not in the project, where the agent could
// change it. debug.jsonl is in the run's folder: 4 MiB, and one older file. A file that
// cannot be written is told once, and the run goes on without it.
package journal
