// Package trigger decides whether an event may start an agent with a secret key.
//
//	GITHUB_EVENT_NAME, its payload, GITHUB_ACTOR … ─ Read ─► Event: who started it, its text and labels, whose commit
//	Event ─ Rules.Judge (asks for permissions) ─► Decision: run, skip, or refuse with the reason
//
// Events that only people with write access can cause start an agent without a question.
// For all others, and for unknown ones, everybody behind the event must have write
// access, or be named. A bot must be named. A question without an answer refuses.
package trigger
