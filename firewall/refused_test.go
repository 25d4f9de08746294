package firewall_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/firewall"
)

func TestRefusedSaysWhyAndWhetherAnEntryHelps(t *testing.T) {
	p := policy(t, firewall.Network{
		Allow: []string{"ok.example.com", "git.example.net:22", "198.51.100.0/24:8443"},
		Deny:  []string{"198.51.100.66", "git.example.net:2222"},
	})
	tests := []struct {
		name, addr string
		port       uint16
		proto      firewall.Proto
		rule, says string
	}{
		{"", "203.0.113.7", 443, firewall.TCP, "", "no allowlist entry matches 203.0.113.7"},
		{"", "2606:4700::1", 443, firewall.UDP, "", "no allowlist entry matches 2606:4700::1"},
		{"", "198.51.100.7", 443, firewall.TCP, "", "opens 8443/tcp there, not 443/tcp"},
		{"", "198.51.100.7", 8443, firewall.TCP, "198.51.100.0/24:8443", "no open connection"},
		{"", "198.51.100.66", 8443, firewall.TCP, "198.51.100.66", "on the deny list"},
		{"ok.example.com", "203.0.113.7", 22, firewall.TCP, "", "opens 80/tcp, 443/tcp there, not 22/tcp"},
		{"ok.example.com", "203.0.113.7", 443, firewall.UDP, "", "not 443/udp"},
		{"ok.example.com", "203.0.113.7", 443, firewall.TCP, "ok.example.com", "resolve the name again"},
		{"git.example.net", "203.0.113.7", 2222, firewall.TCP, "git.example.net:2222", "on the deny list"},
		{"", "203.0.113.7", 0, "icmp", "no icmp", "only TCP and UDP"},
		{"", "127.0.0.11", 41234, firewall.TCP, "resolver", "container engine's resolver"},
		{"", "203.0.113.7", 53, firewall.UDP, "resolver", "own resolver only"},
		{"", "203.0.113.7", 853, firewall.TCP, "resolver", "DNS over TLS"},
		{"", "169.254.169.254", 80, firewall.TCP, "no special address", "metadata"},
		{"", "224.0.0.251", 5353, firewall.UDP, "no special address", "multicast"},
	}
	for _, tt := range tests {
		d := p.Refused(tt.name, netip.MustParseAddr(tt.addr), tt.port, tt.proto)
		if d.Allowed() || d.Rule != tt.rule || !strings.Contains(d.Reason, tt.says) {
			t.Errorf("%s %s:%d/%s: %+v, want rule %q and %q", tt.name, tt.addr, tt.port, tt.proto, d, tt.rule, tt.says)
		}
	}
	none := policy(t, firewall.Network{Mode: firewall.ModeNone})
	if d := none.Refused("", netip.MustParseAddr("203.0.113.7"), 443, firewall.TCP); d.Allowed() || d.Rule == "" {
		t.Errorf("mode none: %+v", d)
	}
}
