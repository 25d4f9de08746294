package main

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

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/guard"
	"github.com/org/claude-sandbox/internal/diag"
)

// listenGuard opens the guard's sockets on 127.0.0.1 and, when the machine has
// that address, on ::1 with the same port.
func listenGuard(ipv6 bool) ([]net.Listener, error) {
	var failure error
	for _, port := range []uint16{firewall.GuardPort, 0, 0, 0} {
		v4, err := net.Listen("tcp4", netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port).String())
		if err != nil {
			failure = err
			continue
		}
		if !ipv6 {
			return []net.Listener{v4}, nil
		}
		v6, err := net.Listen("tcp6", netip.AddrPortFrom(netip.IPv6Loopback(), tcpPort(v4)).String())
		if err == nil {
			return []net.Listener{v4, v6}, nil
		}
		if errors.Is(err, syscall.EADDRNOTAVAIL) {
			return []net.Listener{v4}, nil // IPv6 is there but switched off on loopback
		}
		v4.Close()
		failure = err
	}
	return nil, diag.WithHint(fmt.Errorf("opening the guard's sockets: %w", failure), "is the loopback interface up?")
}

func tcpPort(l net.Listener) uint16 { return l.Addr().(*net.TCPAddr).AddrPort().Port() }

// guardConnections starts the guard, unless it runs already.
func (w *wall) guardConnections(ctx context.Context, p policy) error {
	if w.guard != nil || !p.Guarded() {
		return nil
	}
	sockets, err := listenGuard(w.facts.IPv6)
	if err != nil {
		return err
	}
	w.doors = sockets
	w.facts.GuardPort = tcpPort(sockets[0])
	w.guard = guard.New(guard.Options{
		Policy:      p.Policy,
		Names:       w.server,
		Record:      w.record,
		Dialer:      net.Dialer{Control: mark},
		Destination: guard.OriginalDestination,
	})
	for _, l := range sockets {
		go func() {
			w.done <- ended("the guard ended, no web site can be reached any more", w.guard.Serve(context.WithoutCancel(ctx), l))
		}()
	}
	return nil
}

// verifyGuard asks the guard for a site that cannot be on any list, on each of
// its sockets and then, as any program would, at a learned address, where the
// packet filter must lead it away. Each must refuse, in the guard's words.
func (w *wall) verifyGuard(ctx context.Context) error {
	for _, l := range w.doors {
		own := l.Addr().(*net.TCPAddr).AddrPort()
		if err := w.askGuard(ctx, own); err != nil {
			return fmt.Errorf("verifying the guard on %s: %w", own, err)
		}
		if err := w.verifyRedirect(ctx, own.Addr().Is6()); err != nil {
			return fmt.Errorf("verifying that the packet filter leads to the guard: %w", err)
		}
	}
	return nil
}

func (w *wall) verifyRedirect(ctx context.Context, ipv6 bool) (err error) {
	// Documentation addresses (RFC 5737, RFC 3849): should the packet filter
	// let the question out, it bothers nobody.
	site := netip.MustParseAddrPort("198.51.100.189:80")
	if ipv6 {
		site = netip.MustParseAddrPort("[2001:db8:ffff::5bd]:80")
	}
	port := []firewall.Port{{Number: site.Port(), Proto: firewall.TCP}}
	if w.policy.Decide("", site.Addr(), site.Port(), firewall.TCP).Allowed() {
		return nil // an address entry, where the guard is not asked
	}
	if err := w.kernel.Allow(site.Addr(), port, 5*time.Second); err != nil {
		return err
	}
	// What no name led to may not stay in the set.
	defer func() { err = errors.Join(err, w.kernel.Forget(site.Addr(), port)) }()
	err = w.askGuard(ctx, site)
	for _, noRoute := range []error{syscall.ENETUNREACH, syscall.EHOSTUNREACH, syscall.EADDRNOTAVAIL} {
		if errors.Is(err, noRoute) {
			return nil // there is no way out in this family, so no packet reaches the filter
		}
	}
	return err
}

// askGuard errs unless what answers at addr refuses a name that nobody has.
func (w *wall) askGuard(ctx context.Context, addr netip.AddrPort) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr.String())
	if err != nil {
		return err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
	}
	name := "verify-" + strings.ToLower(rand.Text()) + ".invalid"
	w.probes.begin(name)
	defer w.probes.end(name)
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
}
