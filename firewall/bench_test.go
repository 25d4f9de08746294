package firewall_test

import (
	"net/netip"
	"testing"

	"github.com/org/claude-sandbox/firewall"
)

// large is a policy with every preset and 500 names besides.
func large(b *testing.B) *firewall.Policy {
	n := firewall.Network{Presets: firewall.PresetNames(), Deny: []string{"gist.github.com"}}
	for i := range 250 {
		letters := string([]byte{byte('a' + i%26), byte('a' + i/26)})
		n.Allow = append(n.Allow, letters+".example.com", "*."+letters+".example.org")
	}
	return policy(b, n)
}

func BenchmarkDecide(b *testing.B) {
	p := large(b)
	addr := netip.MustParseAddr("203.0.113.7")
	for name, host := range map[string]string{"allowed": "a.b.cc.example.org", "denied": "gist.github.com",
		"unlisted": "www.unlisted.example"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.Decide(host, addr, 443, firewall.TCP)
			}
		})
	}
}

func BenchmarkCanonicalName(b *testing.B) {
	for name, host := range map[string]string{"ascii": "API.docs.example.com.", "international": "bücher.example"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := firewall.CanonicalName(host); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	p := large(b)
	facts := firewall.Facts{IPv6: true, ResolverPort: 5300, GuardPort: 5380, Mark: 1,
		Upstreams: []netip.Addr{netip.MustParseAddr("203.0.113.53")}}
	for b.Loop() {
		plan, err := firewall.Compile(p, facts)
		if err != nil {
			b.Fatal(err)
		}
		_ = plan.String()
	}
}
