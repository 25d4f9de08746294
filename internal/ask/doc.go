// Package ask puts questions to somebody at a terminal: a numbered list to choose
// from, a letter, and yes or no. The terminal stays in its usual mode, a question is
// answered with a line, and so screen readers and terminals without cursor keys
// are served by the same text.
//
//	One, Some, Key, Confirm -> text on out -> line from in -> answer
//	                         ▲                  │
//	                         └── not understood ┘
//
// An empty line takes what is proposed. An end of the input is ErrEnded and never
// an answer; Ctrl-C is the terminal's signal, and the caller's context ends by it.
package ask
