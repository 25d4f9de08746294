package relay

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/credential"
	"github.com/org/claude-sandbox/firewall/operation"
)

// The keys' tunnel is HTTP/2 over one byte stream. The firewall asks for each of its
// connections to a host that has a key:
//
//	POST /sealed/ID  both bodies: the bytes between the host and the keys' process, TLS
//	POST /open/ID    both bodies: HTTP between the firewall and the keys' process
//
// It answers a sealed stream when it wants a connection to the host, and the next one
// is there by then. POST /ready says that the firewall sends requests this way.
// HTTP inside is HTTP/1.1 or HTTP/2, whichever the host chose in TLS.
const (
	sealedPath = "/sealed/"
	openPath   = "/open/"
	readyPath  = "/ready"

	fieldHost     = "Sbx-Host"     // "NAME:PORT"
	fieldOffered  = "Sbx-Offered"  // protocols that the agent's program offers, with commas
	fieldProtocol = "Sbx-Protocol" // in the answer: the one that the host chose
	fieldFailure  = "Sbx-Failure"  // in the answer: why there is no connection

	keysAuthority = "keys.sbx.invalid" // is never resolved

	maxKeyed    = 128       // connections at a time
	keyedBuffer = 128 << 10 // bytes of a stream that the other side has not read
)

// keyedStreams bound the memory of the keys' tunnel on either side.
func keyedStreams() *http.HTTP2Config {
	return &http.HTTP2Config{
		MaxReadFrameSize:     maxFrame, // the other side has a buffer of this size for each stream
		MaxConcurrentStreams: 4 * maxKeyed, StrictMaxConcurrentRequests: true,
		MaxReceiveBufferPerStream: keyedBuffer, MaxReceiveBufferPerConnection: 4 * maxKeyed * keyedBuffer,
	}
}

// KeysProcess is the firewall's end of the tunnel to the process that holds keys.
type KeysProcess struct {
	hosts     []operation.Host
	transport *http.Transport
	stream    net.Conn
	slots     chan struct{}

	ended chan struct{}
	last  atomic.Int64 // the id of the newest connection
}

// NewKeysProcess speaks over stream to a KeyServer, which has keys for hosts. It takes
// the stream over.
func NewKeysProcess(stream net.Conn, hosts []operation.Host) *KeysProcess {
	k := &KeysProcess{hosts: hosts, slots: make(chan struct{}, maxKeyed), ended: make(chan struct{})}
	k.stream = &closing{stream, sync.OnceFunc(func() { close(k.ended) })}
	first := make(chan net.Conn, 1)
	first <- k.stream
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	k.transport = &http.Transport{
		Protocols: protocols, HTTP2: keyedStreams(), DisableCompression: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			select {
			case c := <-first:
				return c, nil
			default:
			}
			select { // the transport may dial before it knows of the first one, and takes that
			case <-k.ended:
				return nil, errors.New("it has ended")
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
	}
	return k
}

// Announce tells the keys' process that requests go by it from now on.
func (k *KeysProcess) Announce() error {
	res, err := k.post(context.Background(), readyPath, http.Header{}, io.NopCloser(strings.NewReader("")))
	if err == nil {
		err = res.Body.Close()
	}
	return err
}

// Close ends the tunnel and every connection in it.
func (k *KeysProcess) Close() error { return k.stream.Close() }

// holds reports whether requests to a host may have a key.
func (k *KeysProcess) holds(name string, port uint16) bool {
	return slices.ContainsFunc(k.hosts, func(h operation.Host) bool { return h.Matches(name, port) })
}

// connect has the keys' process speak with a host, to which dial connects whenever it
// asks. It returns a connection in which HTTP is written, and the protocol that the
// host chose.
func (k *KeysProcess) connect(ctx context.Context, name string, port uint16, offered []string,
	dial func(context.Context) (net.Conn, error)) (net.Conn, string, error) {
	select {
	case k.slots <- struct{}{}:
	default:
		return nil, "", fmt.Errorf("more than %d connections to hosts that have keys at a time", maxKeyed)
	}
	whole, end := context.WithCancel(context.WithoutCancel(ctx)) // the streams outlive ctx, which is of the handshake
	closed := sync.OnceFunc(func() { end(); <-k.slots })
	id := strconv.FormatInt(k.last.Add(1), 10)
	head := http.Header{fieldHost: {net.JoinHostPort(name, strconv.Itoa(int(port)))}, fieldOffered: {strings.Join(offered, ",")}}
	dials := &dials{process: k, path: sealedPath + id, head: head, dial: dial}
	go dials.serve(whole)
	stop := context.AfterFunc(ctx, closed)
	near, far := net.Pipe() // it has deadlines, which a server of HTTP/1.1 needs
	open, err := k.post(whole, openPath+id, head, far)
	switch {
	case !stop():
		err = cmp.Or(err, context.Cause(ctx))
	case err == nil && open.Header.Get(fieldFailure) != "":
		open.Body.Close()
		err = cmp.Or(dials.failed(), errors.New(open.Header.Get(fieldFailure)))
	case err != nil:
		err = fmt.Errorf("the process that has its key does not answer: %w", err)
	}
	if err != nil {
		closed()
		near.Close()
		far.Close()
		return nil, "", err
	}
	go func() {
		defer closed()
		defer far.Close()
		defer open.Body.Close()
		_, _ = io.Copy(far, open.Body)
	}()
	return &closing{near, closed}, open.Header.Get(fieldProtocol), nil
}

// dials makes the connections to a host for which the keys' process asks: each is a
// stream that it answers when it wants one.
type dials struct {
	process *KeysProcess
	path    string
	head    http.Header
	dial    func(context.Context) (net.Conn, error)

	mu  sync.Mutex
	err error
}

// serve ends with ctx.
func (d *dials) serve(ctx context.Context) {
	for {
		r, w := io.Pipe()
		res, err := d.process.post(ctx, d.path, d.head, r)
		if err != nil {
			return
		}
		go d.connect(ctx, res.Body, w)
	}
}

// connect dials, and copies between the host and the streams until either ends.
func (d *dials) connect(ctx context.Context, from io.ReadCloser, to *io.PipeWriter) {
	defer from.Close()
	plain, err := d.dial(ctx)
	if err != nil {
		d.mu.Lock()
		d.err = err
		d.mu.Unlock()
		to.Close()
		return
	}
	defer plain.Close()
	go func() {
		_, _ = io.Copy(to, plain)
		to.Close()
	}()
	_, _ = io.Copy(plain, from)
}

// failed is why the newest connection was not made; nil = it was.
func (d *dials) failed() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

// closing is a connection whose end ends more.
type closing struct {
	net.Conn
	also func()
}

func (c *closing) Close() error {
	err := c.Conn.Close()
	c.also()
	return err
}

// post opens a stream, whose body from is. It is closed at the stream's end.
func (k *KeysProcess) post(ctx context.Context, path string, head http.Header, from io.ReadCloser) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+keysAuthority+path, from)
	if err != nil {
		return nil, err
	}
	req.Header = head.Clone()
	res, err := k.transport.RoundTrip(req)
	if err == nil && res.StatusCode != http.StatusOK {
		res.Body.Close()
		err = fmt.Errorf("it answered %s", res.Status)
	}
	return res, err
}

// KeyServer is the process that holds keys: the other end of a KeysProcess. It does not
// trust the firewall's word that a request was allowed. It speaks TLS with the host
// itself, over bytes that the firewall carries, so that the key is nowhere else.
type KeyServer struct {
	relay  *Relay
	server *http.Server
	ready  chan struct{}
	first  sync.Once // closes it

	mu       sync.Mutex
	meetings map[string]*meeting // by id
}

// meeting is where the streams of a connection meet.
type meeting struct {
	sealed chan net.Conn // takes what leads to the host
	users  int
}

// NewKeyServer serves keys. roots are those by which hosts are verified; used is told
// each key that went with a request, the request's host and what the request did.
func NewKeyServer(keys *credential.Keys, roots func() (*x509.CertPool, error), used func(name, host, operation string)) *KeyServer {
	s := &KeyServer{meetings: map[string]*meeting{}, ready: make(chan struct{})}
	s.relay = New(Options{
		Roots: roots, Memory: operation.NewMemory(), keys: keys, used: used,
		Publish: func([]byte) error { return errors.New("the keys' process certifies no host") },
		Record:  func(audit.Record) error { return nil }, // the firewall has recorded it
	})
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	s.server = &http.Server{Protocols: protocols, HTTP2: keyedStreams(), Handler: s, ErrorLog: log.New(io.Discard, "", 0)}
	return s
}

// Serve serves one tunnel, to its end, and takes it over.
func (s *KeyServer) Serve(stream net.Conn) {
	l := newArrivals()
	ended := &closing{stream, func() { l.Close() }}
	go func() { l.put(ended) }()
	_ = s.server.Serve(l) // it ends with the stream
}

// Ready is closed when the firewall sends its requests this way.
func (s *KeyServer) Ready() <-chan struct{} { return s.ready }

// Close ends every tunnel.
func (s *KeyServer) Close() error { return errors.Join(s.server.Close(), s.relay.Close()) }

// ServeHTTP serves the streams of a connection.
func (s *KeyServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == readyPath {
		s.first.Do(func() { close(s.ready) })
		return
	}
	host, number, err := net.SplitHostPort(r.Header.Get(fieldHost))
	port, err2 := strconv.ParseUint(number, 10, 16)
	if err != nil || err2 != nil || r.Method != http.MethodPost {
		http.Error(w, "no connection", http.StatusBadRequest)
		return
	}
	if id, ok := strings.CutPrefix(r.URL.Path, sealedPath); ok {
		s.serveSealed(w, r, id)
	} else if id, ok := strings.CutPrefix(r.URL.Path, openPath); ok {
		s.serveOpen(w, r, id, host, uint16(port))
	} else {
		http.NotFound(w, r)
	}
}

// meet returns the place where the streams of a connection meet. Each stream calls leave
// at its end.
func (s *KeyServer) meet(id string) (sealed chan net.Conn, leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.meetings[id]
	if m == nil {
		m = &meeting{sealed: make(chan net.Conn)}
		s.meetings[id] = m
	}
	m.users++
	return m.sealed, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if m.users--; m.users == 0 {
			delete(s.meetings, id)
		}
	}
}

// serveSealed waits until the connection wants to be led to the host.
func (s *KeyServer) serveSealed(w http.ResponseWriter, r *http.Request, id string) {
	meeting, leave := s.meet(id)
	defer leave()
	near, far := net.Pipe()
	defer far.Close()
	select {
	case meeting <- near:
		carry(w, r, far)
	case <-r.Context().Done():
	}
}

// serveOpen serves HTTP of the firewall's, which it has judged, as a session whose
// client is the stream.
func (s *KeyServer) serveOpen(w http.ResponseWriter, r *http.Request, id, host string, port uint16) {
	meeting, leave := s.meet(id)
	defer leave()
	near, far := net.Pipe()
	defer far.Close()
	session := newSession(s.relay, Connection{
		Client: near, Name: host, Dst: netip.AddrPortFrom(netip.IPv4Unspecified(), port),
		Dial: func(ctx context.Context) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
			defer cancel()
			select {
			case conn := <-meeting:
				return conn, nil
			case <-ctx.Done():
				return nil, errors.New("the firewall does not connect to it")
			}
		},
	})
	defer session.close()
	session.opening = make(chan struct{})
	for _, p := range strings.Split(r.Header.Get(fieldOffered), ",") {
		if p == "h2" || p == "http/1.1" {
			session.offered = append(session.offered, p)
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), 2*handshakeTimeout)
	defer cancel()
	if session.open(ctx); session.broken != nil {
		w.Header().Set(fieldFailure, strings.Join(strings.Fields(session.why(session.broken)), " "))
		return
	}
	w.Header().Set(fieldProtocol, session.protocol)
	if s.relay.arrived.put(session.client) {
		carry(w, r, far)
	}
}

// carry copies between a stream and a connection until either ends, and closes the
// connection.
func carry(w http.ResponseWriter, r *http.Request, conn net.Conn) {
	flush := http.NewResponseController(w)
	if flush.Flush() != nil {
		return
	}
	go func() {
		_, _ = io.Copy(conn, r.Body)
		conn.Close()
	}()
	buffer := make([]byte, maxFrame)
	for {
		n, err := conn.Read(buffer)
		if n > 0 {
			if _, err := w.Write(buffer[:n]); err != nil || flush.Flush() != nil {
				conn.Close()
				return
			}
		}
		if err != nil {
			return
		}
	}
}
