package firewall_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/firewall"
)

func FuzzCanonicalName(f *testing.F) {
	for _, seed := range []string{
		"docs.example.com", "DOCS.Example.COM.", "bücher.example", "xn--bcher-kva.example", "a。b．c｡d", "ＦＵＬＬ.example", "_dmarc.example.com",
		"r3---sn-x.example.com", "straße.example", "ß.example", "xn--", "xn--a", "127.1", "0x7f.1", "1.2.3.4", "::1",
		"a\x00b", "..", "-a.b", "a-.b",
		"\u0130.example", "\u200d.example", "א.example", strings.Repeat("a.", 126) + "a", strings.Repeat("a", 64), "１２７.1",
		"a.0x", "xn--0x-foo.1", "\xbc",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		name, err := firewall.CanonicalName(s)
		if err != nil {
			if name != "" {
				t.Errorf("CanonicalName(%q) = %q with error %v", s, name, err)
			}
			return
		}
		again, err := firewall.CanonicalName(name)
		if err != nil || again != name {
			t.Errorf("CanonicalName(%q) = %q, and of that %q, %v", s, name, again, err)
		}
		if len(name) > 253 || strings.ToLower(name) != name || strings.HasSuffix(name, ".") || strings.Contains(name, "..") {
			t.Errorf("CanonicalName(%q) = %q", s, name)
		}
		if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" {
			t.Errorf("CanonicalName(%q) = %q has a foreign character", s, name)
		}
		if _, err := netip.ParseAddr(name); err == nil {
			t.Errorf("CanonicalName(%q) = %q is an address", s, name)
		}
	})
}

// naive decides as the documentation says, entry by entry, with no index.
func naive(n firewall.Network, name string, port uint16) bool {
	canonical, err := firewall.CanonicalName(name)
	if err != nil {
		return false
	}
	matches := func(entry string) (ports []uint16, ok bool) {
		host, portText, hasPort := strings.Cut(entry, ":")
		if hasPort {
			var n uint16
			for _, digit := range portText {
				n = n*10 + uint16(digit-'0')
			}
			ports = []uint16{n}
		}
		if below, wildcard := strings.CutPrefix(host, "*."); wildcard {
			return ports, strings.HasSuffix(canonical, "."+below)
		}
		return ports, canonical == host
	}
	for _, entry := range n.Deny {
		if ports, ok := matches(entry); ok && (ports == nil || slices.Contains(ports, port)) {
			return false
		}
	}
	for _, entry := range n.Allow {
		ports, ok := matches(entry)
		if ports == nil {
			ports = []uint16{80, 443}
		}
		if ok && slices.Contains(ports, port) {
			return true
		}
	}
	return false
}

func FuzzMatcherAgainstNaiveTwin(f *testing.F) {
	f.Add("a.example.org *.example.org b.c:22", "*.bad.example.org example.org", "x.bad.example.org", uint16(443))
	f.Add("*.a.b *.b.b a.b:1", "a.a.b:443", "A.a.b.", uint16(443))
	f.Add("*.a.a", "", "a.a.a.a", uint16(80))
	f.Fuzz(func(t *testing.T, allow, deny, name string, port uint16) {
		n := firewall.Network{Allow: plain(allow), Deny: plain(deny)}
		p, errs := firewall.NewPolicy(n)
		if errs != nil {
			t.Skip()
		}
		want := naive(n, name, port)
		got := p.Decide(name, netip.Addr{}, port, firewall.TCP)
		if got.Allowed() != want {
			t.Errorf("allow %q deny %q: %q port %d is %+v, and the twin says %v", n.Allow, n.Deny, name, port, got, want)
		}
		open := slices.Contains(p.Ports(name), firewall.Port{Number: port, Proto: firewall.TCP})
		if open != want {
			t.Errorf("allow %q deny %q: Ports(%q) = %v, and the twin says %v for %d", n.Allow, n.Deny, name, p.Ports(name), want, port)
		}
		if want && !p.DecideName(name).Allowed() {
			t.Errorf("allow %q deny %q: %q is open on %d and may not be resolved", n.Allow, n.Deny, name, port)
		}
		if p.DecideName(name).Allowed() != (len(p.Ports(name)) > 0) {
			t.Errorf("allow %q deny %q: %q: DecideName %v, Ports %v", n.Allow, n.Deny, name, p.DecideName(name), p.Ports(name))
		}
		if wider := p.Wider(p); wider != nil {
			t.Errorf("allow %q deny %q is wider than itself by %q", n.Allow, n.Deny, wider)
		}
	})
}

// plain splits fuzzed text into entries that the twin understands: canonical
// names with an optional decimal port.
func plain(text string) []string {
	var entries []string
	for entry := range strings.FieldsSeq(text) {
		host, port, hasPort := strings.Cut(entry, ":")
		name, err := firewall.CanonicalName(strings.TrimPrefix(host, "*."))
		if err != nil || hasPort && (port == "" || len(port) > 4 || port[0] == '0' || strings.Trim(port, "0123456789") != "") {
			continue
		}
		if strings.HasPrefix(host, "*.") {
			name = "*." + name
		}
		if hasPort {
			name += ":" + port
		}
		entries = append(entries, name)
	}
	return entries
}

func FuzzEntryIsNeverWiderThanItReads(f *testing.F) {
	for _, seed := range []string{"*.example.org", "docs.example.com:22/udp", "192.0.2.0/24:8443", "[2001:db8::/32]:1",
		"https://x/y", "*", "0.0.0.0/0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, errs := firewall.NewPolicy(firewall.Network{Allow: []string{text}})
		if (p == nil) == (errs == nil) {
			t.Fatalf("%q: policy %v, errors %v", text, p, errs)
		}
		if errs != nil {
			return
		}
		// No single entry opens names or addresses that have nothing to do with it.
		for _, name := range []string{"zzz.unrelated-zzz.net", "unrelated-zzz.org"} {
			if strings.Contains(strings.ToLower(text), "zzz") {
				continue
			}
			if d := p.DecideName(name); d.Allowed() {
				t.Errorf("%q allows %s: %+v", text, name, d)
			}
		}
		for _, port := range []uint16{53, 853} {
			if d := p.Decide("", netip.MustParseAddr("8.8.8.8"), port, firewall.UDP); d.Allowed() {
				t.Errorf("%q allows port %d: %+v", text, port, d)
			}
		}
	})
}

// Mode audit never refuses what mode allowlist lets out, never lets out what is
// denied or not the internet, and marks exactly what the list lacks.
func FuzzAuditAgainstAllowlist(f *testing.F) {
	f.Add("a.example.org *.example.org 192.0.2.0/24:8443 10.0.0.0/8", "*.bad.example.org 203.0.113.0/24", "x.bad.example.org",
		[]byte{203, 0, 113, 7}, uint16(443), true)
	f.Add("", "", "", []byte{169, 254, 169, 254}, uint16(80), false)
	f.Add("", "198.51.100.0/24", "", []byte{0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, 198, 51, 100, 1}, uint16(80), false)
	f.Fuzz(func(t *testing.T, allow, deny, name string, raw []byte, port uint16, udp bool) {
		n := firewall.Network{Allow: strings.Fields(allow), Deny: strings.Fields(deny)}
		list, errs := firewall.NewPolicy(n)
		addr, _ := netip.AddrFromSlice(raw)
		if errs != nil || addr.Is4In6() {
			return
		}
		n.Mode = firewall.ModeAudit
		audit, errs := firewall.NewPolicy(n)
		if errs != nil {
			t.Fatal(errs)
		}
		proto := firewall.TCP
		if udp {
			proto = firewall.UDP
		}
		a, b := audit.Decide(name, addr, port, proto), list.Decide(name, addr, port, proto)
		switch {
		case b.Allowed() && (!a.Allowed() || a.Rule != b.Rule):
			t.Errorf("the list says %+v and audit %+v", b, a)
		case a.Allowed() && !b.Allowed() && a.Rule != firewall.RuleUnlisted:
			t.Errorf("only audit lets it out, by %+v; the list says %+v", a, b)
		case a.Allowed() && strings.Contains(b.Reason, "deny list"):
			t.Errorf("audit lets out what is denied: %+v", a)
		case a.Allowed() && !b.Allowed() && addr.IsValid() &&
			(addr.IsPrivate() || addr.IsLinkLocalUnicast() || addr.IsMulticast() || addr.IsUnspecified() || addr.IsLoopback()):
			t.Errorf("audit opens %s: %+v", addr, a)
		case a.Allowed() && (port == 53 || port == 853):
			t.Errorf("audit opens port %d: %+v", port, a)
		}
	})
}

// A typed entry opens hosts on the judged port alone, covers itself, and is wider than
// a policy without it.
func FuzzTypedEntries(f *testing.F) {
	for _, seed := range []string{"https://api.example.com GET,HEAD /v1/**", "git:github.com/acme/app push refs/heads/agent/*", "npm:read",
		"oci:ghcr.io/acme read",
		"https://*.example.org POST /a/* /b", "git:git.example.com/a/b/c lfs push"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, errs := firewall.NewPolicy(firewall.Network{Allow: []string{text}})
		if errs != nil || p.Operations() == nil {
			return
		}
		hosts := p.Operations().Hosts()
		if len(hosts) == 0 || !p.Operations().Covers(text) {
			t.Errorf("%q: hosts %v, covers itself %v", text, hosts, p.Operations().Covers(text))
		}
		for _, h := range hosts {
			name := h.Name
			if h.Wildcard {
				name = "x." + name
			}
			for _, port := range []uint16{22, 80, 443, 8443} {
				if d := p.Decide(name, netip.Addr{}, port, firewall.TCP); d.Allowed() != (port == 443) {
					t.Errorf("%q: port %d of %s: %+v", text, port, name, d)
				}
			}
			if !p.Operations().Opens(name, 443) {
				t.Errorf("%q: %s is allowed, and its TLS stays sealed", text, name)
			}
			if _, bad := p.With(firewall.Network{Allow: []string{name}}); bad == nil {
				t.Errorf("%q: %s may be opened whole", text, name)
			}
		}
		if p.Wider(p) != nil || p.Wider(firewall.Closed()) == nil {
			t.Errorf("%q: wider than itself %q, than nothing %q", text, p.Wider(p), p.Wider(firewall.Closed()))
		}
	})
}
