package resolver

import (
	"context"
	"net/netip"
	"slices"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
)

// Addresses returns the addresses that name has at the moment, as far as they
// were asked for, in no order. When want is not among them it asks upstream
// for name once more, in want's family, as it would for a client: within the
// policy and the budget, recorded, and with the addresses installed.
func (s *Server) Addresses(ctx context.Context, name string, want netip.Addr) []netip.Addr {
	known := s.opts.Installer.Known(name)
	if slices.Contains(known, want) || want.Is6() && s.opts.NoIPv6 {
		return known
	}
	d := s.policy.Load().DecideName(name)
	if !d.Allowed() {
		return known
	}
	select {
	case s.lookups <- struct{}{}:
		defer func() { <-s.lookups }()
	case <-ctx.Done():
		return known
	}
	key := cacheKey{name, dnsmessage.TypeA}
	if want.Is6() {
		key.typ = dnsmessage.TypeAAAA
	}
	// Others may wait for the same query, so it goes on when ctx ends.
	rec := audit.Record{Verdict: firewall.Deny, Layer: audit.LayerDNS, Name: name, Rule: d.Rule, Reason: d.Reason}
	s.askUpstream(context.WithoutCancel(ctx), key, rec)
	return s.opts.Installer.Known(name)
}
