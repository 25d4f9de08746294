package firewall_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/firewall"
)

func TestReview(t *testing.T) {
	for _, tc := range []struct {
		name string
		n    firewall.Network
		want []string // "list[index] words"
	}{
		{"nothing to say", firewall.Network{
			Presets: []string{"github"},
			Allow:   []string{"docs.example.com", "docs.example.com:8443", "*.example.org", "192.0.2.0/24:8443", "10.0.0.0/8:5432"},
			Deny:    []string{"gist.github.com", "no.example.org"}, Private: []string{"docs.example.com", "*.example.org"},
		}, nil},
		{"twice",
			firewall.Network{Presets: []string{"npm", "npm"}, Allow: []string{"a.example", "A.example.:443"},
				Deny: []string{"b.example", "b.example:22"}, Private: []string{"a.example", "a.example"}},
			[]string{"presets[1] listed already", "allow[1] covered by a.example", "deny[1] denied by b.example already",
				"private[1] covered by a.example"}},
		{"the very same", firewall.Network{Allow: []string{"a.example", "a.example"}}, []string{"allow[1] a.example is listed already"}},
		{"under a wildcard that follows", firewall.Network{Allow: []string{"a.b.example", "*.example.b", "*.b.example"}},
			[]string{"allow[0] covered by *.b.example"}},
		{"under a preset", firewall.Network{Presets: []string{"github"}, Allow: []string{"api.github.com", "api.github.com:22"}},
			[]string{"allow[0] covered by preset:github *.github.com"}},
		{"inside a network", firewall.Network{Allow: []string{"192.0.2.7", "192.0.2.0/24"}}, []string{"allow[0] covered by 192.0.2.0/24"}},
		{"other ports", firewall.Network{Allow: []string{"x.a.example:22", "*.a.example:443"}}, nil},
		{"denied",
			firewall.Network{Allow: []string{"x.a.example", "a.example", "192.0.2.7:22"},
				Deny: []string{"*.a.example", "a.example:80", "192.0.2.0/24"}},
			[]string{"allow[0] no effect: *.a.example in deny wins", "allow[2] no effect: 192.0.2.0/24"}},
		{"private without an entry", firewall.Network{Allow: []string{"a.example"}, Private: []string{"db.internal"}},
			[]string{"private[0] no effect"}},
		{"rented",
			firewall.Network{Allow: []string{"*.amazonaws.com", "*.s3.amazonaws.com", "*.github.io", "*.windows.net",
				"x.s3.amazonaws.com:8443", "*.example.com"}},
			[]string{"allow[0] anybody can have a host", "allow[1] covered by", "allow[2] anybody", "allow[3] anybody"}},
		{"metadata", firewall.Network{Allow: []string{"169.254.0.0/16", "168.63.129.16"}},
			[]string{"allow[0] hands out the machine's credentials", "allow[1] credentials"}},
		{"look-alikes", firewall.Network{Allow: []string{"\u0430\u0440\u0440\u04cf\u0435.com", "xn--bcher-kva.example"}},
			[]string{"allow[0] looks like apple.com", "allow[1] international name b\u00fccher.example"}},
		{"modes", firewall.Network{Mode: firewall.ModeAudit}, []string{"mode[0] the whole internet is open"}},
		{"audit with operations", firewall.Network{Mode: firewall.ModeAudit, Allow: []string{"npm:read"}},
			[]string{"mode[0] entries about operations refuse nothing"}},
		{"HTTP/3 by address", firewall.Network{Allow: []string{"npm:read", "192.0.2.7:443/udp", "192.0.2.7"}}, []string{"allow[1] opens HTTP/3"}},
		{"no firewall", firewall.Network{Mode: firewall.ModeHost}, []string{"mode[0] there is no firewall"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, bad := firewall.NewPolicy(tc.n)
			if bad != nil {
				t.Fatal(bad)
			}
			got := p.Review()
			var texts []string
			for _, e := range got {
				texts = append(texts, fmt.Sprintf("%s[%d] %s", e.List, e.Index, e.Message))
				if e.Hint == "" {
					t.Errorf("%s lacks a hint", e.Message)
				}
			}
			if len(got) != len(tc.want) {
				t.Fatalf("got %q, want %q", texts, tc.want)
			}
			for i, want := range tc.want {
				place, words, _ := strings.Cut(want, " ")
				if !strings.HasPrefix(texts[i], place) || !strings.Contains(texts[i], words) {
					t.Errorf("got %q, want %q", texts[i], want)
				}
			}
		})
	}
}

// What Review says of an entry is so: without the entry that it calls useless,
// the policy decides every name and address as before.
func FuzzReviewNeverAdvisesToNarrow(f *testing.F) {
	f.Add("a.b.example *.b.example", "x.b.example")
	f.Add("192.0.2.7 192.0.2.0/24:443 192.0.2.0/25", "")
	f.Add("a.example:22 a.example *.example:22", "a.example:80")
	f.Fuzz(func(t *testing.T, allow, deny string) {
		n := firewall.Network{Allow: strings.Fields(allow), Deny: strings.Fields(deny)}
		if len(n.Allow) > 20 || len(n.Deny) > 20 {
			return
		}
		p, errs := firewall.NewPolicy(n)
		if errs != nil {
			return
		}
		for _, e := range p.Review() {
			if e.List != "allow" || e.Hint != "remove it" {
				continue
			}
			less := n
			less.Allow = slices.Delete(slices.Clone(n.Allow), e.Index, e.Index+1)
			q, errs := firewall.NewPolicy(less)
			if errs != nil {
				t.Fatal(errs)
			}
			if wider := p.Wider(q); wider != nil {
				t.Errorf("%q: %s, and yet it opens %q", n.Allow, e.Message, wider)
			}
		}
	})
}

func BenchmarkReview(b *testing.B) {
	p, _ := firewall.NewPolicy(manyHosts())
	for b.Loop() {
		p.Review()
	}
}

// manyHosts is a network of 20,000 entries.
func manyHosts() (n firewall.Network) {
	for i := range 10000 {
		n.Allow = append(n.Allow, fmt.Sprintf("host%d.example.org", i), fmt.Sprintf("192.%d.%d.0/24", i/256, i%256))
	}
	return n
}
