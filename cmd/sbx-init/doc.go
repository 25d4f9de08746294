// Sbx-init is the sandbox's init: it closes the network, opens what the policy
// allows, proves it, drops every privilege and only then starts the command.
// This package parses, calls and prints.
//
//	run:  kernel.Open (both families closed) -> read the policy -> live.Open -> initproc.Run -> CMD's exit code
//	          meanwhile: control.Serve (root) -> reload | status | verify; live.Keep restores the rules
//	reap: the first process of the agent's container, topology sidecar: initproc.Shield -> owner.Answer -> initproc.Run
//	check, plan, log: what the policy says, what run would apply, what was decided
//
// Every error on the way ends the program with the network still closed. The
// program is one static binary without a configuration of its own, so that it
// runs in any image.
package main
