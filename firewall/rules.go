package firewall

import (
	"fmt"
	"net/netip"
	"slices"
)

// rules makes the tables of one family. The order inside SBX-OUT is the
// argument for its safety, so it is written in one place and in that order:
//
//	packets with IP options ─ resolver's upstreams ─ everybody else to a hidden upstream ─ loopback ─
//	port 53 and 853 anywhere ─ deny networks ─ established ─ static ─
//	the web's ports for everybody but the guard ─ learned ─
//	in mode audit what is not the internet, then the internet ─ refuse
type rules struct {
	policy *Policy
	facts  Facts
	family family
}

func (r rules) filter() Table {
	out := r.out()
	in := []Rule{
		{"-i lo -j ACCEPT", "loopback"},
		{"-m conntrack --ctstate ESTABLISHED -j ACCEPT", "replies"},
		{r.icmpErrors(), "errors about our own connections, path MTU among them"},
	}
	if r.family.ipv6 {
		in = append(in, r.neighbours("")...)
	}
	for _, port := range r.policy.inbound {
		in = append(in, Rule{fmt.Sprintf("-p tcp -m tcp --dport %d -m conntrack --ctstate NEW -j ACCEPT", port), "network.inbound"})
	}
	in = append(in, drop("everything else, whatever rules stand behind ours"))
	chains := []Chain{{ChainOut, out}, {ChainIn, in}, pastChain(), r.refuse()}
	if r.policy.mode == ModeAudit {
		chains = append(chains, r.pass())
	}
	if r.facts.NFLOG {
		chains = append(chains, r.log())
	}
	return Table{
		Name:   "filter",
		Drop:   builtinChains(),
		Chains: chains,
		Jumps:  filterJumps(),
	}
}

// refuse ends what no rule lets out.
func (r rules) refuse() Chain {
	var rules []Rule
	if r.facts.NFLOG {
		var specs []string
		for _, users := range r.users(0) {
			specs = append(specs, "-m owner --uid-owner "+users+" -j "+ChainLog)
		}
		rules = group("packets of programs are reported; those of the kernel itself are no attempt", specs...)
	}
	return Chain{ChainRefuse, append(rules,
		Rule{"-p tcp -j REJECT --reject-with tcp-reset", "refused at once, so that no program waits for a timeout"},
		Rule{"-j REJECT --reject-with " + r.family.reject, ""})}
}

// log reports packets and lets them go on to their refusal, with a listener or
// without.
func (r rules) log() Chain {
	seen := "--match-set " + r.family.seen + " dst,dst"
	return Chain{ChainLog, []Rule{
		{fmt.Sprintf("-m set %s -j NFLOG --nflog-group %d", seen, LogRepeat), "repeats are counted only, and may get lost in a flood"},
		{fmt.Sprintf("-m set ! %s -j NFLOG --nflog-group %d", seen, LogFirst), "a destination's first"},
		{"-j SET --add-set " + r.family.seen + " dst,dst", ""},
	}}
}

// pass reports connections and lets them out, with a listener or without.
func (r rules) pass() Chain {
	var report []Rule
	if r.facts.NFLOG {
		report = []Rule{
			{fmt.Sprintf("-m set ! --match-set %s dst,dst -j NFLOG --nflog-group %d", r.family.passed, LogPassed),
				"a destination's first in a minute"},
			{"-j SET --add-set " + r.family.passed + " dst,dst", ""},
		}
	}
	return Chain{ChainPass, append(report, Rule{"-j ACCEPT", "mode audit"})}
}

// group is rules with one comment for all of them.
func group(why string, specs ...string) []Rule {
	rules := make([]Rule, len(specs))
	for i, spec := range specs {
		rules[i].Spec = spec
	}
	if len(rules) > 0 {
		rules[0].Why = why
	}
	return rules
}

// refused is a match as the rule that refuses what it matches.
func refused(match string) string { return match + " -j " + ChainRefuse }

func (r rules) out() []Rule {
	var out []Rule
	if r.facts.Headers {
		out = group("a header could route the packet on from an allowed address, which takes no privilege over IPv6", refused(r.family.headers))
	}
	for _, u := range r.upstreams() {
		out = append(out, r.upstream(u)...)
	}
	out = append(out, group("loopback; a query that was led to the resolver still has the old interface here,"+
		" so its new address is matched as well", fmt.Sprintf("-d %s -j ACCEPT", r.family.loopback), "-o lo -j ACCEPT")...)
	if r.family.ipv6 {
		var kernelOnly string
		for _, users := range r.users(0) {
			kernelOnly += "-m owner ! --uid-owner " + users + " "
		}
		out = append(out, r.neighbours(kernelOnly)...)
	}
	for _, match := range r.engineQueries() {
		out = append(out, Rule{match + " -j ACCEPT", "what the engine's resolver asks outside"})
	}
	out = append(out, refusePort(53, "DNS that the nat table did not lead away, such as a flow older than the rules")...)
	out = append(out, refusePort(853, "DNS over TLS and over QUIC")...)
	if r.policy.Resolves() {
		out = append(out, r.denyNetworks()...)
	}
	out = append(out, Rule{"-m conntrack --ctstate ESTABLISHED -j ACCEPT", "connections that were allowed when they began, and replies"})
	if r.policy.Resolves() {
		accept := "ACCEPT"
		if r.policy.mode == ModeAudit {
			accept = ChainPass
		}
		inSet := func(set string) string {
			return fmt.Sprintf("-m set --match-set %s dst,dst -m conntrack --ctstate NEW -j %s", set, accept)
		}
		static := Rule{inSet(r.family.static), "address entries"}
		if r.policy.GuardsAddresses() {
			out = append(append(out, r.webForGuardOnly()...), static)
		} else {
			out = append(append(out, static), r.webForGuardOnly()...)
		}
		out = append(out, Rule{inSet(r.family.learned), "addresses that the resolver gave out for allowed names"})
	}
	if r.policy.mode == ModeAudit {
		out = append(out, r.internet()...)
	}
	return append(out, Rule{"-j " + ChainRefuse, "everything else"}, drop("what closed everything at the start; nothing comes here"))
}

// refusePort closes a port of UDP and TCP.
func refusePort(port int, why string) []Rule {
	var specs []string
	for _, proto := range []Proto{UDP, TCP} {
		specs = append(specs, refused(fmt.Sprintf("-p %s -m %s --dport %d", proto, proto, port)))
	}
	return group(why, specs...)
}

// internet lets out what is not special and not around the machine, TCP and UDP
// only.
func (r rules) internet() []Rule {
	var special, around, global []string
	for _, p := range notInternet(r.family.ipv6) {
		special = append(special, refused("-d "+p.String()))
	}
	for _, p := range r.facts.Around {
		if r.family.owns(p) && p.Bits() > 0 {
			around = append(around, refused("-d "+p.Masked().String()))
		}
	}
	for _, proto := range []Proto{UDP, TCP} {
		global = append(global, fmt.Sprintf("-p %s -m conntrack --ctstate NEW -j %s", proto, ChainPass))
	}
	return slices.Concat(group("what is not the internet", special...),
		group("the machine's own networks and gateways", around...), group("the internet", global...))
}

// webForGuardOnly lets the guard reach the addresses that it guards, and closes the
// guarded ports to everybody else, but for mode audit. The nat table has led such
// connections away already; this holds for the packet that found the address not yet
// learned there and learned here, and for a flow that is older than the rules.
func (r rules) webForGuardOnly() []Rule {
	var specs []string
	for _, p := range r.policy.guardedPorts() {
		match := fmt.Sprintf("-p %s -m %s --dport %d", p.Proto, p.Proto, p.Number)
		for _, set := range r.guardedSets() {
			specs = append(specs, fmt.Sprintf("%s -m set --match-set %s dst,dst %s -m conntrack --ctstate NEW -j ACCEPT", match, set, r.daemon()))
		}
		if r.policy.mode != ModeAudit {
			specs = append(specs, refused(match))
		}
	}
	return group("the web's ports at learned addresses, for the guard alone", specs...)
}

// guardedSets are the addresses at which the guard asks connections for their site.
func (r rules) guardedSets() []string {
	if r.policy.GuardsAddresses() {
		return []string{r.family.static, r.family.learned}
	}
	return []string{r.family.learned}
}

// upstream lets the resolver, known by its mark and its user, reach one
// upstream, and closes a loopback upstream to everybody else.
//
// An engine's resolver (127.0.0.11) answers on a port that is not known
// beforehand, the engine's nat rules lead port 53 there, and it asks the outside
// for every program that reaches it: open loopback would be a tunnel. So the
// whole address is closed. Of 127.0.0.1 and ::1, which all programs use, only
// port 53 is closed.
//
// A program must not speak in such a resolver's place either. Every program may
// bind every loopback address, and port 53 too where an engine has lifted the
// limit, as Docker does. If it sent a packet from there to each port of our
// resolver, the kernel would take our next question for the reply to that packet:
// the question would reach the program instead of the engine's resolver, and the
// program would say where allowed names lead.
func (r rules) upstream(u netip.Addr) []Rule {
	address := netip.PrefixFrom(u, u.BitLen()).String()
	switch {
	case r.policy.mode == ModeNone && hidden(u):
		return group("a resolver of the surroundings on loopback", refused("-d "+address))
	case r.policy.mode == ModeNone:
		return nil // there is no resolver to let through
	case hidden(u):
		from := []string{refused("-s " + address + " -m conntrack --ctstate NEW")}
		for _, users := range r.users(1) {
			from = append(from, refused("-s "+address+" -m owner --uid-owner "+users))
		}
		return append(group("an upstream on loopback: its real port is unknown, so the address belongs to the resolver alone",
			"-d "+address+" "+r.daemon()+" -j ACCEPT", refused("-d "+address)),
			group("no program speaks in its place: it begins nothing, and it is of no user", from...)...)
	}
	var accept, refuse []string
	for _, proto := range []Proto{UDP, TCP} {
		match := fmt.Sprintf("-d %s -p %s -m %s --dport 53", address, proto, proto)
		accept = append(accept, match+" "+r.daemon()+" -j ACCEPT")
		if u.IsLoopback() {
			refuse = append(refuse, refused(match))
		}
	}
	return group("an upstream, for the resolver alone", append(accept, refuse...)...)
}

// engineResolver is where Docker and its kin put their resolver in containers
// on networks of their own. It is closed even when it is not configured.
var engineResolver = netip.AddrFrom4([4]byte{127, 0, 0, 11})

// upstreams returns the family's upstreams, without repetitions.
func (r rules) upstreams() []netip.Addr {
	var own []netip.Addr
	seen := map[netip.Addr]bool{}
	for _, u := range append(slices.Clone(r.facts.Upstreams), engineResolver) {
		u = u.Unmap().WithZone("")
		if u.Is6() == r.family.ipv6 && !seen[u] {
			seen[u] = true
			own = append(own, u)
		}
	}
	return own
}

func (r rules) daemon() string {
	return fmt.Sprintf("-m mark --mark 0x%x -m owner --uid-owner %d", r.facts.Mark, r.facts.DaemonUID)
}

// neighbours lets address resolution pass, without which IPv6 does not work:
// outward only what the kernel itself sends, which no user owns. A program's
// own "solicitation" would be a packet with a free payload to any address.
func (r rules) neighbours(kernelOnly string) []Rule {
	return []Rule{
		{"-p ipv6-icmp -m icmp6 --icmpv6-type 135 " + kernelOnly + "-j ACCEPT", "neighbour solicitation"},
		{"-p ipv6-icmp -m icmp6 --icmpv6-type 136 " + kernelOnly + "-j ACCEPT", "neighbour advertisement"},
	}
}

// users are the ranges of all user ids from first on, as iptables writes them. The kernel
// refuses a rule that names an id that does not exist in the user namespace, and one range
// over several would leave out ids whose own numbers for the kernel lie elsewhere.
func (r rules) users(first uint32) (ranges []string) {
	ids := r.facts.UIDs
	if ids == nil {
		ids = []UIDRange{{0, 4294967294}} // the last number means "no user"
	}
	for _, id := range ids {
		switch from := max(id.First, first); {
		case from < id.Last:
			ranges = append(ranges, fmt.Sprintf("%d-%d", from, id.Last))
		case from == id.Last:
			ranges = append(ranges, fmt.Sprint(from)) // as iptables-save prints a range of one
		}
	}
	return ranges
}

func (r rules) icmpErrors() string {
	if r.family.ipv6 {
		return "-p ipv6-icmp -m conntrack --ctstate RELATED -j ACCEPT"
	}
	return "-p icmp -m conntrack --ctstate RELATED -j ACCEPT"
}

// denyNetworks refuses deny's address entries, also inside tunnels, before anything is let out, so
// that connections to them end as well.
func (r rules) denyNetworks() []Rule {
	var rules []Rule
	for _, e := range r.policy.deny.entries {
		if !e.prefix.IsValid() {
			continue
		}
		networks := []netip.Prefix{e.prefix}
		if r.family.ipv6 && e.prefix.Addr().Is4() {
			networks = disguises(e.prefix)
		}
		for _, network := range networks {
			if !r.family.owns(network) {
				continue
			}
			if e.ports == nil {
				rules = append(rules, Rule{refused("-d " + network.String()), "deny " + e.rule})
			}
			for _, p := range e.ports {
				match := fmt.Sprintf("-d %s -p %s -m %s --dport %d", network, p.Proto, p.Proto, p.Number)
				rules = append(rules, Rule{refused(match), "deny " + e.rule})
			}
		}
	}
	return rules
}

// nat leads every DNS query but the resolver's own to the resolver. Its jump
// is the first of OUTPUT, before an engine's rules for its own resolver. In
// mode none there is no resolver, and the chain is left empty.
func (r rules) nat() Table {
	t := Table{Name: "nat", Chains: []Chain{{Name: ChainDNS}}, Jumps: []Jump{{"OUTPUT", ChainDNS}}}
	if r.policy.mode == ModeNone {
		return t
	}
	redirect := fmt.Sprintf("--dport 53 -j REDIRECT --to-ports %d", r.facts.ResolverPort)
	t.Chains[0].Rules = []Rule{
		{r.daemon() + " -j RETURN", "the resolver's own queries"},
	}
	for _, match := range r.engineQueries() {
		t.Chains[0].Rules = append(t.Chains[0].Rules, Rule{match + " -j RETURN", "what the engine's resolver asks outside"})
	}
	t.Chains[0].Rules = append(t.Chains[0].Rules,
		Rule{"-p udp -m udp " + redirect, "everybody's, whatever server they were sent to"},
		Rule{"-p tcp -m tcp " + redirect, ""})
	if r.policy.Guarded() {
		t.Chains[0].Rules = append(t.Chains[0].Rules, Rule{"-p tcp -j " + ChainGuard, "the daemon's connections have returned above"})
		t.Chains = append(t.Chains, r.web())
	}
	return t
}

// web leads connections that are allowed by name to the guard, and those that are
// allowed by address where a host whose operations are judged could have the address.
// Loopback is no site, even if a name under "private" resolves to it.
func (r rules) web() Chain {
	rules := group("loopback", fmt.Sprintf("-d %s -j RETURN", r.family.loopback), "-o lo -j RETURN")
	if !r.policy.GuardsAddresses() {
		rules = append(rules, Rule{fmt.Sprintf("-m set --match-set %s dst,dst -j RETURN", r.family.static), "address entries"})
	}
	for _, set := range r.guardedSets() {
		var redirects []string
		for _, p := range r.policy.guardedPorts() {
			redirects = append(redirects, fmt.Sprintf("-p %s -m %s --dport %d -m set --match-set %s dst,dst -j REDIRECT --to-ports %d",
				p.Proto, p.Proto, p.Number, set, r.facts.GuardPort))
		}
		why := "addresses that the resolver gave out for allowed names"
		if set == r.family.static {
			why = "address entries: one of them could be a host with judged operations"
		}
		rules = append(rules, group(why, redirects...)...)
	}
	return Chain{ChainGuard, rules}
}

// engineQueries matches what an engine's resolver on loopback asks outside.
// Engines send that from within the container's own namespace, as root and
// without our mark, so that it would be led back to our resolver in a circle.
// There is none where no upstream is such a resolver.
//
// Root in the namespace can thus ask any DNS server. The agent's user is never
// root; and who is root in a single container can change the rules anyway.
func (r rules) engineQueries() []string {
	if r.policy.mode == ModeNone || !slices.ContainsFunc(r.facts.Upstreams, hidden) {
		return nil
	}
	var matches []string
	for _, proto := range []Proto{UDP, TCP} {
		matches = append(matches, fmt.Sprintf("! -d %s -p %s -m %s --dport 53 -m owner --uid-owner %d",
			r.family.loopback, proto, proto, r.facts.DaemonUID))
	}
	return matches
}

// hidden reports whether an upstream is on a loopback address of its own, as
// an engine's resolver is.
func hidden(u netip.Addr) bool {
	u = u.Unmap().WithZone("")
	return u.IsLoopback() && u != netip.AddrFrom4([4]byte{127, 0, 0, 1}) && u != netip.IPv6Loopback()
}
