// Package contract has the rules that hold the configuration of a sandbox to its
// promises (SBX8xx): the firewall starts before the agent and stays, the agent
// cannot undo it, and nothing that the host obeys can be changed from inside.
//
//	rule.View ─ sandboxed? ─┬─ contract.go  the firewall starts, and the agent cannot undo it
//	                        ├─ feature.go   by the Feature: users, mounts over its parts
//	                        ├─ program.go   the program at the ENTRYPOINT is sbx-init
//	                        ├─ files.go     what the agent can write and the host obeys
//	                        ├─ policy.go    ports and commands against sandbox.jsonc
//	                        └─ setuid.go    commands that need sudo, across scripts
//
// Inspect answers what init has to know of somebody else's dev container before it
// adds the firewall. It reads text: what a script does when it runs is not known.
package contract
