// Sbx-init is the sandbox's init: it closes the network, opens what the policy
// allows, proves it, drops every privilege and only then starts the command.
//
//	root + CAP_NET_ADMIN -> close both families -> read policy -> resolver, guard -> apply -> verify
//	    -> re-exec as shim: no capability, no_new_privs, the user's ids -> CMD
//	    -> forward signals, reap, exit with CMD's code
//
//	beside it: control socket (root) -> reload | status | verify ─┐
//	           the rules changed from outside -> restore, record ─┴-> one at a time
//
//	agent's container, topology sidecar: reap -> CMD; tells the firewall which process holds a socket
//
// Every error on the way ends the program with the network still closed. The
// program is one static binary without a configuration of its own, so that it
// runs in any image.
package main
