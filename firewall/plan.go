package firewall

import (
	"net/netip"
	"strconv"
	"strings"
)

// The names that the plan uses in the kernel. Everything of ours begins with
// SBX, and nothing else is ever flushed.
const (
	ChainOut    = "SBX-OUT" // filter: what may leave
	ChainIn     = "SBX-IN"  // filter: what may enter
	ChainPast   = "SBX-FWD" // filter: what others send through the machine
	ChainRefuse = "SBX-NO"  // filter: refuses so that the program fails at once
	ChainPass   = "SBX-GO"  // filter, mode audit: reports what is let out and lets it out
	ChainLog    = "SBX-LOG" // filter: reports what is refused; it decides nothing
	ChainDNS    = "SBX-DNS" // nat: leads every DNS query to the sandbox's resolver
	ChainGuard  = "SBX-WEB" // nat: leads connections to learned addresses on the web's ports to the guard

	SetName4    = "SBX-LEARNED4" // addresses of allowed names, with a timeout each
	SetName6    = "SBX-LEARNED6"
	StaticName4 = "SBX-STATIC4" // address entries of the policy
	StaticName6 = "SBX-STATIC6"
	SeenName4   = "SBX-SEEN4" // destinations whose refusal was reported a moment ago, with a timeout each
	SeenName6   = "SBX-SEEN6"
	PassedName4 = "SBX-PASSED4" // the same of destinations that were let out in mode audit
	PassedName6 = "SBX-PASSED6"
	HeldName4   = "SBX-HELD4" // destinations of which a packet was held a moment ago, with a timeout each
	HeldName6   = "SBX-HELD6"
)

// The NFLOG groups in which the kernel reports refused packets. The first
// packet to a destination has a group of its own, so that a flood of repeats
// can overflow only the other one. LogPassed is for connections that mode audit
// lets out: a destination's first in each SeenTimeout.
const (
	LogFirst  = 0x7362
	LogRepeat = 0x7363
	LogPassed = 0x7364
)

// SeenTimeout is how long a destination counts as reported, in seconds.
const SeenTimeout = 60

// HeldTimeout is how long after a packet to a destination no other one is held,
// in seconds.
const HeldTimeout = 60

// LearnedTimeout is how long an address stays in SetName4 or SetName6 when
// whoever adds it names no time, in seconds.
const LearnedTimeout = 300

// Where sbx-init's own servers listen on loopback, unless another program took
// the port: any port will do, because a rule leads there. Mark ("sbx" in ASCII)
// is on the packets that they send; to set it takes CAP_NET_ADMIN.
const (
	ResolverPort = 1053
	GuardPort    = 1080
	Mark         = 0x736278
)

// Facts are what Compile may know of the machine.
type Facts struct {
	IPv6         bool           // the kernel has IPv6, whether or not an address is set
	Upstreams    []netip.Addr   // the machine's resolvers; only the daemon reaches them, on port 53
	ResolverPort uint16         // the loopback port of the sandbox's resolver, UDP and TCP
	GuardPort    uint16         // the loopback port of the guard, TCP; not needed where the policy is not Guarded
	DaemonUID    int            // the user that the resolver and the guard run as
	Mark         uint32         // the mark (SO_MARK) on the daemon's own packets; not 0
	NFLOG        bool           // the kernel can report refused packets
	Queue        bool           // the kernel can hold packets until somebody has looked at them
	Headers      bool           // the kernel can match IP options and IPv6 extension headers
	Around       []netip.Prefix // networks and gateways that the machine is on; mode audit keeps them closed
	UIDs         []UIDRange     // the user ids that exist here, as in a rootless container, in order; nil = all
}

// UIDRange is user ids that follow one another, here and for the kernel, which compares
// its own numbers of users with those at the two ends.
type UIDRange struct{ First, Last uint32 }

// AssumedFacts stand for a machine that cannot be asked: a kernel that has all
// that Compile can use, as distributions' kernels do, and a made-up network with
// addresses for documentation (RFC 5737, RFC 3849). A caller that prints a plan
// made from them says so. Every field is set that changes a plan; UIDs stays nil,
// for all user ids.
func AssumedFacts() Facts {
	return Facts{
		IPv6:         true,
		Upstreams:    []netip.Addr{netip.MustParseAddr("192.0.2.53")},
		ResolverPort: ResolverPort,
		GuardPort:    GuardPort,
		Mark:         Mark,
		NFLOG:        true,
		Queue:        true,
		Headers:      true,
		Around:       []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8::/64")},
	}
}

// Plan is everything that the kernel must hold, as ordered data. Printed, it
// is the exact input of iptables-restore, ip6tables-restore and ipset restore
// for a network namespace that holds nothing of ours yet.
type Plan struct {
	Sets []Set
	V4   []Table
	V6   []Table // nil when the kernel has no IPv6

	// Probes are addresses that test packets may be sent to and at which
	// nothing is open but what the policy's address entries say.
	Probes []netip.Addr

	Open bool // nothing is refused, so there is nothing to test: mode host
}

// Set is an ipset.
type Set struct {
	Name    string     // at most 31 characters
	Type    string     // "hash:ip,port" or "hash:net,port"
	IPv6    bool       // family inet6 instead of inet
	Timeout uint32     // seconds an entry lives unless added with its own; 0 = for ever
	Entries []SetEntry // all that the set holds; of a set with a timeout, nothing
}

// SetEntry is one element of a Set.
type SetEntry struct {
	Prefix netip.Prefix
	Port   Port
}

// Table is one table of one address family.
type Table struct {
	Name   string   // "filter" or "nat"
	Drop   []string // built-in chains whose policy becomes DROP
	Chains []Chain  // our own chains, emptied and filled again
	Jumps  []Jump   // placed first in their chain
}

// Chain is a chain of ours with all its rules.
type Chain struct {
	Name  string
	Rules []Rule
}

// Rule is one rule in the form that iptables-save prints, without the
// "-A CHAIN" before it. That form is what kernel.Verify compares.
type Rule struct {
	Spec string
	Why  string // printed as a comment line before the rule; may be empty
}

// Jump leads a built-in chain to one of ours.
type Jump struct{ From, To string }

// Spec is the jump's rule in the form that iptables-save prints.
func (j Jump) Spec() string { return "-j " + j.To }

// String prints the plan: sets first, then both families.
func (p Plan) String() string {
	var b strings.Builder
	b.WriteString("# ipset restore\n")
	for _, s := range p.Sets {
		s.print(&b)
	}
	b.WriteString("\n# iptables-restore --noflush\n")
	b.WriteString(Script(p.V4, Present{}))
	b.WriteString("\n# ip6tables-restore --noflush\n")
	if p.V6 == nil {
		b.WriteString("# nothing: the kernel has no IPv6\n")
	}
	b.WriteString(Script(p.V6, Present{}))
	return b.String()
}

func (s Set) print(b *strings.Builder) {
	family := "inet"
	if s.IPv6 {
		family = "inet6"
	}
	b.WriteString("create " + s.Name + " " + s.Type + " family " + family)
	if s.Timeout > 0 {
		b.WriteString(" timeout " + strconv.Itoa(int(s.Timeout)))
	}
	b.WriteString("\n")
	for _, e := range s.Entries {
		b.WriteString("add " + s.Name + " " + e.String() + "\n")
	}
}

// String prints the entry as ipset does: "192.0.2.0/24,tcp:8443".
func (e SetEntry) String() string {
	return e.Prefix.String() + "," + string(e.Port.Proto) + ":" + strconv.Itoa(int(e.Port.Number))
}
