package guard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/operation"
	"github.com/org/claude-sandbox/firewall/relay"
)

// relay passes a connection on whose ClientHello was read, but no byte of it
// passed on, and returns at its end.
func (c *conn) relay(ctx context.Context, name string) error {
	if c.server.opts.Relay == nil {
		return &refusal{name: name, rule: ruleGuard, why: "this firewall opens no TLS", alert: alertAccessDenied}
	}
	c.settle()
	if err := c.client.SetDeadline(time.Time{}); err != nil {
		return errGone
	}
	c.server.opts.Relay(ctx, relay.Connection{
		Client: &unread{c.client.TCPConn, c.client.buf}, Name: name, Src: c.source(), Dst: c.dst,
		Dial: func(ctx context.Context) (net.Conn, error) { return c.dialRelayed(ctx, name) },
		Rules: func() (*operation.Rules, bool) {
			p := c.server.inForce()
			return p.Operations(), p.Mode() == firewall.ModeAudit
		},
	})
	return nil
}

// unread is a connection of which some bytes were read that nothing has used.
type unread struct {
	*net.TCPConn
	rest []byte
}

func (u *unread) Read(p []byte) (int, error) {
	if len(u.rest) == 0 {
		u.rest = nil
		return u.TCPConn.Read(p)
	}
	n := copy(p, u.rest)
	u.rest = u.rest[n:]
	return n, nil
}

// dialRelayed connects to an address that is name's at this moment.
func (c *conn) dialRelayed(ctx context.Context, name string) (net.Conn, error) {
	addrs, _ := c.addresses(ctx, name)
	if len(addrs) == 0 {
		return nil, fmt.Errorf("%s has no address that the policy allows", name)
	}
	tcp, addr, err := c.connect(ctx, addrs)
	if err != nil {
		return nil, err
	}
	if !c.server.join(c, tcp, netip.AddrPortFrom(addr, c.dst.Port())) {
		reset(tcp)
		return nil, errors.New("the policy changed")
	}
	return &joined{tcp, c}, nil
}

// joined is a connection of the relay's, known to the server while it is open.
type joined struct {
	*net.TCPConn
	conn *conn
}

func (j *joined) Close() error {
	j.conn.server.leave(j.conn, j.TCPConn)
	return j.TCPConn.Close()
}

// join remembers a connection of the relay's, and reports whether the policy
// allows it.
func (s *Server) join(c *conn, upstream *net.TCPConn, dst netip.AddrPort) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(c.sites, func(at site) bool { return !at.decide(s.policy, dst).Allowed() }) {
		return false
	}
	if c.relayed == nil {
		c.relayed = map[*net.TCPConn]netip.AddrPort{}
	}
	c.relayed[upstream] = dst
	return true
}

func (s *Server) leave(c *conn, upstream *net.TCPConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(c.relayed, upstream)
}
