// Package shell says which commands a piece of shell text runs, and what feeds
// them. It runs nothing and looks nothing up.
//
//	text ── mvdan.cc/sh ──> syntax tree ── Parse ──> []*Command
//	                                                  words, pipes, redirections, here-documents;
//	                                                  sudo, env, su -c, sh -c looked through
//
// The body of a RUN instruction, a lifecycle command and an entrypoint are all
// read here, so that a rule about commands holds in each of those places.
package shell
