// Package doctor says what this machine lacks for a run, and the command that brings it.
//
//	engine, files, programs, variables, settings ─ Look ─► Facts ─ Judge ─► []Finding ─► text or JSON, by who asks
//
// Look has the effects and judges nothing: an engine that does not answer is a fact.
// Judge goes through a table of checks, each of which reads Facts alone. A finding that
// a run cannot do without is Missing; a Warning costs something, and a Note is about a
// program that only some people use. Nothing here shows a key, and nothing is changed:
// the one container that is started, to try the firewall, is removed.
package doctor
