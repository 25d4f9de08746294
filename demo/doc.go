// Package demo shows the main job on real parts: a repository, its dev container, and
// Claude Code behind the firewall.
//
//	git, a repository ─► init, validate, image build ─► an image
//	                                                      │
//	a web server on a network of the engine's ─► run ◄────┤ Claude Code, whose model is real
//	  counts what arrives, by name                │       │ or internal/fakeapi's script
//	                                              ▼
//	                       what Claude did, what arrived, figures
//
// The commands are carried out by the caller, as a user's would be. Everything is made
// for the showing and removed at its end, but for the image; no host of the internet is
// needed. The demo fails unless the allowed host was reached and the other one was not.
package demo
