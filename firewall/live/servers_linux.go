package live

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/credential"
	"github.com/org/claude-sandbox/firewall/guard"
	"github.com/org/claude-sandbox/firewall/operation"
	"github.com/org/claude-sandbox/firewall/relay"
	"github.com/org/claude-sandbox/firewall/resolver"
	"github.com/org/claude-sandbox/internal/diag"
)

// cachedAnswers is how many answers the resolver keeps, about 1 KiB each.
const cachedAnswers = 2048

// servers are the resolver, the guard and the relay. Each starts with the first
// policy that needs it and runs until the process ends.
type servers struct {
	options  Options
	allowed  *allowedSet
	record   func(audit.Record) error
	failures chan error // has room for two sockets of each

	resolver   *resolver.Server
	resolverAt []endpoint
	guard      *guard.Server
	guardAt    []endpoint

	mu    sync.Mutex
	relay *relay.Relay // nil until a policy opens a host
	keyed bool         // a process that holds keys has come
	given *givenKeys   // its keys; nil = none go with requests
	own   *ownKeys     // nil = this process holds none
	tally credential.Tally
}

func newServers(o Options, allowed *allowedSet, record func(audit.Record) error) *servers {
	return &servers{options: o, allowed: allowed, record: record, failures: make(chan error, 4)}
}

// start starts what the policy needs and does not run yet.
func (s *servers) start(ctx context.Context, p *firewall.Policy) error {
	ctx = context.WithoutCancel(ctx)
	if p.Resolves() && s.resolver == nil {
		if err := s.startResolver(ctx, p); err != nil {
			return err
		}
	}
	if !p.Resolves() || !p.Guarded() {
		return nil
	}
	if err := s.openHosts(p.Operations().Hosts()); err != nil || s.guard != nil {
		return err
	}
	return s.startGuard(ctx, p)
}

// openHosts makes the relay ready for hosts.
func (s *servers) openHosts(hosts []operation.Host) error {
	if len(hosts) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.relay == nil {
		s.relay = relay.New(relay.Options{Publish: s.options.Publish, Roots: relay.SystemRoots, Record: s.record, Memory: s.options.Memory})
	}
	return s.relay.SetHosts(hosts)
}

// serveOpened carries a connection to a host whose TLS is opened.
func (s *servers) serveOpened(ctx context.Context, c relay.Connection) {
	s.mu.Lock()
	r := s.relay
	s.mu.Unlock()
	r.Serve(ctx, c) // a policy that opens a host made it
}

func (s *servers) startResolver(ctx context.Context, p *firewall.Policy) error {
	first, last, err := portsOutside(portRange)
	if err != nil {
		return err
	}
	ipv6 := s.options.Kernel.Facts().IPv6
	if s.resolverAt, err = listen(firewall.ResolverPort, ipv6, openResolver); err != nil {
		return err
	}
	port := s.resolverAt[0].addr().Port()
	s.resolver = resolver.New(resolver.Options{
		Policy:    p,
		Installer: s.allowed,
		Record:    s.record,
		Complete:  s.options.Lookup.Complete,
		Meant: func(client netip.AddrPort, proto firewall.Proto) netip.AddrPort {
			server := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port)
			if client.Addr().Is6() {
				server = netip.AddrPortFrom(netip.IPv6Loopback(), port)
			}
			meant, _ := s.options.Kernel.Meant(proto, client, server)
			return meant
		},
		Upstreams: s.options.Resolvers.Servers(),
		Dialer:    net.Dialer{Control: mark},
		FirstPort: first,
		LastPort:  last,
		Cache:     cachedAnswers,
		MixCase:   !slices.ContainsFunc(s.options.Resolvers.Addrs, netip.Addr.IsLoopback),
		Search:    s.options.Resolvers.Search,
		NoIPv6:    !ipv6,
	})
	for _, e := range s.resolverAt {
		go func() {
			s.failures <- ended("the resolver ended, no name can be resolved any more", s.resolver.Serve(ctx, e.udp, e.tcp))
		}()
	}
	return nil
}

// siteNames are the names by which addresses are open, of which the resolver asks for more.
type siteNames struct {
	*resolver.Server
	*allowedSet
}

func (s *servers) startGuard(ctx context.Context, p *firewall.Policy) (err error) {
	if s.guardAt, err = listen(firewall.GuardPort, s.options.Kernel.Facts().IPv6, openGuard); err != nil {
		return err
	}
	s.guard = guard.New(guard.Options{
		Policy:      p,
		Names:       siteNames{s.resolver, s.allowed},
		Record:      s.record,
		Dialer:      net.Dialer{Control: mark},
		Destination: guard.OriginalDestination,
		Relay:       s.serveOpened,
	})
	for _, e := range s.guardAt {
		go func() {
			s.failures <- ended("the guard ended, no web site can be reached any more", s.guard.Serve(ctx, e.tcp))
		}()
	}
	return nil
}

func ended(what string, err error) error {
	return fmt.Errorf("%s: %w", what, errors.Join(err, errors.New("socket closed")))
}

// setPolicy makes p judge from now on.
func (s *servers) setPolicy(p *firewall.Policy) {
	if s.resolver != nil {
		s.resolver.SetPolicy(p)
	}
	if s.guard != nil {
		s.guard.SetPolicy(p)
	}
}

// setPorts puts the ports of the servers that run into facts.
func (s *servers) setPorts(facts *firewall.Facts) {
	if port := portOf(s.resolverAt); port != 0 {
		facts.ResolverPort = port
	}
	if port := portOf(s.guardAt); port != 0 {
		facts.GuardPort = port
	}
}

// guardSources are our own ends of the connections that the guard made.
func (s *servers) guardSources() map[netip.AddrPort]bool {
	if s.guard == nil {
		return nil
	}
	return s.guard.Sources()
}

// endpoint is a server's place on one address.
type endpoint struct {
	udp net.PacketConn // nil for the guard
	tcp net.Listener
}

func (e endpoint) addr() netip.AddrPort { return e.tcp.Addr().(*net.TCPAddr).AddrPort() }

func (e endpoint) close() {
	if e.udp != nil {
		e.udp.Close()
	}
	e.tcp.Close()
}

// portOf is the port of a server's endpoints, 0 when there are none.
func portOf(endpoints []endpoint) uint16 {
	if len(endpoints) == 0 {
		return 0
	}
	return endpoints[0].addr().Port()
}

func openResolver(addr netip.AddrPort) (endpoint, error) {
	udp, tcp, err := resolver.Listen(addr)
	return endpoint{udp, tcp}, err
}

func openGuard(addr netip.AddrPort) (endpoint, error) {
	network := "tcp4"
	if addr.Addr().Is6() {
		network = "tcp6"
	}
	tcp, err := net.Listen(network, addr.String())
	if err != nil {
		return endpoint{}, fmt.Errorf("opening the guard's sockets: %w", err)
	}
	return endpoint{tcp: tcp}, nil
}

// listen opens a server's endpoint on 127.0.0.1 and, when the machine has that
// address, on ::1 with the same port: the wanted one, or else any.
func listen(wanted uint16, ipv6 bool, open func(netip.AddrPort) (endpoint, error)) ([]endpoint, error) {
	var failure error
	for _, port := range []uint16{wanted, 0, 0, 0} {
		v4, err := open(netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port))
		if err != nil {
			failure = err
			continue
		}
		if !ipv6 {
			return []endpoint{v4}, nil
		}
		v6, err := open(netip.AddrPortFrom(netip.IPv6Loopback(), v4.addr().Port()))
		if err == nil {
			return []endpoint{v4, v6}, nil
		}
		if errors.Is(err, syscall.EADDRNOTAVAIL) {
			return []endpoint{v4}, nil // IPv6 is there but switched off on loopback
		}
		v4.close()
		failure = err
	}
	return nil, diag.WithHint(failure, "is the loopback interface up?")
}

// mark is the Control function of the servers' own connections, which the rules
// let out.
func mark(_, _ string, c syscall.RawConn) error {
	var failure error
	err := c.Control(func(fd uintptr) {
		failure = os.NewSyscallError("setsockopt SO_MARK", unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_MARK, firewall.Mark))
	})
	return errors.Join(err, failure)
}
