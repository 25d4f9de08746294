package relay

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/credential"
	"github.com/org/claude-sandbox/firewall/operation"
)

const (
	handshakeTimeout = 30 * time.Second // of one side
	headTimeout      = 30 * time.Second
	idleTimeout      = 10 * time.Minute // without a request
	maxConnections   = 512
	maxHead          = 64 << 10 // bytes
	maxResponseHead  = 256 << 10
	maxAuthorities   = 32
	maxStreams       = 200
	maxRequests      = 512      // at a time, on all connections together: each has buffers of some 200 KiB
	streamBuffer     = 64 << 10 // bytes of a stream that the other side has not read
	wideBuffer       = 1 << 20  // the same of the answers to a few requests, also to a host that is far away
	maxWide          = 8        // requests at a time, on all connections together
	maxFrame         = 16 << 10 // bytes of one HTTP/2 frame of a client: what every peer may send (RFC 9113 section 4.2)
	maxHostFrame     = 64 << 10 // of a host: for each frame the relay sends two that give back its room
)

// Options are what a Relay works with. All fields are required.
type Options struct {
	// Publish makes the certificates of the sandbox's authorities, as PEM, known to
	// the programs that shall trust them.
	Publish func(certificates []byte) error

	// Roots are the authorities by which the hosts' certificates are verified. New
	// calls it once, and does not wait for it.
	Roots func() (*x509.CertPool, error)

	// Record is told every decision. When an allow cannot be recorded it does not
	// happen.
	Record func(audit.Record) error

	// Memory is what the sandbox did that decisions depend on.
	Memory *operation.Memory

	// For a KeyServer's relay: the keys, and the function that is told of their use. Without them the
	// relay judges; with them the firewall has judged, and the keys' entries decide
	// which key goes with a request.
	keys *credential.Keys
	used func(name, host, operation string)
}

// Connection is a client's connection to a name that was judged.
type Connection struct {
	Client net.Conn // the first byte to read is the ClientHello's
	Name   string   // canonical; the SNI's
	Src    netip.AddrPort
	Dst    netip.AddrPort // where the client meant to go

	// Dial connects to Name at an address that is its own at this moment.
	Dial func(context.Context) (net.Conn, error)

	// Rules are those in force; audit says that a refusal is only recorded. They
	// are asked for each request.
	Rules func() (rules *operation.Rules, audit bool)
}

// Relay serves opened connections. It is safe for concurrent use.
type Relay struct {
	options  Options
	roots    func() (*x509.CertPool, error)
	sessions tls.ClientSessionCache // of hosts
	chosen   choices
	slots    chan struct{}
	requests chan struct{} // holds a value for each that is under way
	wide     chan struct{} // the same of those that go by a session's wide transport
	arrived  *arrivals
	server   *http.Server
	buffers  buffers
	room     *operation.Room

	mu          sync.Mutex
	authorities []*authority // the first one that covers a name certifies it
	holder      *KeysProcess // nil = no host has a key
}

// New returns a relay, which serves until Close.
func New(o Options) *Relay {
	r := &Relay{
		options: o, roots: sync.OnceValues(o.Roots), sessions: tls.NewLRUClientSessionCache(64),
		slots: make(chan struct{}, maxConnections), requests: make(chan struct{}, maxRequests), wide: make(chan struct{}, maxWide),
		arrived: newArrivals(), room: operation.NewRoom(),
	}
	go func() { _, _ = r.roots() }()     // while no program of the agent's can have changed them; dial has the error
	silent := log.New(io.Discard, "", 0) // net/http's lines are about clients' faults, which have records
	r.server = &http.Server{
		Handler:                      r.handler(silent),
		TLSConfig:                    &tls.Config{NextProtos: []string{"h2", "http/1.1"}},
		ReadHeaderTimeout:            headTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               maxHead,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     silent,
		ConnContext:                  func(ctx context.Context, c net.Conn) context.Context { return withSession(ctx, sessionOf(c)) },
		HTTP2:                        boundedStreams(maxFrame, streamBuffer),
	}
	if o.keys != nil { // its clients' connections have no TLS
		r.server.Protocols = new(http.Protocols)
		r.server.Protocols.SetHTTP1(true)
		r.server.Protocols.SetUnencryptedHTTP2(true)
	}
	go func() { _ = r.server.Serve(r.arrived) }() // it ends with arrived, in Close
	return r
}

// boundedStreams bound the memory of HTTP/2's streams. The buffer of a connection
// is what its streams can hold together: with less, streams without a reader
// would stop the others. A frame fits into the buffer of a stream.
func boundedStreams(frame, buffer int) *http.HTTP2Config {
	return &http.HTTP2Config{
		MaxReadFrameSize:              frame,
		MaxConcurrentStreams:          maxStreams,
		MaxReceiveBufferPerStream:     buffer,
		MaxReceiveBufferPerConnection: maxStreams * buffer,
	}
}

// Close ends every connection.
func (r *Relay) Close() error {
	return errors.Join(r.server.Close(), r.arrived.Close())
}

// SetHosts makes the relay ready for these hosts. Those that no authority is good
// for get one, and its certificate is published: what programs trust already stays
// good, and a host that is no longer opened is asked for by nothing.
func (r *Relay) SetHosts(hosts []operation.Host) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var lacking []operation.Host
	for _, h := range hosts {
		if r.authorityFor(h.Name) == nil {
			lacking = append(lacking, h)
		}
	}
	if len(lacking) == 0 {
		return nil
	}
	if len(r.authorities) == maxAuthorities {
		return fmt.Errorf("hosts were added to the operations of this sandbox %d times, which is the limit: start it again", maxAuthorities)
	}
	a, err := newAuthority(lacking)
	if err != nil {
		return err
	}
	var certificates []byte
	for _, a := range append(slices.Clone(r.authorities), a) {
		certificates = append(certificates, a.pem()...)
	}
	if err := r.options.Publish(certificates); err != nil {
		return err
	}
	r.authorities = append(r.authorities, a)
	return nil
}

// SetKeysProcess has the connections to hosts that may have a key made by the process
// that holds the keys, until another call: when the process is gone, these hosts cannot
// be reached. nil = no host has a key any more.
func (r *Relay) SetKeysProcess(k *KeysProcess) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.holder = k
}

// keysProcess returns the process that connects to a host; nil = the relay does itself.
func (r *Relay) keysProcess(name string, port uint16) *KeysProcess {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.holder == nil || !r.holder.holds(name, port) {
		return nil
	}
	return r.holder
}

// authorityFor returns the authority for a name; nil = none is good for it. The
// caller holds the mutex.
func (r *Relay) authorityFor(name string) *authority {
	i := slices.IndexFunc(r.authorities, func(a *authority) bool { return a.covers(name) })
	if i < 0 {
		return nil
	}
	return r.authorities[i]
}

// leaf returns a certificate for a name.
func (r *Relay) leaf(name string) (*tls.Certificate, error) {
	r.mu.Lock()
	a := r.authorityFor(name)
	r.mu.Unlock()
	if a == nil {
		return nil, fmt.Errorf("no certificate of the sandbox is good for %s", name)
	}
	return a.leaf(name)
}

// Serve carries a connection to its end, which it also has when ctx is done.
// Client is closed then. Refusals are recorded.
func (r *Relay) Serve(ctx context.Context, c Connection) {
	ctx, cancel := context.WithCancel(ctx)
	s := newSession(r, c)
	defer func() { cancel(); s.close() }()
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	default:
		s.recordRefusal("too many connections to opened hosts at a time")
		return
	}
	conn, err := s.handshake(ctx)
	if err != nil {
		s.recordHandshake(err)
		return
	}
	if !r.arrived.put(conn) {
		return
	}
	select {
	case <-s.client.closed:
	case <-ctx.Done():
	}
}

// arrivals is a listener for connections that others accepted.
type arrivals struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newArrivals() *arrivals {
	return &arrivals{conns: make(chan net.Conn), closed: make(chan struct{})}
}

// put reports whether the server took a connection.
func (a *arrivals) put(c net.Conn) bool {
	select {
	case a.conns <- c:
		return true
	case <-a.closed:
		return false
	}
}

func (a *arrivals) Accept() (net.Conn, error) {
	select {
	case c := <-a.conns:
		return c, nil
	case <-a.closed:
		return nil, net.ErrClosed
	}
}

func (a *arrivals) Close() error {
	a.once.Do(func() { close(a.closed) })
	return nil
}

func (a *arrivals) Addr() net.Addr { return &net.TCPAddr{} }

// buffers lend the memory through which bodies pass.
type buffers struct{ pool sync.Pool }

const bufferSize = maxHostFrame

func (b *buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[bufferSize]byte); ok {
		return p[:]
	}
	return make([]byte, bufferSize)
}

func (b *buffers) Put(p []byte) { b.pool.Put((*[bufferSize]byte)(p)) }
