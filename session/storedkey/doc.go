// Package storedkey keeps a key of the model API on this machine, for runs that find none in
// their environment.
//
//	claude setup-token ─► person ─ Save ─► token, a file of the user's own folder, for the user alone,
//	                                         │                  or the keyring, and there the place alone
//	                                         │
//	                                        Read ─► credproxy, in the process of a run; never a container
//	                                         │
//	                                       Remove
//
// A token of 'claude setup-token' asks the model and does nothing else, and is valid for
// a year. A refresh token makes new tokens, so it is refused: it has no business outside
// of Claude Code's own folder. The file must be the user's alone and its folder outside
// of the project that a run is about, as package userdir says.
package storedkey
