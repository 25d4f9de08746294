package firewall

import "fmt"

// The chains that hold a connection's first packet until somebody has looked
// whose it is.
const (
	ChainHold = "SBX-HOLD" // mangle: which packets
	ChainHeld = "SBX-HELD" // mangle
)

// HoldQueue is the NFQUEUE number of held packets.
const HoldQueue = 0x7365

// hold hands the first packet of a connection that the filter table is about to
// refuse to whoever listens at HoldQueue: a refused connection's socket is gone
// before a report of it arrives, and while its packet is held it is there. A
// destination's first packet is held, and no other for HeldTimeout.
//
// It decides nothing. The mangle table comes before the filter table (netfilter
// priorities -150 and 0), which judges each packet as if this chain did not
// exist: when it is let go, when no listener exists (--queue-bypass means "go on";
// in the filter table it would mean "accept", so this rule must never stand
// there), and when too many wait. It may thus hold too much, as it does not know
// every rule there, and leave out too much, without harm. Should the listener be
// stopped, the few connections that it holds wait until it goes on or ends; the
// others are refused at once. There is a verdict that skips what comes after
// (NF_STOP): to give one takes CAP_NET_ADMIN, with which whoever has it could
// change the rules as well.
func (r rules) hold() []Chain {
	// One rule, because each costs the start some tenths of a millisecond; what
	// is no beginning of a connection falls out of it first.
	match := "! -o lo -p tcp -m tcp --tcp-flags FIN,SYN,RST,ACK SYN"
	unless := []string{r.family.held}
	if r.policy.Resolves() {
		unless = append(unless, r.family.learned, r.family.static) // what will be let out
		match += fmt.Sprintf(" -m mark ! --mark 0x%x", r.facts.Mark)
	}
	for _, set := range unless {
		match += fmt.Sprintf(" -m set ! --match-set %s dst,dst", set)
	}
	return []Chain{
		{ChainHold, []Rule{{match + " -j " + ChainHeld, "a destination's first in a minute"}}},
		{ChainHeld, []Rule{
			{fmt.Sprintf("-j SET --add-set %s dst,dst", r.family.held), ""},
			{fmt.Sprintf("-j NFQUEUE --queue-num %d --queue-bypass", HoldQueue),
				"until somebody has looked at its socket; without anybody it goes on to the filter table"},
		}},
	}
}
