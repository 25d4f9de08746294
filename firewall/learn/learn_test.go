package learn

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
)

// The records of mode audit, as the resolver and the packet filter write them.
func looked(name string) audit.Record {
	return audit.Record{Verdict: firewall.Allow, Layer: audit.LayerDNS, Name: name, Rule: firewall.RuleUnlisted}
}

func passed(name, dst string, port uint16, proto firewall.Proto) audit.Record {
	return audit.Record{Verdict: firewall.Allow, Layer: audit.LayerIP, Name: name, Dst: dst, Port: port, Proto: proto,
		Rule: firewall.RuleUnlisted}
}

// web is a lookup and a connection.
func web(names ...string) []audit.Record {
	var records []audit.Record
	for _, name := range names {
		records = append(records, looked(name), passed(name, "203.0.113.7", 443, firewall.TCP))
	}
	return records
}

func learned(t *testing.T, records []audit.Record, n firewall.Network, o Options) *Lesson {
	t.Helper()
	p, bad := firewall.NewPolicy(n)
	if bad != nil {
		t.Fatal(bad)
	}
	return New(records, p, o)
}

func (l *Lesson) String() string {
	var out []string
	for _, p := range l.Add {
		out = append(out, p.List+" "+p.Entry)
	}
	for _, h := range l.Left {
		out = append(out, "left "+h.Host)
	}
	return strings.Join(out, ", ")
}

func TestLessonIsTheSmallest(t *testing.T) {
	refusal := func(layer audit.Layer, name, dst string, port uint16, rule string) audit.Record {
		return audit.Record{Verdict: firewall.Deny, Layer: layer, Name: name, Dst: dst, Port: port, Proto: firewall.TCP, Rule: rule}
	}
	many := func(format string, n int) (records []audit.Record) {
		for i := range n {
			records = append(records, looked(fmt.Sprintf(format, i)))
		}
		return records
	}
	var ports []audit.Record
	for port := range 30 {
		ports = append(ports, passed("", "203.0.113.7", 1000+uint16(port), firewall.TCP))
	}
	long := strings.Repeat("a1b2", 11) + ".example.org"
	tests := []struct {
		name    string
		records []audit.Record
		network firewall.Network
		options Options
		want    string
	}{
		{"nothing", nil, firewall.Network{}, Options{}, ""},
		{"one port", web("x.example"), firewall.Network{}, Options{}, "allow x.example:443"},
		{"both web ports", append(web("x.example"), passed("x.example", "203.0.113.8", 80, firewall.TCP)), firewall.Network{},
			Options{}, "allow x.example"},
		{"only a lookup, since an address may be several names'", []audit.Record{looked("x.example")}, firewall.Network{},
			Options{}, "allow x.example"},
		{"other ports",
			[]audit.Record{passed("x.example", "203.0.113.7", 22, firewall.TCP), passed("x.example", "203.0.113.7", 443, firewall.UDP)},
			firewall.Network{}, Options{}, "allow x.example:22, allow x.example:443/udp"},
		{"an address", []audit.Record{passed("", "203.0.113.7", 443, firewall.TCP), passed("", "2001:db8::1", 22, firewall.TCP)},
			firewall.Network{}, Options{}, "allow 203.0.113.7:443, allow [2001:db8::1]:22"},
		{"what the policy opens", append(web("x.example", "api.github.com"), passed("", "203.0.113.7", 22, firewall.TCP)),
			firewall.Network{Mode: firewall.ModeAudit, Allow: []string{"x.example", "203.0.113.0/24:22"}, Presets: []string{"github"}},
			Options{}, ""},
		{"another port of what the policy opens", []audit.Record{looked("x.example"), passed("x.example", "203.0.113.7", 22, firewall.TCP)},
			firewall.Network{Allow: []string{"x.example"}}, Options{}, "allow x.example:22"},
		{"a name whose address the policy opens", web("x.example"), firewall.Network{Allow: []string{"203.0.113.7:443"}},
			Options{}, "allow x.example"},
		{"mixed case and dots", web("X.Example."), firewall.Network{}, Options{}, "allow x.example:443"},
		{"noise", []audit.Record{
			{Verdict: firewall.Allow, Layer: audit.LayerDNS, Name: "x.example.corp.lan", Rule: audit.SearchRule + "corp.lan"},
			{Verdict: firewall.Allow, Layer: audit.LayerDNS, Name: "typo.example", Rule: audit.RuleAbsent},
			looked("7.113.0.203.in-addr.arpa"), looked("not a name"),
			{Verdict: firewall.Deny, Layer: audit.LayerLog, Name: audit.LostRecords},
		}, firewall.Network{}, Options{}, ""},
		{"what deny has", append(web("x.evil.example"), passed("", "203.0.113.9", 22, firewall.TCP)),
			firewall.Network{Deny: []string{"*.evil.example", "203.0.113.9"}}, Options{Denied: true}, "left 203.0.113.9, left x.evil.example"},
		{"DNS past the resolver", []audit.Record{passed("x.example", "203.0.113.7", 853, firewall.TCP)}, firewall.Network{},
			Options{}, "left x.example:853"},

		{"what was refused", []audit.Record{refusal(audit.LayerDNS, "x.example", "", 0, "")}, firewall.Network{}, Options{}, ""},
		{"what was refused, on demand",
			[]audit.Record{refusal(audit.LayerDNS, "x.example", "", 0, ""), refusal(audit.LayerIP, "", "203.0.113.7", 22, "")}, firewall.Network{},
			Options{Denied: true}, "allow 203.0.113.7:22, allow x.example"},
		{"what an entry refused", []audit.Record{refusal(audit.LayerSNI, "x.example", "203.0.113.7", 443, "guard: sni")}, firewall.Network{},
			Options{Denied: true}, ""},
		{"metadata",
			[]audit.Record{refusal(audit.LayerIP, "", "169.254.169.254", 80, "no special address"),
				refusal(audit.LayerDNS, "m.example", "169.254.169.254", 0, ""), refusal(audit.LayerIP, "", "169.254.169.254", 80, "")},
			firewall.Network{}, Options{Denied: true, Private: true}, ""},
		{"metadata with a private address",
			[]audit.Record{refusal(audit.LayerDNS, "m.example", "fd00:ec2::254", 0, ""), refusal(audit.LayerIP, "", "fd00:ec2::254", 80, "")},
			firewall.Network{}, Options{Denied: true, Private: true}, ""},
		{"metadata by its name",
			append(web("metadata.google.internal", "a.metadata.goog", "metadata.google.internal.example"), looked("instance-data")),
			firewall.Network{}, Options{Presets: true, Wildcards: true, Denied: true, Private: true, Data: true},
			"allow metadata.google.internal.example:443, left a.metadata.goog, left instance-data, left metadata.google.internal"},
		{"metadata by a name that was refused", []audit.Record{refusal(audit.LayerDNS, "metadata.google.internal", "", 0, "")},
			firewall.Network{}, Options{Denied: true}, "left metadata.google.internal"},
		{"metadata by its name, where the policy has it", web("metadata.google.internal"),
			firewall.Network{Allow: []string{"metadata.google.internal"}}, Options{}, ""},
		{"a private address", []audit.Record{refusal(audit.LayerIP, "", "10.0.0.5", 5432, "")}, firewall.Network{}, Options{Denied: true}, ""},
		{"a private address, on demand", []audit.Record{refusal(audit.LayerIP, "", "10.0.0.5", 5432, "")}, firewall.Network{},
			Options{Denied: true, Private: true}, "allow 10.0.0.5:5432"},
		{"a private name", []audit.Record{refusal(audit.LayerDNS, "db.internal", "10.0.0.5", 0, "")}, firewall.Network{},
			Options{Denied: true}, ""},
		{"a private name, on demand", []audit.Record{refusal(audit.LayerDNS, "db.internal", "10.0.0.5", 0, "")}, firewall.Network{},
			Options{Private: true}, "allow db.internal, private db.internal"},
		{"a listed private name, on demand", []audit.Record{refusal(audit.LayerDNS, "db.internal", "10.0.0.5", 0, "db.internal:5432")},
			firewall.Network{Allow: []string{"db.internal:5432"}}, Options{Private: true}, "private db.internal"},

		{"a long name", web(long), firewall.Network{}, Options{}, "left " + long},
		{"a long name, on demand", web(long), firewall.Network{}, Options{Data: true}, "allow " + long + ":443"},
		{"fifty short names", many("n%d.example.org", 50), firewall.Network{}, Options{Wildcards: true}, "allow *.example.org"},
		{"a search for open ports", ports, firewall.Network{}, Options{}, "left 203.0.113.7"},

		{"names below one domain", web("a.x.example.org", "b.x.example.org", "c.x.example.org"), firewall.Network{}, Options{},
			"allow a.x.example.org:443, allow b.x.example.org:443, allow c.x.example.org:443"},
		{"a wildcard, on demand", web("a.x.example.org", "b.x.example.org", "d.c.x.example.org"), firewall.Network{}, Options{Wildcards: true},
			"allow *.x.example.org:443"},
		{"a wildcard for what is below only", web("example.org", "a.example.org", "b.example.org", "c.example.org"), firewall.Network{},
			Options{Wildcards: true}, "allow *.example.org:443, allow example.org:443"},
		{"no wildcard for two", web("a.example.org", "b.example.org"), firewall.Network{}, Options{Wildcards: true},
			"allow a.example.org:443, allow b.example.org:443"},
		{"no wildcard over a registry", web("a.co.uk", "b.co.uk", "c.co.uk"), firewall.Network{}, Options{Wildcards: true},
			"allow a.co.uk:443, allow b.co.uk:443, allow c.co.uk:443"},
		{"no wildcard over everybody's storage", web("a.github.io", "b.github.io", "c.github.io"), firewall.Network{}, Options{Wildcards: true},
			"allow a.github.io:443, allow b.github.io:443, allow c.github.io:443"},
		{"a preset, on demand", web("github.com", "api.github.com", "x.example"), firewall.Network{}, Options{Presets: true},
			"presets github, allow x.example:443"},
		{"no preset for one", web("api.github.com"), firewall.Network{}, Options{Presets: true}, "allow api.github.com:443"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := learned(t, tt.records, tt.network, tt.options).String(); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
	t.Run("addresses in great number", func(t *testing.T) {
		var records []audit.Record
		for i := range 150 {
			records = append(records, audit.Record{Verdict: firewall.Allow, Layer: audit.LayerIP, Dst: fmt.Sprintf("203.0.113.%d", i), Port: 443,
				Proto: firewall.TCP, Rule: firewall.RuleUnlisted})
		}
		if l := learned(t, records, firewall.Network{}, Options{}); len(l.Add) > 0 || len(l.Left) != 150 {
			t.Errorf("%d proposals, %d left out", len(l.Add), len(l.Left))
		}
		if l := learned(t, records[:100], firewall.Network{}, Options{}); len(l.Add) != 100 {
			t.Errorf("%d proposals", len(l.Add))
		}
	})
	t.Run("names in great number", func(t *testing.T) {
		if l := learned(t, many("n%d.example.org", 200), firewall.Network{}, Options{Wildcards: true}); len(l.Add) > 0 || len(l.Left) != 200 {
			t.Errorf("%d proposals, %d left out", len(l.Add), len(l.Left))
		}
	})
}

// For any audit the learned policy allows what was seen, exactly: not another
// port, not a sibling, not the parent, and it has nothing left to learn.
func TestLearnedPolicyAllowsWhatWasSeenAndNoMore(t *testing.T) {
	const cases = 2000
	label := []string{"a", "b", "api", "www", "git", "x-1", "_srv"}
	domain := []string{"example.org", "example.com", "shop.example.co.uk", "site.github.io", "host.internal"}
	ports := []firewall.Port{{Number: 80, Proto: firewall.TCP}, {Number: 443, Proto: firewall.TCP}, {Number: 22, Proto: firewall.TCP},
		{Number: 443, Proto: firewall.UDP}, {Number: 8443, Proto: firewall.TCP}}
	for seed := range uint64(cases) {
		r := rand.New(rand.NewPCG(seed, 1))
		pick := func(of []string) string { return of[r.IntN(len(of))] }
		name := func() string {
			n := pick(domain)
			for range r.IntN(3) {
				n = pick(label) + "." + n
			}
			return n
		}
		network := firewall.Network{Mode: firewall.ModeAudit}
		for range r.IntN(3) {
			network.Allow = append(network.Allow, name())
		}
		if r.IntN(4) == 0 {
			network.Deny = []string{"*.example.com"}
		}
		before, errs := firewall.NewPolicy(firewall.Network{Allow: network.Allow, Deny: network.Deny})
		if errs != nil {
			t.Fatal(errs)
		}
		type dest struct {
			name string
			addr netip.Addr
			port firewall.Port
		}
		var records []audit.Record
		seen := map[dest]bool{}
		bare := map[string]bool{} // only looked up, as far as anybody knows
		used := map[string]bool{}
		for range r.IntN(12) {
			n, p := name(), ports[r.IntN(len(ports))]
			addr := netip.AddrFrom4([4]byte{203, 0, 113, byte(r.IntN(4))})
			switch r.IntN(4) {
			case 0:
				bare[n] = true
				records = append(records, looked(n))
			case 1:
				seen[dest{addr: addr, port: p}] = true
				records = append(records, passed("", addr.String(), p.Number, p.Proto))
			default:
				seen[dest{name: n, port: p}] = true
				used[n] = true
				records = append(records, looked(n), passed(n, addr.String(), p.Number, p.Proto))
			}
		}
		l := learned(t, records, network, Options{})
		network.Mode = firewall.ModeAllowlist
		after, errs := firewall.NewPolicy(l.Network(network))
		if errs != nil {
			t.Fatalf("seed %d: %v", seed, errs)
		}
		left := func(n string) bool {
			return slices.ContainsFunc(l.Left, func(h LeftOut) bool { return h.Host == n })
		}
		check := func(d dest, want bool) {
			got := after.Decide(d.name, d.addr, d.port.Number, d.port.Proto)
			if got.Allowed() != want {
				t.Fatalf("seed %d: %v: %+v, want allowed %v\nrecords %+v\nlesson %v", seed, d, got, want, records, l)
			}
		}
		for d := range seen {
			host := d.name
			if host == "" {
				host = d.addr.String()
			}
			check(d, !left(host))
		}
		for n := range bare {
			if got := after.DecideName(n); got.Allowed() == left(n) {
				t.Fatalf("seed %d: the name %s: %+v", seed, n, got)
			}
		}
		// A name without a request stays as it was.
		for _, dom := range domain {
			for _, n := range []string{dom, "unseen." + dom, "a.unseen." + dom, "a." + dom, "api.www." + dom, "z.git." + dom} {
				for _, p := range ports {
					webPort := p.Proto == firewall.TCP && (p.Number == 80 || p.Number == 443)
					if seen[dest{name: n, port: p}] || bare[n] && !used[n] && webPort {
						continue
					}
					check(dest{name: n, port: p}, before.Decide(n, netip.Addr{}, p.Number, p.Proto).Allowed())
				}
			}
		}
		for last := range byte(8) {
			for _, p := range ports {
				d := dest{addr: netip.AddrFrom4([4]byte{203, 0, 113, last}), port: p}
				if !seen[d] {
					check(d, false)
				}
			}
		}
		if again := learned(t, records, l.Network(network), Options{}); len(again.Add) > 0 {
			t.Fatalf("seed %d: learned again: %v", seed, again)
		}
	}
}

// Attack: names that the agent asked for draw on the screen, or are so many that they
// push the proposal away.
func TestAttackTheNotesAreDrawnOver(t *testing.T) {
	l := &Lesson{Refused: 2}
	for i := range 1000 {
		l.Left = append(l.Left, LeftOut{Host: fmt.Sprintf("h%d\x1b[2J\u202e.example", i), Why: "it looks\nlike data"})
	}
	l.Add = []Proposal{{List: "allow", Entry: "a.example"}, {List: "private", Entry: "db.internal", Note: "it may be private"}}
	notes := l.Notes()
	if all := strings.Join(notes, "|"); strings.ContainsAny(all, "\x1b\n\u202e") || len(notes) > 30 ||
		!strings.HasSuffix(all, "left out: 980 more|left out: refused destinations; --include denied proposes 2 more") {
		t.Errorf("%d notes: %s", len(notes), all)
	}
	if flags := l.Flags(); flags != "--allow 'a.example' --private 'db.internal'" {
		t.Error(flags)
	}
	if hosts, others := l.Hosts(); len(hosts) != 1 || len(others) != 1 || others[0].Entry != "db.internal" {
		t.Error(hosts, others)
	}
}
