package guard

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/operation"
)

// openByAddress reports whether the client's destination is open whatever it asks
// for there, in a policy with operations: by an address entry, or in mode audit. The
// packet filter leads other policies' connections past the guard.
func (c *conn) openByAddress() bool {
	p := c.server.inForce()
	return p.Operations() != nil && !c.isForGuard() && p.Decide("", c.dst.Addr(), c.dst.Port(), firewall.TCP).Allowed()
}

// opens reports whether the policy opens the TLS of a name at the destination's port.
func (c *conn) opens(name string) bool {
	return c.server.inForce().Operations().Opens(name, c.dst.Port())
}

// serveAddress carries a connection that openByAddress accepts, for name or for none,
// unread. Its name is the client's word alone, so the address must be none of a host
// whose requests are judged.
func (c *conn) serveAddress(ctx context.Context, name string) error {
	if at := c.judgedAt(ctx); at != "" {
		return &refusal{name: name, rule: ruleGuard, alert: alertAccessDenied,
			why: fmt.Sprintf("%s may be an address of %s, where entries name operations: connect to it by that name, in TLS", c.dst.Addr(), at)}
	}
	c.byAddress = true
	d := c.server.admit(c, site{name: name})
	if !d.Allowed() {
		return c.unlisted(name, d)
	}
	if err := c.record(d, name); err != nil {
		return &refusal{name: name, rule: ruleGuard, why: "the decision could not be recorded", alert: alertAccessDenied}
	}
	stop := c.watch()
	err := c.dial(ctx, []netip.Addr{c.dst.Addr()})
	stop()
	if err != nil {
		return err
	}
	c.settle()
	return c.carry(nil)
}

// judgedAt returns a host whose requests are judged and whose address the destination
// is at this moment; "" = none. A host of which no address can be learned could have
// this one. In mode audit nothing is refused.
func (c *conn) judgedAt(ctx context.Context) string {
	p := c.server.inForce()
	if p.Mode() == firewall.ModeAudit {
		return ""
	}
	names := c.server.opts.Names
	for _, h := range p.Operations().Hosts() {
		if h.Wildcard {
			continue
		}
		addrs := names.Addresses(ctx, h.Name, c.dst.Addr())
		if len(addrs) == 0 && c.dst.Addr().Is6() { // it may have addresses of the other family alone
			addrs = names.Addresses(ctx, h.Name, netip.IPv4Unspecified())
		}
		if len(addrs) == 0 || slices.Contains(addrs, c.dst.Addr()) {
			return h.Name
		}
	}
	for _, name := range names.NamesAt(c.dst.Addr()) { // those of wildcards, as far as they were asked for
		if slices.ContainsFunc(p.Operations().Hosts(), func(h operation.Host) bool { return p.Operations().Opens(name, h.Port) }) {
			return name
		}
	}
	return ""
}
