package guard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/operation"
	"github.com/org/claude-sandbox/firewall/relay"
)

// Policy decides about a connection. *firewall.Policy is one.
type Policy interface {
	Decide(name string, addr netip.Addr, port uint16, proto firewall.Proto) firewall.Decision
	DecideAlias(name, target string) firewall.Decision
	Operations() *operation.Rules
	Mode() firewall.Mode
}

// Names knows which addresses are a name's. *resolver.Server is one.
type Names interface {
	// Addresses returns the addresses that name has at the moment, and asks
	// for them anew when want is not among those that are known. It returns
	// none for a name that may not be resolved.
	Addresses(ctx context.Context, name string, want netip.Addr) []netip.Addr

	// Aliases returns the aliases on the way from name to those addresses.
	Aliases(name string) []string

	// NamesAt returns the names that have led to an address, in no order.
	NamesAt(addr netip.Addr) []string
}

// Options configures a Server. Everything but Relay, Timeout and MaxConns is
// required.
type Options struct {
	Policy Policy // the first one, see Server.SetPolicy
	Names  Names

	// Record is told every decision: one for each connection, and one for each
	// further name on it. When an allow cannot be recorded it does not happen.
	Record func(audit.Record) error

	// Dialer opens the connections to the destinations; its Control function
	// sets the mark that the packet filter lets pass.
	Dialer net.Dialer

	// Destination says where the client of a redirected connection meant to
	// go. OriginalDestination is the one for the packet filter's REDIRECT.
	Destination func(*net.TCPConn) (netip.AddrPort, error)

	// Relay carries a connection to a host whose TLS is opened to its end, see
	// package relay. nil = such connections are refused.
	Relay func(context.Context, relay.Connection)

	// Timeout bounds the wait for a complete ClientHello or HTTP head, for
	// the server's first answer, and for a connection to one address. 0 = 30 s.
	Timeout time.Duration

	// MaxConns is how many connections are held at a time; more are recorded
	// and reset. 0 = 16,384, or half of the files that the process may open.
	MaxConns int
}

const (
	defaultTimeout  = 30 * time.Second
	defaultMaxConns = 16384
	filesPerConn    = 2   // two sockets; bytes pass without a pipe where there is no file for one
	filesElsewhere  = 512 // for pipes and the rest of the process
	acceptPause     = 10 * time.Millisecond
)

// Server judges and passes on connections. It is safe for concurrent use.
type Server struct {
	opts       Options
	slots      chan struct{}
	largeHeads chan struct{} // a place for each client whose first message is large, see conn.more

	mu     sync.Mutex
	policy Policy
	conns  map[*conn]bool // those that were allowed
}

// New returns a server that is not listening yet.
func New(opts Options) *Server {
	if opts.Timeout == 0 {
		opts.Timeout = defaultTimeout
	}
	if opts.MaxConns == 0 {
		opts.MaxConns = defaultMaxConns
		var files unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err == nil && files.Cur < defaultMaxConns*filesPerConn+filesElsewhere {
			opts.MaxConns = max(16, (int(files.Cur)-filesElsewhere)/filesPerConn)
		}
	}
	return &Server{
		opts: opts, slots: make(chan struct{}, opts.MaxConns), largeHeads: make(chan struct{}, maxLargeHeads),
		policy: opts.Policy, conns: map[*conn]bool{},
	}
}

// SetPolicy makes p decide from now on, and resets the connections to names
// that it does not allow, or whose TLS it opens where it was sealed, or seals.
func (s *Server) SetPolicy(p Policy) {
	s.mu.Lock()
	defer s.mu.Unlock()
	opensOthers := !slices.Equal(s.policy.Operations().Hosts(), p.Operations().Hosts())
	s.policy = p
	for c := range s.conns {
		// The address of one that goes by its address could be that of a host which is opened now.
		if !c.allowed(p) || c.byAddress && opensOthers {
			c.cancel()
		}
	}
}

// allowed reports whether p allows all that c has been for: the replies to
// earlier requests may still be under way. The caller holds the mutex.
func (c *conn) allowed(p Policy) bool {
	return !slices.ContainsFunc(c.sites, func(at site) bool {
		if !at.decide(p, c.dst).Allowed() || p.Operations().Opens(at.name, c.dst.Port()) != c.opened {
			return true
		}
		for _, dst := range c.relayed {
			if !at.decide(p, dst).Allowed() {
				return true
			}
		}
		return false
	})
}

// site is a name that a connection is for, and what it is an alias of.
type site struct {
	name    string
	aliases []string
}

// decide judges the name at a destination, and then its aliases.
func (at site) decide(p Policy, dst netip.AddrPort) firewall.Decision {
	d := p.Decide(at.name, dst.Addr(), dst.Port(), firewall.TCP)
	for _, alias := range at.aliases {
		if !d.Allowed() {
			break
		}
		if a := p.DecideAlias(at.name, alias); !a.Allowed() {
			d = a
		}
	}
	return d
}

// inForce returns the policy that decides now.
func (s *Server) inForce() Policy {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.policy
}

// admit decides once more and remembers, at one time, that c speaks to a name:
// no policy can come in between and overlook c.
func (s *Server) admit(c *conn, at site) firewall.Decision {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := at.decide(s.policy, c.dst)
	if !d.Allowed() {
		return d
	}
	c.opened = s.policy.Operations().Opens(at.name, c.dst.Port())
	if c.opened && c.layer != audit.LayerSNI {
		reason := "entries name operations at " + at.name + ", which is reached by TLS only"
		return firewall.Decision{Verdict: firewall.Deny, Rule: ruleGuard, Reason: reason}
	}
	s.conns[c] = true
	if i := c.siteIndex(at.name); i >= 0 {
		c.sites[i] = at
	} else {
		c.sites = append(c.sites, at)
	}
	return d
}

// connected remembers the destination's side of c, which is where every further
// name on it leads. That may be another address than the one which the client
// chose, and a policy that has come since may refuse it.
func (s *Server) connected(c *conn, upstream *net.TCPConn, addr netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.upstream = upstream
	c.dst = netip.AddrPortFrom(addr, c.dst.Port())
	if !c.allowed(s.policy) {
		c.cancel()
	}
}

// Sources returns our own addresses of all connections to destinations: by
// them the connections that passed the guard are known from those that began
// when there was none.
func (s *Server) Sources() map[netip.AddrPort]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	sources := make(map[netip.AddrPort]bool, len(s.conns))
	add := func(upstream *net.TCPConn) {
		if a, ok := upstream.LocalAddr().(*net.TCPAddr); ok {
			sources[unmap(a.AddrPort())] = true
		}
	}
	for c := range s.conns {
		if c.upstream != nil {
			add(c.upstream)
		}
		for upstream := range c.relayed {
			add(upstream)
		}
	}
	return sources
}

func (s *Server) forget(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// Serve takes connections from l, a TCP listener, until ctx is done, then
// closes it and every connection. A nil error means that ctx ended it.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	for {
		accepted, err := l.Accept()
		if ctx.Err() != nil {
			if err == nil {
				accepted.Close()
			}
			return nil
		}
		switch {
		case err == nil:
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("the guard's socket: %w", err)
		default:
			// The client is gone, or no file is free for now.
			time.Sleep(acceptPause)
			continue
		}
		client, ok := accepted.(*net.TCPConn)
		if !ok {
			accepted.Close()
			return fmt.Errorf("the guard's socket gives connections of type %T, not TCP", accepted)
		}
		select {
		case s.slots <- struct{}{}:
		default:
			s.turnAway(client)
			continue
		}
		wg.Go(func() {
			defer func() { <-s.slots }()
			s.serve(ctx, client)
		})
	}
}

// turnAway refuses a connection beyond MaxConns at once: one that waited for a
// place could wait for ever.
func (s *Server) turnAway(client *net.TCPConn) {
	defer reset(client)
	c := &conn{server: s, client: stream{TCPConn: client}}
	var err error
	if c.dst, err = s.opts.Destination(client); err != nil {
		return
	}
	c.dst = unmap(c.dst)
	c.layer = usualLayer(c.dst.Port())
	why := fmt.Sprintf("the guard holds %d connections already, which is its limit", cap(s.slots))
	_ = c.record(firewall.Decision{Verdict: firewall.Deny, Rule: ruleGuard, Reason: why}, "")
}

// reset closes a connection so that the other side sees an error, not an end.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0)
	c.Close()
}

// OriginalDestination asks the kernel where a connection went before the
// packet filter's REDIRECT led it here. For one that was not redirected that is
// our own address.
func OriginalDestination(c *net.TCPConn) (netip.AddrPort, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return netip.AddrPort{}, err
	}
	local, ok := c.LocalAddr().(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}, fmt.Errorf("finding the destination: the address %v is not TCP", c.LocalAddr())
	}
	var dst netip.AddrPort
	var failure error
	err = raw.Control(func(fd uintptr) {
		if local.AddrPort().Addr().Unmap().Is4() {
			dst, failure = originalDst4(int(fd))
		} else {
			dst, failure = originalDst6(int(fd))
		}
	})
	if err = errors.Join(err, failure); err != nil {
		return netip.AddrPort{}, fmt.Errorf("finding the destination: %w", err)
	}
	return dst, nil
}

// originalDst4 is SO_ORIGINAL_DST. The sockaddr_in that the kernel writes fits
// the buffer of an option that the library can read: family, port, address.
func originalDst4(fd int) (netip.AddrPort, error) {
	m, err := unix.GetsockoptIPv6Mreq(fd, unix.SOL_IP, unix.SO_ORIGINAL_DST)
	if err != nil {
		return netip.AddrPort{}, err
	}
	raw := m.Multiaddr
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte(raw[4:8])), uint16(raw[2])<<8|uint16(raw[3])), nil
}

// originalDst6 is IP6T_SO_ORIGINAL_DST, which writes a sockaddr_in6.
func originalDst6(fd int) (netip.AddrPort, error) {
	m, err := unix.GetsockoptIPv6MTUInfo(fd, unix.SOL_IPV6, unix.SO_ORIGINAL_DST)
	if err != nil {
		return netip.AddrPort{}, err
	}
	port := m.Addr.Port // in network byte order
	return netip.AddrPortFrom(netip.AddrFrom16(m.Addr.Addr), port<<8|port>>8), nil
}
