package firewall

import "fmt"

// ChainHold holds a connection's first packet until somebody has looked whose
// it is.
const ChainHold = "SBX-HOLD" // mangle

// HoldQueue is the NFQUEUE number of held packets.
const HoldQueue = 0x7365

// hold hands the first packet of a connection that the filter table is about to
// refuse to whoever listens at HoldQueue: a refused connection's socket is gone
// before a report of it arrives, and while its packet is held it is there. A
// destination's first packet is held, and no other for HeldTimeout.
//
// It decides nothing. The mangle table comes before the filter table (netfilter
// priorities -150 and 0), so whatever becomes of a packet here, the filter table
// judges it as if this chain did not exist: when it is let go, when nobody
// listens (--queue-bypass means "go on"; in the filter table it would mean
// "accept", so this rule must never stand there), and when too many wait. It may
// thus hold too much, as it does not know every rule there, and leave out too
// much, without harm. Should the listener be stopped, the few connections that
// it holds wait until it goes on or ends; the others are refused at once.
func (r rules) hold() Chain {
	c := Chain{Name: ChainHold}
	add := func(why, format string, args ...any) {
		c.Rules = append(c.Rules, Rule{fmt.Sprintf(format, args...), why})
	}
	add("what does not begin a connection; it decides nothing, see the filter table", "-p tcp -m tcp ! --tcp-flags FIN,SYN,RST,ACK SYN -j RETURN")
	add("", "! -p tcp -j RETURN")
	add("loopback", "-o lo -j RETURN")
	add("questions to the resolver", "-p tcp -m tcp --dport 53 -j RETURN")
	if r.policy.Resolves() {
		add("what will be let out", "-m set --match-set %s dst,dst -j RETURN", r.family.learned)
		add("", "-m set --match-set %s dst,dst -j RETURN", r.family.static)
		add("", "%s -j RETURN", r.daemon())
	}
	add("a destination's first in a minute", "-m set --match-set %s dst,dst -j RETURN", r.family.held)
	add("", "-j SET --add-set %s dst,dst", r.family.held)
	add("held until somebody has looked at its socket; without anybody it goes on to the filter table", "-j NFQUEUE --queue-num %d --queue-bypass", HoldQueue)
	return c
}
