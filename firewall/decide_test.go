package firewall_test

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/firewall"
)

var decider = firewall.Network{
	Presets: []string{"github"},
	Allow:   []string{"docs.example.com", "*.example.org", "git.example.net:22", "192.0.2.0/24:8443", "db.internal:5432", "10.9.9.9"},
	Deny:    []string{"gist.github.com", "example.net", "*.bad.example.org", "192.0.2.66", "198.51.100.0/24", "docs.example.com:80"},
	Private: []string{"db.internal"},
}

func TestDecideName(t *testing.T) {
	p := policy(t, decider)
	for name, want := range map[string]struct {
		verdict firewall.Verdict
		rule    string
	}{
		"docs.example.com":              {firewall.Allow, "docs.example.com"},
		"DOCS.Example.com.":             {firewall.Allow, "docs.example.com"},
		"x.docs.example.com":            {firewall.Deny, ""},
		"a.example.org":                 {firewall.Allow, "*.example.org"},
		"example.org":                   {firewall.Deny, ""},
		"x.bad.example.org":             {firewall.Deny, "*.bad.example.org"},
		"bad.example.org":               {firewall.Allow, "*.example.org"},
		"gist.github.com":               {firewall.Deny, "gist.github.com"},
		"api.github.com":                {firewall.Allow, "preset:github *.github.com"},
		"example.net":                   {firewall.Deny, "example.net"},
		"evil.com":                      {firewall.Deny, ""},
		"docs.example.com\x00.evil.com": {firewall.Deny, ""},
		"192.0.2.1":                     {firewall.Deny, ""},
		"":                              {firewall.Deny, ""},
	} {
		d := p.DecideName(name)
		if d.Verdict != want.verdict || d.Rule != want.rule || d.Reason == "" {
			t.Errorf("DecideName(%q) = %+v, want %+v", name, d, want)
		}
	}
}

func TestDecide(t *testing.T) {
	p := policy(t, decider)
	for _, tc := range []struct {
		name, addr string
		port       uint16
		proto      firewall.Proto
		want       firewall.Verdict
		reason     string
	}{
		{"docs.example.com", "", 443, firewall.TCP, firewall.Allow, "allowlist"},
		{"docs.example.com", "203.0.113.5", 443, firewall.TCP, firewall.Allow, "allowlist"},
		{"docs.example.com", "203.0.113.5", 443, firewall.UDP, firewall.Deny, "opens 443/tcp there, not 443/udp"},
		{"docs.example.com", "", 80, firewall.TCP, firewall.Deny, "deny list"},
		{"docs.example.com", "10.0.0.5", 443, firewall.TCP, firewall.Deny, "RFC 1918"},
		{"docs.example.com", "198.51.100.5", 443, firewall.TCP, firewall.Deny, "deny list"},
		{"docs.example.com", "64:ff9b::198.51.100.5", 443, firewall.TCP, firewall.Deny, "deny list"},
		{"docs.example.com", "2002:c633:6405::1", 443, firewall.TCP, firewall.Deny, "deny list"},
		{"git.example.net", "", 22, firewall.TCP, firewall.Allow, ""},
		{"git.example.net", "", 443, firewall.TCP, firewall.Deny, "opens 22/tcp there"},
		{"github.com", "", 22, firewall.TCP, firewall.Allow, ""},
		{"api.github.com", "", 22, firewall.TCP, firewall.Deny, "opens 80/tcp, 443/tcp there"},
		{"", "192.0.2.7", 8443, firewall.TCP, firewall.Allow, "by address"},
		{"", "::ffff:192.0.2.7", 8443, firewall.TCP, firewall.Allow, "by address"},
		{"", "192.0.2.7", 443, firewall.TCP, firewall.Deny, "opens 8443/tcp there"},
		{"", "192.0.2.66", 8443, firewall.TCP, firewall.Deny, "deny list"},
		{"", "203.0.113.5", 443, firewall.TCP, firewall.Deny, "no allowlist entry"},
		{"", "", 443, firewall.TCP, firewall.Deny, "neither"},
		{"unlisted.example", "192.0.2.7", 8443, firewall.TCP, firewall.Allow, "by address"},
		{"example.net", "192.0.2.7", 8443, firewall.TCP, firewall.Deny, "deny list"},
		{"db.internal", "10.0.0.5", 5432, firewall.TCP, firewall.Allow, ""},
	} {
		var addr netip.Addr
		if tc.addr != "" {
			addr = netip.MustParseAddr(tc.addr)
		}
		d := p.Decide(tc.name, addr, tc.port, tc.proto)
		if d.Verdict != tc.want || !strings.Contains(d.Reason, tc.reason) {
			t.Errorf("Decide(%q, %q, %d, %s) = %+v, want %s because of %q", tc.name, tc.addr, tc.port, tc.proto, d, tc.want, tc.reason)
		}
	}
}

// An allowed name must not become a way into the sandbox's surroundings, in
// any disguise of their addresses.
func TestRebindingToPrivateAddresses(t *testing.T) {
	p := policy(t, decider)
	for addr, reason := range map[string]string{
		"127.0.0.1": "1122", "127.255.255.254": "loopback", "::1": "4291",
		"10.0.0.1": "1918", "172.16.0.1": "1918", "172.31.255.255": "1918", "192.168.1.1": "1918",
		"100.64.0.1": "6598", "100.127.255.255": "6598",
		"169.254.1.1": "3927", "fe80::1": "link-local",
		"169.254.169.254": "metadata", "fd00:ec2::254": "metadata", "100.100.100.200": "metadata", "168.63.129.16": "metadata",
		"fc00::1": "4193", "fdff::1": "4193", "fec0::1": "3879",
		"224.0.0.251": "5771", "ff02::fb": "multicast", "239.1.1.1": "multicast",
		"0.0.0.0": "1122", "0.1.2.3": "1122", "::": "unspecified",
		"240.0.0.1": "reserved", "255.255.255.255": "broadcast", "192.0.0.8": "6890", "198.18.0.1": "2544", "100::1": "6666",
		"::ffff:10.0.0.1": "IPv6 form", "::ffff:203.0.113.1": "IPv6 form", "::10.0.0.1": "IPv6 form",
		"2002:0a00:0001::1": "6to4", "2002:7f00:1::": "6to4", "2002:a9fe:a9fe::1": "metadata",
		"64:ff9b::10.0.0.1": "NAT64", "64:ff9b::169.254.169.254": "metadata", "64:ff9b:1::1": "8215",
		"2001:0:0a00:1::1": "Teredo", "2001:0:cb00:7101::f5ff:fffe": "Teredo",
	} {
		d := p.DecideAnswer("docs.example.com", netip.MustParseAddr(addr))
		if d.Allowed() || !strings.Contains(d.Reason, reason) {
			t.Errorf("%s: %+v, want a refusal that names %q", addr, d, reason)
		}
	}
	for _, addr := range []string{
		"203.0.113.1", "192.0.2.1", "8.8.8.8", "172.32.0.1", "172.15.0.1", "100.128.0.1", "192.167.0.1", "223.255.255.255",
		"2001:db8::1", "2606:4700::1", "2002:cb00:7101::1", "64:ff9b::203.0.113.1",
	} {
		if d := p.DecideAnswer("docs.example.com", netip.MustParseAddr(addr)); !d.Allowed() {
			t.Errorf("%s: %+v, want allowed", addr, d)
		}
	}
}

func TestPrivateNames(t *testing.T) {
	p := policy(t, decider)
	for addr, want := range map[string]firewall.Verdict{
		"10.0.0.1": firewall.Allow, "127.0.0.1": firewall.Allow, "fd12::1": firewall.Allow, "169.254.1.1": firewall.Allow,
		"64:ff9b::10.0.0.1": firewall.Allow,
		"169.254.169.254":   firewall.Deny, "fd00:ec2::254": firewall.Deny, "224.0.0.1": firewall.Deny, "0.0.0.0": firewall.Deny,
		"::ffff:10.0.0.1": firewall.Deny, "64:ff9b::169.254.169.254": firewall.Deny, "198.51.100.1": firewall.Deny,
	} {
		if d := p.DecideAnswer("db.internal", netip.MustParseAddr(addr)); d.Verdict != want {
			t.Errorf("db.internal at %s: %+v, want %s", addr, d, want)
		}
	}
	// An address entry names the place itself.
	if d := p.DecideAnswer("docs.example.com", netip.MustParseAddr("10.9.9.9")); !d.Allowed() {
		t.Errorf("an address that an entry names: %+v", d)
	}
	metadata := policy(t, firewall.Network{Allow: []string{"docs.example.com", "169.254.169.254:80"}})
	if d := metadata.DecideAnswer("docs.example.com", netip.MustParseAddr("169.254.169.254")); !d.Allowed() {
		t.Errorf("a metadata address that an entry names: %+v", d)
	}
}

func TestDecideAlias(t *testing.T) {
	p := policy(t, decider)
	for _, tc := range []struct {
		name, target string
		want         firewall.Verdict
	}{
		{"docs.example.com", "customer-7.cdn.example", firewall.Allow},
		{"docs.example.com", "GIST.github.com.", firewall.Deny},
		{"docs.example.com", "x.bad.example.org", firewall.Deny},
		{"docs.example.com", "not a name", firewall.Deny},
		{"unlisted.example", "docs.example.com", firewall.Deny},
	} {
		if d := p.DecideAlias(tc.name, tc.target); d.Verdict != tc.want || d.Reason == "" {
			t.Errorf("%s -> %s: %+v, want %s", tc.name, tc.target, d, tc.want)
		}
	}
}

func TestModesDecide(t *testing.T) {
	addr := netip.MustParseAddr("203.0.113.1")
	for mode, want := range map[firewall.Mode]firewall.Verdict{
		firewall.ModeNone: firewall.Deny, firewall.ModeHost: firewall.Allow,
	} {
		p := policy(t, firewall.Network{Mode: mode, Allow: []string{"docs.example.com"}})
		for _, d := range []firewall.Decision{
			p.DecideName("docs.example.com"), p.Decide("docs.example.com", addr, 443, firewall.TCP), p.DecideAnswer("docs.example.com", addr),
			p.DecideAlias("docs.example.com", "x.example"),
		} {
			if d.Verdict != want || !strings.Contains(d.Reason, string(mode)) {
				t.Errorf("mode %s: %+v", mode, d)
			}
		}
		if p.Ports("docs.example.com") != nil {
			t.Errorf("mode %s opens ports", mode)
		}
	}
}

// Mode audit lets out and marks what the allowlist lacks, and refuses what mode
// allowlist refuses for another reason than that.
func TestModeAuditDecides(t *testing.T) {
	n := decider
	n.Mode = firewall.ModeAudit
	p := policy(t, n)
	for _, tc := range []struct {
		name, addr string
		port       uint16
		proto      firewall.Proto
		want       firewall.Verdict
		rule       string
	}{
		{"docs.example.com", "203.0.113.5", 443, firewall.TCP, firewall.Allow, "docs.example.com"},
		{"docs.example.com", "203.0.113.5", 8443, firewall.TCP, firewall.Allow, firewall.RuleUnlisted},
		{"docs.example.com", "203.0.113.5", 80, firewall.TCP, firewall.Deny, "docs.example.com:80"},
		{"evil.example", "203.0.113.5", 443, firewall.UDP, firewall.Allow, firewall.RuleUnlisted},
		{"evil.example", "10.0.0.5", 443, firewall.TCP, firewall.Deny, ""},
		{"evil.example", "169.254.169.254", 80, firewall.TCP, firewall.Deny, ""},
		{"evil.example", "198.51.100.7", 443, firewall.TCP, firewall.Deny, "198.51.100.0/24"},
		{"evil.example", "203.0.113.5", 53, firewall.UDP, firewall.Deny, "resolver"},
		{"gist.github.com", "203.0.113.5", 443, firewall.TCP, firewall.Deny, "gist.github.com"},
		{"db.internal", "10.0.0.5", 5432, firewall.TCP, firewall.Allow, "db.internal:5432"},
		{"", "203.0.113.5", 443, firewall.TCP, firewall.Allow, firewall.RuleUnlisted},
		{"", "203.0.113.5", 853, firewall.TCP, firewall.Deny, "resolver"},
		{"", "192.0.2.7", 8443, firewall.TCP, firewall.Allow, "192.0.2.0/24:8443"},
		{"", "192.0.2.7", 22, firewall.TCP, firewall.Allow, firewall.RuleUnlisted},
		{"", "10.0.0.5", 443, firewall.TCP, firewall.Deny, ""},
		{"", "10.9.9.9", 443, firewall.TCP, firewall.Allow, "10.9.9.9"},
		{"", "10.9.9.9", 22, firewall.TCP, firewall.Deny, ""},
		{"", "::ffff:169.254.169.254", 80, firewall.TCP, firewall.Deny, ""},
		{"", "64:ff9b::10.0.0.1", 80, firewall.TCP, firewall.Deny, ""},
		{"", "2001:0:cb00:7101::1", 80, firewall.TCP, firewall.Deny, ""},
		{"", "198.51.100.7", 443, firewall.TCP, firewall.Deny, "198.51.100.0/24"},
	} {
		var addr netip.Addr
		if tc.addr != "" {
			addr = netip.MustParseAddr(tc.addr)
		}
		if d := p.Decide(tc.name, addr, tc.port, tc.proto); d.Verdict != tc.want || d.Rule != tc.rule || d.Reason == "" {
			t.Errorf("Decide(%q, %q, %d, %s) = %+v, want %s by %q", tc.name, tc.addr, tc.port, tc.proto, d, tc.want, tc.rule)
		}
	}
	for name, want := range map[string]string{"docs.example.com": "docs.example.com", "evil.example": firewall.RuleUnlisted,
		"gist.github.com": "", "x.invalid": ""} {
		d := p.DecideName(name)
		if d.Allowed() != (want != "") || want != "" && d.Rule != want {
			t.Errorf("DecideName(%q) = %+v, want rule %q", name, d, want)
		}
	}
	if d := p.DecideAlias("evil.example", "gist.github.com"); d.Allowed() {
		t.Errorf("an alias of a denied name: %+v", d)
	}
	if d := p.Refused("", netip.MustParseAddr("203.0.113.5"), 443, firewall.TCP); d.Allowed() || d.Rule == "" {
		t.Errorf("what was refused although it is the internet: %+v", d)
	}
}

// The rules close in mode audit exactly what the matcher says is not the
// internet, in both families and in every disguise of an address.
func TestModeAuditAgreesWithItsRules(t *testing.T) {
	p := policy(t, firewall.Network{Mode: firewall.ModeAudit})
	plan, err := firewall.Compile(p, firewall.Facts{IPv6: true, ResolverPort: 1, Mark: 1})
	if err != nil {
		t.Fatal(err)
	}
	closed := func(a netip.Addr) bool {
		tables := plan.V4
		if a.Is6() {
			tables = plan.V6
		}
		for _, rule := range tables[0].Chains[0].Rules {
			text, ok := strings.CutPrefix(rule.Spec, "-d ")
			network, _, _ := strings.Cut(text, " ")
			if ok && strings.HasSuffix(rule.Spec, "-j "+firewall.ChainRefuse) && netip.MustParsePrefix(network).Contains(a) {
				return true
			}
		}
		return false
	}
	check := func(a netip.Addr) {
		t.Helper()
		if a.IsLoopback() || a.Is4In6() {
			return // open by an earlier rule; never on a wire
		}
		if d := p.Decide("", a, 443, firewall.TCP); d.Allowed() == closed(a) {
			t.Errorf("%s: the matcher says %+v, and the rules close it: %v", a, d, closed(a))
		}
	}
	for first := range 256 {
		for _, rest := range [][3]byte{{}, {64, 0, 1}, {100, 100, 200}, {168, 1, 1}, {254, 169, 254}, {16, 0, 0}, {0, 0, 8},
			{18, 5, 5}, {63, 129, 16}} {
			v4 := netip.AddrFrom4([4]byte{byte(first), rest[0], rest[1], rest[2]})
			if v4.IsLoopback() {
				continue
			}
			check(v4)
			inner := v4.As4()
			check(netip.AddrFrom16([16]byte{0, 0x64, 0xff, 0x9b, 12: inner[0], 13: inner[1], 14: inner[2], 15: inner[3]}))
			check(netip.AddrFrom16([16]byte{0x20, 0x02, inner[0], inner[1], inner[2], inner[3], 15: 1}))
			check(netip.AddrFrom16([16]byte{0x20, 0x01, 0, 0, inner[0], inner[1], inner[2], inner[3], 15: 1}))
			check(netip.AddrFrom16([16]byte{byte(first), rest[0], rest[1], rest[2], 15: 1}))
		}
	}
}

// Addresses are looked up by the lengths of the networks in the list. The twin
// tries one entry after the other.
func TestNetworksAgainstNaiveTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func(ipv6 bool) netip.Addr { // few different bits, so that networks overlap
		if ipv6 {
			return netip.AddrFrom16([16]byte{0x2a, 0, byte(r.IntN(3)), 15: byte(r.IntN(3))})
		}
		return netip.AddrFrom4([4]byte{93, byte(r.IntN(3)), byte(r.IntN(3)), byte(r.IntN(3))})
	}
	for range 200 {
		n := firewall.Network{}
		var networks []netip.Prefix
		for range 8 {
			addr := random(r.IntN(2) == 0)
			p := netip.PrefixFrom(addr, addr.BitLen()-r.IntN(20)).Masked()
			entry := p.String() + ":8443"
			if p.Addr().Is6() {
				entry = "[" + p.String() + "]:8443"
			}
			networks = append(networks, p)
			n.Allow = append(n.Allow, entry)
		}
		policy, errs := firewall.NewPolicy(n)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		for range 50 {
			addr := random(r.IntN(2) == 0)
			i := slices.IndexFunc(networks, func(p netip.Prefix) bool { return p.Contains(addr) })
			d := policy.Decide("", addr, 8443, firewall.TCP)
			if d.Allowed() != (i >= 0) || i >= 0 && d.Rule != n.Allow[i] {
				t.Fatalf("%s in %q: %+v", addr, n.Allow, d)
			}
		}
	}
}
