package firewall

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
)

// ClosedPlan denies everything in both families, loopback included: it holds
// before a policy is read and after anything has failed. It needs of the facts
// only IPv6, and of the kernel only the filter table. Its rules are the last ones
// of the same chains in every plan of Compile but mode host's, so that a
// namespace opens by rules put in front of them, and none is ever removed.
func ClosedPlan(f Facts) Plan {
	closed := func() []Table {
		return []Table{{
			Name: "filter",
			Drop: builtinChains(),
			Chains: []Chain{
				{ChainOut, []Rule{drop("closed: nothing leaves, not even over loopback, where a resolver may listen")}},
				{ChainIn, []Rule{drop("closed: nothing enters")}},
				pastChain(),
			},
			Jumps: filterJumps(),
		}}
	}
	p := Plan{V4: closed(), Probes: probes(f.IPv6, documentation)}
	if f.IPv6 {
		p.V6 = closed()
	}
	return p
}

// Compile turns a policy into the rules and sets that enforce it. Rules are
// made for IPv6 whenever the kernel has it, because an address can appear
// later. Where the policy is Guarded, learned addresses are open on the web's
// ports for the guard alone, and everybody else's connections are led to it.
//
// The plan of mode audit lets out and reports what belongs to the internet; that
// of mode host lets everything out.
//
// It fails for facts that would make an open rule: no mark, no port of the
// resolver or the guard, an upstream that is no unicast address.
func Compile(p *Policy, f Facts) (Plan, error) {
	if p.mode == ModeHost {
		return openPlan(f), nil
	}
	if p.Resolves() {
		if err := f.check(); err != nil {
			return Plan{}, fmt.Errorf("compiling the policy: %w", err)
		}
		if p.Guarded() && f.GuardPort == 0 {
			return Plan{}, errors.New("compiling the policy: the guard's port is not set")
		}
	}
	plan := Plan{Probes: probes(f.IPv6, documentation)}
	if p.mode == ModeAudit {
		plan.Probes = probes(f.IPv6, nobodys)
	}
	for _, fam := range []family{family4, family6} {
		if fam.ipv6 && !f.IPv6 {
			continue
		}
		r := rules{policy: p, facts: f, family: fam}
		tables := []Table{r.filter(), r.nat(), r.mangle()}
		if fam.ipv6 {
			plan.V6 = tables
		} else {
			plan.V4 = tables
		}
		plan.Sets = append(plan.Sets, r.sets()...)
	}
	return plan, nil
}

// openPlan lets everything out and in. It has the chains of every plan, so that
// it can take the place of another one and be replaced itself; what is
// forwarded for others stays dropped.
func openPlan(f Facts) Plan {
	open := func() []Table {
		mangle := Table{Name: "mangle", Chains: []Chain{{Name: ChainLoopback}}, Jumps: []Jump{{"POSTROUTING", ChainLoopback}}}
		if f.Queue {
			mangle.Chains = append(mangle.Chains, Chain{Name: ChainHold}, Chain{Name: ChainHeld})
			mangle.Jumps = append(mangle.Jumps, Jump{"OUTPUT", ChainHold})
		}
		return []Table{{
			Name: "filter",
			Drop: builtinChains(),
			Chains: []Chain{
				{ChainOut, []Rule{{"-j ACCEPT", "mode host: there is no firewall"}}},
				{ChainIn, []Rule{{"-j ACCEPT", ""}}},
				{Name: ChainPast},
			},
			Jumps: filterJumps(),
		}, {
			Name: "nat", Chains: []Chain{{Name: ChainDNS}}, Jumps: []Jump{{"OUTPUT", ChainDNS}},
		}, mangle}
	}
	p := Plan{V4: open(), Open: true}
	if f.IPv6 {
		p.V6 = open()
	}
	return p
}

// documentation addresses (RFC 5737, RFC 3849) are no machine's, so a probe
// disturbs none. Where the internet is open they are part of it, and unused
// addresses take their place: the dummy address and its neighbour
// (RFC 7600), and two that are for discarding (RFC 6666).
var (
	documentation = []string{"192.0.2.189", "198.51.100.189", "203.0.113.189", "2001:db8::5bd", "2001:db8:ffff::5bd"}
	nobodys       = []string{"192.0.0.8", "192.0.0.189", "100::5bd", "100::ffff:5bd"}
)

func probes(ipv6 bool, addrs []string) []netip.Addr {
	var out []netip.Addr
	for _, text := range addrs {
		if a := netip.MustParseAddr(text); ipv6 || a.Is4() {
			out = append(out, a)
		}
	}
	return out
}

func (f Facts) check() error {
	switch {
	case f.Mark == 0:
		// Every packet without a mark has mark 0.
		return errors.New("the resolver's mark must not be 0")
	case f.ResolverPort == 0:
		return errors.New("the resolver's port is not set")
	case f.DaemonUID < 0:
		return fmt.Errorf("the resolver's user %d is not a user", f.DaemonUID)
	}
	for _, u := range f.Upstreams {
		if !u.IsValid() || u.IsUnspecified() || u.IsMulticast() {
			return fmt.Errorf("the upstream resolver %s is not an address of a machine", u)
		}
	}
	return nil
}

// drop is the rule that a chain ends with.
func drop(why string) Rule { return Rule{"-j DROP", why} }

// pastChain refuses packets that go through the machine. No rule of OUTPUT judges
// them, and a program with networks of its own, such as an engine inside
// the sandbox, adds rules behind ours that let them pass.
func pastChain() Chain {
	return Chain{ChainPast, []Rule{drop("nothing is passed on for others")}}
}

func filterJumps() []Jump {
	return []Jump{{"OUTPUT", ChainOut}, {"INPUT", ChainIn}, {"FORWARD", ChainPast}}
}

func builtinChains() []string { return []string{"INPUT", "FORWARD", "OUTPUT"} }

// sets returns the family's sets. In mode none nothing is learned or allowed.
func (r rules) sets() []Set {
	var seen []Set
	if r.facts.NFLOG {
		seen = []Set{{Name: r.family.seen, Type: "hash:ip,port", IPv6: r.family.ipv6, Timeout: SeenTimeout}}
	}
	if r.facts.Queue {
		seen = append(seen, Set{Name: r.family.held, Type: "hash:ip,port", IPv6: r.family.ipv6, Timeout: HeldTimeout})
	}
	if r.policy.mode == ModeNone {
		return seen
	}
	if r.facts.NFLOG && r.policy.mode == ModeAudit {
		seen = append(seen, Set{Name: r.family.passed, Type: "hash:ip,port", IPv6: r.family.ipv6, Timeout: SeenTimeout})
	}
	static := Set{Name: r.family.static, Type: "hash:net,port", IPv6: r.family.ipv6}
	for _, e := range r.policy.allow.entries {
		if !r.family.owns(e.prefix) {
			continue
		}
		for _, port := range e.ports {
			static.Entries = append(static.Entries, SetEntry{e.prefix, port})
		}
	}
	slices.SortFunc(static.Entries, func(a, b SetEntry) int {
		return cmp.Or(a.Prefix.Addr().Compare(b.Prefix.Addr()), a.Prefix.Bits()-b.Prefix.Bits(),
			int(a.Port.Number)-int(b.Port.Number), cmp.Compare(a.Port.Proto, b.Port.Proto))
	})
	static.Entries = slices.Compact(static.Entries)
	return append([]Set{
		{Name: r.family.learned, Type: "hash:ip,port", IPv6: r.family.ipv6, Timeout: LearnedTimeout},
		static,
	}, seen...)
}

// family is what differs between IPv4 and IPv6 in the rules.
type family struct {
	ipv6     bool
	loopback netip.Prefix // what stays in the namespace by its address
	learned  string
	static   string
	seen     string
	passed   string
	held     string
	reject   string // tells a program that the refusal is final
	headers  string // matches a packet with options or extension headers
}

var (
	family4 = family{false, netip.MustParsePrefix("127.0.0.0/8"), SetName4, StaticName4, SeenName4, PassedName4, HeldName4,
		"icmp-admin-prohibited",
		`-m u32 --u32 "0x0>>0x18&0xf=0x6:0xf"`}
	family6 = family{true, netip.MustParsePrefix("::1/128"), SetName6, StaticName6, SeenName6, PassedName6, HeldName6, "icmp6-adm-prohibited",
		"-m ipv6header --header hop-by-hop,ipv6-opts,ipv6-route --soft"}
)

// HeaderMatch is the match, as iptables-save prints it, for packets with IP
// options or, in IPv6, with extension headers before the transport's. Facts
// says whether the kernel has it.
func HeaderMatch(ipv6 bool) string {
	if ipv6 {
		return family6.headers
	}
	return family4.headers
}

// owns reports whether a valid prefix is of this family.
func (f family) owns(p netip.Prefix) bool {
	return p.IsValid() && p.Addr().Is6() == f.ipv6
}
