// Package redact removes secrets from streams and texts: the credentials that
// a run knows, in the forms in which they commonly leak (as they are, base64,
// hex, escaped as in addresses, JSON and HTML, cut by ends of lines), and anything that
// looks like a well-known kind of token.
//
//	secrets, patterns -> New -> Redactor -> String
//	                                    \-> Writer (any chunking gives the same output)
//	named secrets -> NewFinder -> Find -> places of a text, also of secrets in pieces
//
// It is a second line: what must not leak must not come near the text. An
// agent that wants to smuggle a secret out can always encode it in a way that
// no list knows.
package redact
