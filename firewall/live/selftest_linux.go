package live

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/guard"
)

// Limits of one test question.
const (
	askResolverLimit = 5 * time.Second
	askGuardLimit    = 2 * time.Second
)

// madeUpName is a name that cannot be on any list.
func madeUpName() string { return "verify-" + strings.ToLower(rand.Text()) + ".invalid" }

// verifyResolver asks, as any program would, port 53 of loopback for a name
// that cannot be on any list, in each way there is. The answer must come, from
// our resolver, and it must be a refusal.
func (d *decisions) verifyResolver(ctx context.Context, endpoints []endpoint) error {
	for _, e := range endpoints {
		addr := netip.AddrPortFrom(e.addr().Addr(), 53)
		for _, network := range []string{"udp", "tcp"} {
			name := madeUpName()
			if err := d.test(name, func() error { return askRefused(ctx, network, addr, name) }); err != nil {
				return fmt.Errorf("verifying the resolver on %s/%s: %w", addr, network, err)
			}
		}
	}
	return nil
}

// dial connects for a test question that may take no longer than limit.
func dial(ctx context.Context, network string, addr netip.AddrPort, limit time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, network, addr.String())
	if err != nil {
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		err = conn.SetDeadline(deadline)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// askRefused errs unless the name server at addr refuses the name.
func askRefused(ctx context.Context, network string, addr netip.AddrPort, host string) error {
	conn, err := dial(ctx, network, addr, askResolverLimit)
	if err != nil {
		return err
	}
	defer conn.Close()
	name, err := dnsmessage.NewName(host + ".")
	if err != nil {
		return err
	}
	question := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: 1, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}},
	}
	message, err := question.Pack()
	if err != nil {
		return err
	}
	prefix := 0
	if network == "tcp" {
		prefix = 2
		message = append([]byte{byte(len(message) >> 8), byte(len(message))}, message...)
	}
	if _, err := conn.Write(message); err != nil {
		return err
	}
	// A refusal is far smaller than one segment and written at once.
	buf := make([]byte, 1500)
	n, err := conn.Read(buf)
	if err != nil {
		return err
	}
	var reply dnsmessage.Message
	if err := reply.Unpack(buf[min(prefix, n):n]); err != nil {
		return err
	}
	if len(reply.Questions) != 1 || reply.Questions[0].Name.String() != name.String() || reply.RCode != dnsmessage.RCodeRefused {
		return fmt.Errorf("a name off the list got %s", reply.RCode)
	}
	return nil
}

// verifyGuard asks the guard for a site that cannot be on any list, on each of
// its sockets and then, as any program would, at a learned address, where the
// packet filter must lead it away. Each must refuse, in the guard's words.
func (f *Firewall) verifyGuard(ctx context.Context) error {
	for _, e := range f.servers.guardAt {
		if err := f.decisions.askGuard(ctx, e.addr()); err != nil {
			return fmt.Errorf("verifying the guard on %s: %w", e.addr(), err)
		}
		if err := f.verifyRedirect(ctx, e.addr().Addr().Is6()); err != nil {
			return fmt.Errorf("verifying that the packet filter leads to the guard: %w", err)
		}
	}
	return nil
}

// Sites of documents, see testNetworks: should the packet filter let the question
// out, it reaches no machine.
var (
	testSite4 = netip.MustParseAddrPort("198.51.100.189:80")
	testSite6 = netip.MustParseAddrPort("[2001:db8:ffff::5bd]:80")
)

func (f *Firewall) verifyRedirect(ctx context.Context, ipv6 bool) (err error) {
	site := testSite4
	if ipv6 {
		site = testSite6
	}
	port := []firewall.Port{{Number: site.Port(), Proto: firewall.TCP}}
	if f.now.policy.Decide("", site.Addr(), site.Port(), firewall.TCP).Allowed() {
		return nil // an address entry, where the guard is not asked
	}
	if err := f.options.Kernel.Allow(site.Addr(), port, 5*time.Second); err != nil {
		return err
	}
	// An address that no name led to may not stay in the set.
	defer func() { err = errors.Join(err, f.options.Kernel.Forget(site.Addr(), port)) }()
	err = f.decisions.askGuard(ctx, site)
	for _, noRoute := range []error{syscall.ENETUNREACH, syscall.EHOSTUNREACH, syscall.EADDRNOTAVAIL} {
		if errors.Is(err, noRoute) {
			return nil // there is no way out in this family, so no packet reaches the filter
		}
	}
	return err
}

// askGuard errs unless the server at addr refuses a made-up name as the guard does.
func (d *decisions) askGuard(ctx context.Context, addr netip.AddrPort) error {
	name := madeUpName()
	return d.test(name, func() error {
		conn, err := dial(ctx, "tcp", addr, askGuardLimit)
		if err != nil {
			return err
		}
		defer conn.Close()
		if _, err := fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", name); err != nil {
			return err
		}
		reply, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			return err
		}
		defer reply.Body.Close()
		body, err := io.ReadAll(io.LimitReader(reply.Body, 4096))
		if err != nil {
			return err
		}
		if reply.StatusCode != http.StatusForbidden || reply.Header.Get(guard.HeaderRefused) == "" || !strings.Contains(string(body), name) {
			return fmt.Errorf("a name off the list got %s", reply.Status)
		}
		return nil
	})
}
