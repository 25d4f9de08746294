package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/kernel"
	"github.com/org/claude-sandbox/firewall/resolver"
	"github.com/org/claude-sandbox/internal/diag"
)

const (
	// resolverMark is on the packets of our resolver ("sbx" in ASCII). Setting
	// it takes CAP_NET_ADMIN, which nobody else in the sandbox has.
	resolverMark = 0x736278

	// resolverPort is where the resolver listens on loopback, unless somebody
	// took it; clients are led there from port 53 by the packet filter.
	resolverPort = 1053

	// setupTimeout bounds everything between closing and verifying.
	setupTimeout = 30 * time.Second
)

// wall is the firewall of this network namespace, once it stands.
type wall struct {
	kernel *kernel.Kernel
	log    *audit.Log
	done   chan error // the resolver's end
}

// closeNetwork closes both families before anything else is looked at.
func closeNetwork(ctx context.Context) (*kernel.Kernel, error) {
	k, err := kernel.Open(ctx, kernel.Options{Close: true})
	if err != nil {
		return nil, err
	}
	if err := k.Apply(ctx, firewall.ClosedPlan(k.Facts())); err != nil {
		return nil, err
	}
	return k, nil
}

// open enforces the policy and proves it. On an error the network is closed
// again.
func (w *wall) open(ctx context.Context, p policy, upstreams resolvers) (err error) {
	defer func() {
		if err == nil {
			return
		}
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), setupTimeout)
		defer cancel()
		err = errors.Join(err, w.kernel.Apply(closing, firewall.ClosedPlan(w.kernel.Facts())))
	}()
	facts := w.kernel.Facts()
	facts.Upstreams = upstreams.addrs
	facts.Mark = resolverMark
	facts.DaemonUID = os.Geteuid()
	if p.Mode() != firewall.ModeAllowlist {
		return w.enforce(ctx, p, facts, nil)
	}

	sockets, err := listen(facts.IPv6)
	if err != nil {
		return err
	}
	facts.ResolverPort = sockets[0].port()
	var recording atomic.Bool // our own test question is nobody's decision
	server := resolver.New(resolver.Options{
		Policy:    p.Policy,
		Installer: w.kernel,
		Record: func(r audit.Record) error {
			if !recording.Load() {
				return nil
			}
			return w.log.Record(r)
		},
		Upstreams: onPort53(upstreams.addrs),
		Dialer:    net.Dialer{Control: mark},
		Search:    upstreams.search,
		NoIPv6:    !facts.IPv6,
	})
	w.done = make(chan error, len(sockets))
	for _, s := range sockets {
		go func() { w.done <- server.Serve(context.WithoutCancel(ctx), s.udp, s.tcp) }()
	}
	if err := w.enforce(ctx, p, facts, func() error { return verifyResolver(ctx, sockets) }); err != nil {
		return err
	}
	recording.Store(true)
	return nil
}

// enforce applies the policy's plan and verifies it in the kernel and, with
// check, beyond.
func (w *wall) enforce(ctx context.Context, p policy, facts firewall.Facts, check func() error) error {
	plan, err := firewall.Compile(p.Policy, facts)
	if err != nil {
		if errors.Is(err, firewall.ErrModeNotEnforced) {
			return exitWith(exitConfig, err)
		}
		return err
	}
	if err := w.kernel.Apply(ctx, plan); err != nil {
		return err
	}
	if err := w.kernel.Verify(ctx, plan); err != nil {
		return err
	}
	if check == nil {
		return nil
	}
	return check()
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
	for _, port := range []uint16{resolverPort, 0, 0, 0} {
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
		failure = os.NewSyscallError("setsockopt SO_MARK", unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_MARK, resolverMark))
	})
	return errors.Join(err, failure)
}

// verifyResolver asks, as any program would, port 53 of loopback for a name
// that cannot be on any list, in each way there is. The answer must come, from
// our resolver, and it must be a refusal.
func verifyResolver(ctx context.Context, sockets []listener) error {
	for _, s := range sockets {
		addr := netip.AddrPortFrom(s.udp.LocalAddr().(*net.UDPAddr).AddrPort().Addr(), 53)
		for _, network := range []string{"udp", "tcp"} {
			if err := askRefused(ctx, network, addr); err != nil {
				return fmt.Errorf("verifying the resolver on %s/%s: %w", addr, network, err)
			}
		}
	}
	return nil
}

func askRefused(ctx context.Context, network string, addr netip.AddrPort) error {
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
	name, err := dnsmessage.NewName("verify-" + rand.Text() + ".invalid.")
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
