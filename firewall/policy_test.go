package firewall_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/firewall"
)

func TestEntriesThatCannotBeUsed(t *testing.T) {
	for _, tc := range []struct{ list, entry, message, hint string }{
		{"allow", "", "empty", "remove"},
		{"allow", "  ", "empty", "remove"},
		{"allow", "*", "every name", `"mode": "audit"`},
		{"allow", "*.com", "public registry", "*.example.com"},
		{"allow", "*.co.uk", "public registry", "*.example.co.uk"},
		{"allow", "*.nonsense", "public registry", "*.example.nonsense"},
		{"allow", "a.*.example.org", "whole labels at the beginning", "write *.example.org"},
		{"allow", "*foo.com", "whole labels at the beginning", "write *.foo.com"},
		{"allow", "foo*.example.org", "whole labels at the beginning", "write *.example.org"},
		{"allow", "*.*.example.org", "whole labels at the beginning", "write *.example.org"},
		{"allow", "https://docs.example.com/a/b?c", "is a URL", "write docs.example.com"},
		{"allow", "https://user:pw@docs.example.com:8443/a", "is a URL", "write docs.example.com:8443"},
		{"allow", "docs.example.com/a", "path", "write docs.example.com"},
		{"allow", "docs.example.com:443/a", "neither tcp nor udp", "write docs.example.com:443"},
		{"allow", "docs.example.com/udp", "without a port", "write docs.example.com:443/udp"},
		{"allow", "docs.example.com:0", "out of range", "1 to 65535"},
		{"allow", "docs.example.com:65536", "out of range", "1 to 65535"},
		{"allow", "docs.example.com:99999999999", "not a port", "host:443"},
		{"allow", "docs.example.com:", "not a port", "host:443"},
		{"allow", "docs.example.com:https", "not a port", "host:443"},
		{"allow", "docs.example.com:80,443", "more than one port", "one entry"},
		{"allow", "docs.example.com:8000-9000", "more than one port", "one entry"},
		{"allow", "docs.example.com:53", "port 53", "resolver"},
		{"allow", "9.9.9.9:853", "port 853", "plain DNS"},
		{"allow", "192.0.2.1/24", "bits set", "write 192.0.2.0/24"},
		{"allow", "2001:db8::1/32", "bits set", "write 2001:db8::/32"},
		{"allow", "192.0.2.0/33", "/33", "1 to 32"},
		{"allow", "0.0.0.0/0", "whole internet", "audit"},
		{"allow", "::/0", "whole internet", "audit"},
		{"allow", "[::/0]:443", "whole internet", "audit"},
		{"allow", "2001:db8::/32:8443", "ambiguous", "[2001:db8::/32]:8443"},
		{"allow", "[2001:db8::1", "closing bracket", "[2001:db8::/32]:8443"},
		{"allow", "[2001:db8::1]8443", "after the bracket", "[2001:db8::/32]:8443"},
		{"allow", "::ffff:192.0.2.1", "IPv6 form", "write 192.0.2.1"},
		{"allow", "fe80::1%eth0", "zone", "leave out"},
		{"allow", "127.0.0.1:5432", "loopback", "remove"},
		{"allow", "224.0.0.251", "multicast", "remove"},
		{"allow", "127.1", "address", ""},
		{"allow", "exa mple.com", "more than one word", "one entry for each"},
		{"allow", "a.example.com, b.example.com", "more than one word", "one entry for each"},
		{"allow", "a.example.com;b.example.com", "more than one word", "one entry for each"},
		{"allow", "git@git.example.com", "names a user", "write git.example.com"},
		{"allow", "@more.txt", "names a list file", ""},
		{"allow", ".example.com", "begins with a dot", "write *.example.com"},
		{"allow", "../../file", "is a path", "write a host"},
		{"allow", "g\u0456thub.com", "letters of several alphabets", "one alphabet"},
		{"allow", "xn--gthub-n2e.com", "letters of several alphabets", "one alphabet"},
		{"allow", "xn--zzzzzzzzzzzzz99.com", "international name", ""},
		{"allow", "128.0.0.0/1", "belongs to many organisations", "audit"},
		{"allow", "2000::/3", "belongs to many organisations", "audit"},
		{"allow", "a..example.com", "label is empty", ""},
		{"allow", "example.com\x00.evil.com", "NUL", ""},
		{"deny", "*", "every name", ""},
		{"deny", "https://x.example/y", "URL", "write x.example"},
		{"private", "10.0.0.0/8", "holds names", "add it to allow"},
		{"private", "db.internal:5432", "has a port", "write db.internal"},
		{"presets", "gihub", "unknown preset", `did you mean "github"?`},
		{"presets", "nmp", "unknown preset", `did you mean "npm"?`},
		{"presets", "zzzzzz", "unknown preset", "use one of"},
		{"mode", "allow-list", "unknown mode", `did you mean "allowlist"?`},
		{"guard", "tls", "unknown guard", "sni"},
		{"inbound", "", "out of range", "1 to 65535"},
	} {
		var n firewall.Network
		switch tc.list {
		case "allow":
			n.Allow = []string{"ok.example.com", tc.entry}
		case "deny":
			n.Deny = []string{"ok.example.com", tc.entry}
		case "private":
			n.Private = []string{"ok.example.com", tc.entry}
		case "presets":
			n.Presets = []string{"anthropic", tc.entry}
		case "mode":
			n.Mode = firewall.Mode(tc.entry)
		case "guard":
			n.Guard = firewall.Guard(tc.entry)
		case "inbound":
			n.Inbound = []int{3000, 70000}
		}
		p, errs := firewall.NewPolicy(n)
		if len(errs) != 1 || p != nil {
			t.Errorf("%s %q: policy %v, errors %v; want one error and no policy", tc.list, tc.entry, p, errs)
			continue
		}
		e := errs[0]
		wantIndex := 1
		if tc.list == "mode" || tc.list == "guard" {
			wantIndex = 0
		}
		if e.List != tc.list || e.Index != wantIndex || !strings.Contains(e.Message, tc.message) || !strings.Contains(e.Hint, tc.hint) {
			t.Errorf("%s %q: %+v\nwant message %q, hint %q", tc.list, tc.entry, e, tc.message, tc.hint)
		}
	}
}

func TestAllErrorsAtOnce(t *testing.T) {
	_, errs := firewall.NewPolicy(firewall.Network{
		Mode: "x", Presets: []string{"y"}, Allow: []string{"*", "ok.example.com", "a b"}, Deny: []string{""},
		Private: []string{"*x"}, Inbound: []int{0},
	})
	var got []string
	for _, e := range errs {
		got = append(got, e.List)
	}
	if want := []string{"mode", "presets", "allow", "allow", "deny", "private", "inbound"}; !slices.Equal(got, want) {
		t.Errorf("errors in %v, want %v", got, want)
	}
}

func TestEntriesThatCanBeUsed(t *testing.T) {
	p := policy(t, firewall.Network{
		Allow: []string{
			"docs.example.com", "*.example.org", "git.example.net:22", "db.internal:5432/tcp", "quic.example.net:443/udp",
			"192.0.2.0/24:8443", "[2001:db8::/32]:8443", "2001:db8:1::/48", "198.51.100.7", "2001:db8:2::7", "[2001:db8:3::7]",
			"[2001:db8:4::7]:22", " spaced.example.com ", "EXAMPLE.net.", "bücher.example", "_dmarc.example.net", "db:5432",
			"*.internal", "*.github.io",
		},
		Deny:    []string{"*.zip", "10.0.0.0/8", "docs.example.com:80"},
		Private: []string{"*.internal", "db"},
	})
	if p.Mode() != firewall.ModeAllowlist {
		t.Errorf("mode %q", p.Mode())
	}
	for name, want := range map[string]string{
		"docs.example.com":       "443/tcp", // 80 is denied
		"a.example.org":          "80/tcp 443/tcp",
		"a.b.c.example.org":      "80/tcp 443/tcp",
		"example.org":            "",
		"badexample.org":         "",
		"GIT.example.net.":       "22/tcp",
		"quic.example.net":       "443/udp",
		"spaced.example.com":     "80/tcp 443/tcp",
		"example.net":            "80/tcp 443/tcp",
		"xn--bcher-kva.example":  "80/tcp 443/tcp",
		"_dmarc.example.net":     "80/tcp 443/tcp",
		"db":                     "5432/tcp",
		"db.internal":            "80/tcp 443/tcp 5432/tcp",
		"someone-else.github.io": "80/tcp 443/tcp",
		"192.0.2.1":              "",
	} {
		var got []string
		for _, port := range p.Ports(name) {
			got = append(got, port.String())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("Ports(%q) = %v, want %s", name, got, want)
		}
	}
}

func TestWider(t *testing.T) {
	base := firewall.Network{
		Allow:   []string{"docs.example.com", "*.example.org", "git.example.net:22", "192.0.2.0/24", "2001:db8::/32"},
		Deny:    []string{"secret.example.org", "192.0.2.128/25"},
		Private: []string{"*.internal"},
		Inbound: []int{3000},
	}
	for _, tc := range []struct {
		name string
		n    firewall.Network
		want string
	}{
		{"nothing", firewall.Network{}, ""},
		{"no network", firewall.Network{Mode: firewall.ModeNone, Allow: []string{"evil.example"}}, ""},
		{"the same", base, ""},
		{"less", firewall.Network{Allow: []string{"docs.example.com:443", "a.example.org", "192.0.2.1:80"}, Inbound: []int{3000}}, ""},
		{"a deeper wildcard", firewall.Network{Allow: []string{"*.a.example.org"}}, ""},
		{"another name", firewall.Network{Allow: []string{"docs.example.com", "evil.example"}}, "evil.example"},
		{"the apex", firewall.Network{Allow: []string{"example.org"}}, "example.org"},
		{"a wider wildcard", firewall.Network{Allow: []string{"*.example.com"}}, "*.example.com"},
		{"another port", firewall.Network{Allow: []string{"docs.example.com:22"}}, "docs.example.com:22"},
		{"web ports of what is open on one", firewall.Network{Allow: []string{"git.example.net"}}, "git.example.net"},
		{"another protocol", firewall.Network{Allow: []string{"docs.example.com:443/udp"}}, "docs.example.com:443/udp"},
		{"what base denies", firewall.Network{Allow: []string{"secret.example.org"}}, "secret.example.org"},
		{"a wildcard over what base denies", firewall.Network{Allow: []string{"*.example.org"}}, "*.example.org"},
		{"the same, denied again", firewall.Network{Allow: []string{"*.example.org"}, Deny: []string{"secret.example.org"}}, ""},
		{"a network over what base denies", firewall.Network{Allow: []string{"192.0.2.0/24"}}, "192.0.2.0/24"},
		{"a larger network", firewall.Network{Allow: []string{"192.0.0.0/16"}}, "192.0.0.0/16"},
		{"taken away by itself", firewall.Network{Allow: []string{"evil.example"}, Deny: []string{"evil.example"}}, ""},
		{"a preset", firewall.Network{Presets: []string{"debian"}}, "preset:debian debian.org, preset:debian *.debian.org"},
		{"private", firewall.Network{Private: []string{"db.internal", "docs.example.com"}}, "private docs.example.com"},
		{"inbound", firewall.Network{Inbound: []int{8080}}, "inbound 8080"},
		{"guard", firewall.Network{Guard: "off"}, "guard off"},
		{"mode", firewall.Network{Mode: firewall.ModeAudit}, "mode audit"},
	} {
		if got := strings.Join(policy(t, tc.n).Wider(policy(t, base)), ", "); got != tc.want {
			t.Errorf("%s: wider by %q, want %q", tc.name, got, tc.want)
		}
	}
	host := policy(t, firewall.Network{Mode: firewall.ModeHost})
	if got := policy(t, firewall.Network{Allow: []string{"evil.example"}}).Wider(host); got != nil {
		t.Errorf("wider than mode host by %v", got)
	}
	audit := firewall.Network{Mode: firewall.ModeAudit, Deny: []string{"evil.example"}}
	for _, tc := range []struct {
		name string
		n    firewall.Network
		want string
	}{
		{"names and public addresses", firewall.Network{Allow: []string{"a.example", "*.b.example:22", "203.0.113.0/24"}}, ""},
		{"what base denies", firewall.Network{Allow: []string{"evil.example"}}, "evil.example"},
		{"metadata", firewall.Network{Allow: []string{"169.254.169.254"}}, "169.254.169.254"},
		{"a network around private ones", firewall.Network{Allow: []string{"172.0.0.0/8"}}, "172.0.0.0/8"},
		{"private", firewall.Network{Private: []string{"db.internal"}}, "private db.internal"},
		{"audit without the deny", firewall.Network{Mode: firewall.ModeAudit}, "no deny of evil.example"},
		{"the same", audit, ""},
	} {
		if got := strings.Join(policy(t, tc.n).Wider(policy(t, audit)), ", "); got != tc.want {
			t.Errorf("over audit, %s: wider by %q, want %q", tc.name, got, tc.want)
		}
	}
	none := policy(t, firewall.Network{Mode: firewall.ModeNone})
	if got := policy(t, firewall.Network{}).Wider(none); !slices.Equal(got, []string{"mode allowlist"}) {
		t.Errorf("wider than mode none by %v", got)
	}
}
