package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/resolver"
	"github.com/org/claude-sandbox/internal/diag"
)

// cachedAnswers is how many answers the resolver keeps, about 1 KiB each.
const cachedAnswers = 2048

// serveNames starts the resolver, unless it runs already.
func (w *wall) serveNames(ctx context.Context, p policy) error {
	if w.server != nil {
		return nil
	}
	first, last, err := portsBeside(portRange)
	if err != nil {
		return err
	}
	sockets, err := listen(w.facts.IPv6)
	if err != nil {
		return err
	}
	w.sockets = sockets
	w.facts.ResolverPort = sockets[0].port()
	w.server = resolver.New(resolver.Options{
		Policy:    p.Policy,
		Installer: w.origins,
		Record:    w.record,
		Meant: func(client netip.AddrPort, proto firewall.Proto) netip.AddrPort {
			server := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), w.facts.ResolverPort)
			if client.Addr().Is6() {
				server = netip.AddrPortFrom(netip.IPv6Loopback(), w.facts.ResolverPort)
			}
			meant, _ := w.kernel.Meant(proto, client, server)
			return meant
		},
		Upstreams: onPort53(w.upstreams.addrs),
		Dialer:    net.Dialer{Control: mark},
		FirstPort: first,
		LastPort:  last,
		Cache:     cachedAnswers,
		MixCase:   !slices.ContainsFunc(w.upstreams.addrs, netip.Addr.IsLoopback),
		Search:    w.upstreams.search,
		NoIPv6:    !w.facts.IPv6,
	})
	for _, s := range sockets {
		go func() {
			w.done <- ended("the resolver ended, no name can be resolved any more", w.server.Serve(context.WithoutCancel(ctx), s.udp, s.tcp))
		}()
	}
	return nil
}

// listener is the resolver's pair of sockets on one address.
type listener struct {
	udp net.PacketConn
	tcp net.Listener
}

func (l listener) port() uint16 { return l.udp.LocalAddr().(*net.UDPAddr).AddrPort().Port() }

// listen opens the resolver's sockets on 127.0.0.1 and, when the machine has
// that address, on ::1 with the same port.
func listen(ipv6 bool) ([]listener, error) {
	var failure error
	for _, port := range []uint16{firewall.ResolverPort, 0, 0, 0} {
		udp, tcp, err := resolver.Listen(netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port))
		if err != nil {
			failure = err
			continue
		}
		v4 := listener{udp, tcp}
		if !ipv6 {
			return []listener{v4}, nil
		}
		udp, tcp, err = resolver.Listen(netip.AddrPortFrom(netip.IPv6Loopback(), v4.port()))
		if err == nil {
			return []listener{v4, {udp, tcp}}, nil
		}
		if errors.Is(err, syscall.EADDRNOTAVAIL) {
			return []listener{v4}, nil // IPv6 is there but switched off on loopback
		}
		v4.udp.Close()
		v4.tcp.Close()
		failure = err
	}
	return nil, diag.WithHint(failure, "is the loopback interface up?")
}

func onPort53(addrs []netip.Addr) []netip.AddrPort {
	out := make([]netip.AddrPort, len(addrs))
	for i, a := range addrs {
		out[i] = netip.AddrPortFrom(a, 53)
	}
	return out
}

// mark is the Control function of the resolver's own sockets.
func mark(_, _ string, c syscall.RawConn) error {
	var failure error
	err := c.Control(func(fd uintptr) {
		failure = os.NewSyscallError("setsockopt SO_MARK", unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_MARK, firewall.Mark))
	})
	return errors.Join(err, failure)
}

// verifyResolver asks, as any program would, port 53 of loopback for a name
// that cannot be on any list, in each way there is. The answer must come, from
// our resolver, and it must be a refusal.
func (p *probes) verifyResolver(ctx context.Context, sockets []listener) error {
	for _, s := range sockets {
		addr := netip.AddrPortFrom(s.udp.LocalAddr().(*net.UDPAddr).AddrPort().Addr(), 53)
		for _, network := range []string{"udp", "tcp"} {
			name := "verify-" + strings.ToLower(rand.Text()) + ".invalid"
			p.begin(name)
			err := askRefused(ctx, network, addr, name)
			p.end(name)
			if err != nil {
				return fmt.Errorf("verifying the resolver on %s/%s: %w", addr, network, err)
			}
		}
	}
	return nil
}

func askRefused(ctx context.Context, network string, addr netip.AddrPort, host string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, addr.String())
	if err != nil {
		return err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
	}
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
