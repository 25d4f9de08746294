package resolver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
)

// Installer opens addresses in the packet filter and knows by which names.
type Installer interface {
	// Allow opens addr on ports for new connections until timeout is over. names are
	// what led to the address: the name that was asked for, then its aliases. An error
	// means that the address is not open, also when the policy has changed since the
	// question was judged.
	Allow(names []string, addr netip.Addr, ports []firewall.Port, timeout time.Duration) error

	// Known returns the addresses that are open by a name, in no order, as far as the
	// policy still allows the aliases on the way there.
	Known(name string) []netip.Addr
}

// Options configures a Server. Policy, Installer, Record and Upstreams are
// required.
type Options struct {
	Policy    *firewall.Policy // the first one, see Server.SetPolicy
	Installer Installer

	// Record is told every decision before the reply is sent. When it fails
	// the client gets SERVFAIL: what cannot be recorded does not happen.
	Record func(audit.Record) error

	// Complete adds to a record what is known of the process that asks; nil =
	// nothing is. It is called while an upstream is asked for an allowed name, so
	// that the search takes no time of its own.
	Complete func(*audit.Record)

	// Meant says where a client's message was sent before the packet filter led it
	// here; invalid when that is not known. nil = it never is. It is asked about
	// messages that are no question.
	Meant func(client netip.AddrPort, proto firewall.Proto) netip.AddrPort

	// Upstreams are asked in turn, beginning with the one that answered last;
	// the first one gets its chance again every minute.
	Upstreams []netip.AddrPort

	// Cache is how many answers are kept. 0 = none.
	Cache int

	// MixCase writes the letters of each question in upper and lower case at
	// random, so that a forger has to guess those too. An upstream that does not
	// repeat them is believed all the same. It is for upstreams that forgers can
	// send replies for.
	MixCase bool

	// Dialer opens the connections to the upstreams; its Control function sets
	// the mark that the packet filter lets pass. Its zero value sets none.
	Dialer net.Dialer

	// FirstPort and LastPort bound the ports that the questions are asked from.
	// They must not be those that the kernel gives to other sockets: an agent's
	// question that was led to us is known to the kernel by its address and
	// port, for half a minute after its end, and whatever comes from the same
	// port to the same server is taken for a part of it. 0 = any port.
	FirstPort, LastPort uint16

	// Search are the search domains of the machine. A name under one of them
	// that is not allowed does not exist, instead of being refused, so that
	// clients go on to the next completion.
	Search []string

	// NoIPv6 answers questions for IPv6 addresses with none.
	NoIPv6 bool

	// Timeout bounds one exchange with one upstream. 0 = 2 s.
	Timeout time.Duration
}

// Limits of what clients can make the server hold. They share its process, so
// the worst they achieve by reaching one is to make themselves wait.
const (
	maxInFlight   = 1024             // questions over UDP at a time; further ones wait in the socket
	socketBuffer  = 4 << 20          // bytes; the kernel takes some 800 for a short question
	maxConns      = 64               // TCP connections at a time
	maxLookups    = 64               // questions of Addresses at a time
	idleTimeout   = 10 * time.Second // of a TCP connection, RFC 7766 section 6.2.3
	maxUDPMessage = 4096             // bytes read of one question; no honest one has more than 512
)

// Server answers DNS questions. It is safe for concurrent use.
type Server struct {
	opts      Options
	policy    atomic.Pointer[firewall.Policy]
	budget    *budget
	cache     *cache
	pending   pending
	upstreams upstreams
	ours      sync.Map // each openQuestion

	lookups chan struct{} // one place for each question of Addresses
}

// New returns a server that is not listening yet.
func New(opts Options) *Server {
	if opts.Timeout == 0 {
		opts.Timeout = 2 * time.Second
	}
	s := &Server{
		opts: opts, budget: newBudget(time.Now), cache: newCache(opts.Cache, time.Now),
		upstreams: upstreams{now: time.Now, repeatsCase: make([]bool, len(opts.Upstreams))},
		lookups:   make(chan struct{}, maxLookups),
	}
	s.SetPolicy(opts.Policy)
	return s
}

// SetPolicy makes p decide about every question from now on, and about the
// answers to those that are under way. The cache is emptied.
func (s *Server) SetPolicy(p *firewall.Policy) {
	s.policy.Store(p)
	s.cache.clear()
}

// Listen opens a UDP and a TCP socket on addr with one port number. Port 0
// takes a free one. The UDP socket has room for a burst of questions from the
// start.
func Listen(addr netip.AddrPort) (net.PacketConn, net.Listener, error) {
	config := net.ListenConfig{Control: func(network, _ string, conn syscall.RawConn) error {
		if strings.HasPrefix(network, "udp") {
			enlargeBuffer(conn, socketBuffer)
		}
		return nil
	}}
	ctx := context.Background() // an address needs no look-up
	var err error
	for range 8 { // the port that is free for UDP can be taken for TCP
		var pc net.PacketConn
		if pc, err = config.ListenPacket(ctx, "udp", addr.String()); err != nil {
			break
		}
		port := pc.LocalAddr().(*net.UDPAddr).AddrPort().Port()
		var l net.Listener
		if l, err = config.Listen(ctx, "tcp", netip.AddrPortFrom(addr.Addr(), port).String()); err == nil {
			return pc, l, nil
		}
		pc.Close()
		if addr.Port() != 0 {
			break
		}
	}
	return nil, nil, fmt.Errorf("opening the resolver's sockets on %s: %w", addr, err)
}

// Serve answers on both sockets until ctx is done, then closes them and waits
// for the questions in flight. A nil error means that ctx ended it.
func (s *Server) Serve(ctx context.Context, pc net.PacketConn, l net.Listener) error {
	conn, ok := pc.(*net.UDPConn)
	if !ok {
		return fmt.Errorf("the resolver's UDP socket is a %T", pc)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		conn.Close()
		l.Close()
	})
	defer stop()

	errs := make(chan error, 2)
	go func() { errs <- s.serveUDP(ctx, conn) }()
	go func() { errs <- s.serveTCP(ctx, l) }()
	first := <-errs
	ended := ctx.Err() != nil
	cancel()
	second := <-errs
	if ended {
		return nil
	}
	return errors.Join(first, second)
}

// serveUDP answers up to maxInFlight questions at a time. When that many are
// under way nothing reads, so that the socket is the queue. The kernel counts the
// questions that find no room there.
func (s *Server) serveUDP(ctx context.Context, conn *net.UDPConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return fmt.Errorf("the resolver's UDP socket: %w", err)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	slots := make(chan struct{}, maxInFlight)
	buf := make([]byte, maxUDPMessage)
	for dropped := uint32(0); ; {
		slots <- struct{}{}
		n, client, err := conn.ReadFromUDPAddrPort(buf)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the resolver's UDP socket: %w", err)
		}
		message := bytes.Clone(buf[:n])
		wg.Go(func() {
			defer func() { <-slots }()
			if reply := s.respond(ctx, message, firewall.UDP, client); reply != nil {
				_, _ = conn.WriteToUDPAddrPort(reply, client) // a client whose reply is lost asks again
			}
		})
		// A question is dropped while others wait here, so one that is read later tells of it.
		if now := droppedDatagrams(raw); now != dropped {
			s.lost(int(now - dropped))
			dropped = now
		}
	}
}

func (s *Server) serveTCP(ctx context.Context, l net.Listener) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	slots := make(chan struct{}, maxConns)
	for {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			if err == nil {
				conn.Close()
			}
			return nil
		}
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return fmt.Errorf("the resolver's TCP socket: %w", err)
			}
			continue // the client was gone already
		}
		select {
		case slots <- struct{}{}:
		default:
			conn.Close()
			s.lost(1)
			continue
		}
		wg.Go(func() {
			defer func() { <-slots }()
			stop := context.AfterFunc(ctx, func() { conn.Close() })
			defer stop()
			defer conn.Close()
			s.serveConn(ctx, conn)
		})
	}
}

// serveConn answers the messages of one stream one after the other. Each is
// judged on its own, however many arrive in one segment.
func (s *Server) serveConn(ctx context.Context, conn net.Conn) {
	for {
		if conn.SetDeadline(time.Now().Add(idleTimeout)) != nil {
			return
		}
		message, err := readFramed(conn)
		if err != nil {
			return
		}
		reply := s.respond(ctx, message, firewall.TCP, source(conn.RemoteAddr()))
		if reply == nil {
			return
		}
		if conn.SetDeadline(time.Now().Add(idleTimeout)) != nil {
			return
		}
		if _, err := conn.Write(framed(reply)); err != nil {
			return
		}
	}
}

// lost records that questions came faster than they could be looked at.
func (s *Server) lost(questions int) { s.record(audit.LostQuestions(questions)) }

// source is a client's address; invalid when it has none.
func source(a net.Addr) netip.AddrPort {
	if a, ok := a.(interface{ AddrPort() netip.AddrPort }); ok {
		return a.AddrPort()
	}
	return netip.AddrPort{}
}
