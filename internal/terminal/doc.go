// Package terminal joins a person's terminal to a program in a sandbox, so that the
// program has a screen and keys and no other hold on the terminal.
//
//	person's terminal ── Client: raw mode, keys of ours, Filter ◄══ frames ══► Server: Filter, size ── program's terminal
//	                        │ restored on every way out                          │ one Client at a time, or none
//	                        └ suspends, detaches, prints texts when restored     └ the screen's modes, for the next Client
//
// Client and Server are two processes, so that the program's supervisor lives on when
// the person suspends or leaves; a connection that is lost without a word is told to
// the supervisor, who ends the program and, by Rescue, restores the terminal.
//
// A Filter decides what the program may say to the terminal: an allowlist of
// sequences that draw, and of modes that it can undo. It writes all that it passes on
// itself, in one form, so that it and the terminal cannot read a text in two ways.
package terminal
