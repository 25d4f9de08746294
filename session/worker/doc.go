// Package worker is a protocol by which another program works in a sandbox: requests are
// JSON lines that it reads, and answers are JSON lines that it writes.
//
//	{"id":"1","op":"ensure"} ──► Read ──► Request ──► Server ── Start ──► a run that is held, see sandbox.Held
//	{"id":"2","op":"exec",…}                            │  └─ Exec, Prompt: a goroutine for each request
//	                                                    ▼
//	{"id":"2","type":"stdout",…} ◄── Message ◄── messages: one line each, whole
//	{"id":"2","type":"exit","last":true,"code":0}
//
// A request has a name, its id, which each of its answers carries; "last" is in the last of
// them. Requests run side by side, and in a workflow each works in a git worktree of
// its own.
//
// Promises: a line that is no request is answered with an error and changes nothing.
// Unknown members, members that are there twice and lines over MaxLine are no requests.
// When the input ends, or the reader of the answers leaves, everything that was started
// ends. An error has a code of the list in message.go, which docs/worker.md explains.
package worker
