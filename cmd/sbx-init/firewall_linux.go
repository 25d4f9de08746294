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
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/guard"
	"github.com/org/claude-sandbox/firewall/kernel"
	"github.com/org/claude-sandbox/firewall/resolver"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/visible"
)

const (
	// resolverMark is on the packets of our resolver ("sbx" in ASCII). Setting
	// it takes CAP_NET_ADMIN, which nobody else in the sandbox has.
	resolverMark = 0x736278

	// resolverPort is where the resolver listens on loopback, unless somebody
	// took it; clients are led there from port 53 by the packet filter.
	resolverPort = 1053

	// cachedAnswers is how many answers the resolver keeps, about 1 KiB each.
	cachedAnswers = 2048

	// setupTimeout bounds everything between closing and verifying.
	setupTimeout = 30 * time.Second
)

// wall is the firewall of this network namespace, once it stands.
type wall struct {
	kernel      *kernel.Kernel
	recorder    *audit.Recorder // writes to log
	witness     *witness
	refusals    *kernel.Refusals // nil when the kernel cannot report any
	refusalsEnd chan error
	holder      *kernel.Holder // nil when nobody is looked at
	done        chan error     // the ends of the resolver and the guard; has room for two sockets each

	mounts    *mountWatch // what is mounted read-only
	children  *reaper
	upstreams resolvers
	facts     firewall.Facts   // with the resolver's port, once it listens
	book      *book            // what names led to
	origins   *origins         // from which name an address came
	server    *resolver.Server // nil until a policy needs it
	sockets   []listener       // the server's
	guard     *guard.Server    // nil until a policy needs it
	doors     []net.Listener   // the guard's sockets
	probes    probes
	count     counts

	policy policy        // in force
	plan   firewall.Plan // what the kernel must hold
}

// open enforces the first policy and proves it. On an error the network is
// closed again.
func (w *wall) open(ctx context.Context, p policy, upstreams resolvers) (err error) {
	defer func() {
		if err == nil {
			return
		}
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), setupTimeout)
		defer cancel()
		err = errors.Join(err, w.kernel.Apply(closing, firewall.ClosedPlan(w.kernel.Facts())))
	}()
	w.upstreams = upstreams
	w.facts = w.kernel.Facts()
	w.facts.Upstreams = upstreams.addrs
	w.facts.Mark = resolverMark
	w.facts.DaemonUID = os.Geteuid()
	w.book = newBook(p.Policy, w.kernel.Allow, w.kernel.Forget)
	w.origins = newOrigins(w.book)
	// While everything is closed: afterwards what exists would pass for allowed.
	if err := w.cut(true); err != nil {
		return err
	}
	plan, err := w.prepare(ctx, p)
	if err != nil {
		return err
	}
	return w.enforce(ctx, p, plan)
}

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

// record writes a decision to the audit log and counts it. Our own test
// questions are nobody's decision.
func (w *wall) record(r audit.Record) error {
	if w.probes.has(r.Name) {
		return nil
	}
	w.count.add(r.Verdict)
	return w.recorder.Record(r)
}

// prepare makes the plan that enforces p, and starts what it needs.
func (w *wall) prepare(ctx context.Context, p policy) (firewall.Plan, error) {
	if p.Resolves() {
		if err := w.serveNames(ctx, p); err != nil {
			return firewall.Plan{}, err
		}
		if err := w.guardConnections(ctx, p); err != nil {
			return firewall.Plan{}, err
		}
	}
	var err error
	if w.facts.Around, err = around(); err != nil {
		return firewall.Plan{}, err
	}
	return firewall.Compile(p.Policy, w.facts)
}

// enforce makes the kernel hold the plan that enforces p, and proves it.
func (w *wall) enforce(ctx context.Context, p policy, plan firewall.Plan) error {
	if err := w.kernel.Apply(ctx, plan); err != nil {
		return err
	}
	w.policy, w.plan = p, plan
	return w.verify(ctx)
}

// verify proves the policy in force: in the kernel, and by asking the resolver
// and the guard. The error joins all that differs.
func (w *wall) verify(ctx context.Context) error {
	differences := []error{w.kernel.Verify(ctx, w.plan)}
	if w.policy.Resolves() {
		differences = append(differences, w.probes.verifyResolver(ctx, w.sockets))
	}
	if w.policy.Guarded() {
		differences = append(differences, w.verifyGuard(ctx))
	}
	return errors.Join(differences...)
}

// leaves returns the errors that err joins, one line each; err itself when it
// joins none.
func leaves(err error) []string {
	inner := err
	for inner != nil {
		if joined, ok := inner.(interface{ Unwrap() []error }); ok {
			var out []string
			for _, e := range joined.Unwrap() {
				out = append(out, leaves(e)...)
			}
			return out
		}
		inner = errors.Unwrap(inner)
	}
	return []string{visible.Folded(err.Error())}
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
