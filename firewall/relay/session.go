package relay

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
)

// ruleRelay is the rule of what the relay refuses whatever the entries say.
const ruleRelay = "relay: tls"

// session is one client's connection and its connections to the host.
type session struct {
	relay  *Relay
	to     Connection
	client *clientConn

	// From the handshake.
	protocol string // "h2", "http/1.1", or "" when the host chose none
	offered  []string
	said     bool          // the client has got its answer, with the certificate
	opening  chan struct{} // closed when what follows is known; nil = nothing asks the host

	// The host gives each stream of a connection the same room, so a few at a time go by a
	// connection with much of it. In HTTP/1.1, where a connection has no streams, wide is nil.
	transport, wide *http.Transport
	broken          error // why the host cannot be spoken to

	mu    sync.Mutex
	ready net.Conn           // the first connection to the host; nil once it is used
	hosts map[*hostConn]bool // open connections to the host
	over  bool
}

func newSession(r *Relay, c Connection) *session {
	s := &session{relay: r, to: c, hosts: map[*hostConn]bool{}}
	s.client = &clientConn{Conn: c.Client, session: s, closed: make(chan struct{})}
	return s
}

// clientConn tells the session of its end, and leads from a connection to it.
type clientConn struct {
	net.Conn
	session *session
	once    sync.Once
	closed  chan struct{}
}

func (c *clientConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

type sessionKey struct{}

func withSession(ctx context.Context, s *session) context.Context {
	return context.WithValue(ctx, sessionKey{}, s)
}

// sessionOf returns the session of a connection that handshake returned, or of a
// session's client.
func sessionOf(c net.Conn) *session {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	return c.(*clientConn).session
}

// close ends both sides. The context of handshake has ended.
func (s *session) close() {
	s.client.Close()
	if s.opening != nil {
		<-s.opening
	}
	s.mu.Lock()
	s.over = true
	hosts := s.hosts
	s.hosts = nil
	s.mu.Unlock()
	for h := range hosts {
		h.Conn.Close()
	}
	for _, t := range []*http.Transport{s.transport, s.wide} {
		if t != nil {
			t.CloseIdleConnections()
		}
	}
}

// errNoProtocol means that the client offers protocols, and no HTTP among them.
var errNoProtocol = errors.New("the client offers neither HTTP/1.1 nor HTTP/2 inside TLS")

// inside are the key exchanges with a client: those that quantum computers may break are
// good enough within one machine, and the others cost a tenth of a new connection.
var inside = []tls.CurveID{tls.X25519, tls.CurveP256, tls.CurveP384, tls.CurveP521}

// handshake opens TLS on both sides: when the client has said which protocols it
// speaks, the host is asked, and the client gets the host's choice. Where the host's
// choice is known from before, both sides go on at the same time. A host that
// cannot be reached is told to the client in HTTP. ctx is the session's.
func (s *session) handshake(whole context.Context) (*tls.Conn, error) {
	ctx, cancel := context.WithTimeout(whole, 2*handshakeTimeout)
	defer cancel()
	leaf, err := s.relay.leaf(s.to.Name)
	if err != nil {
		return nil, err
	}
	conn := tls.Server(s.client, &tls.Config{
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			if err := s.chooseProtocol(whole, hello); err != nil {
				return nil, err
			}
			config := &tls.Config{
				Certificates: []tls.Certificate{*leaf}, MinVersion: tls.VersionTLS12, SessionTicketsDisabled: true, CurvePreferences: inside,
			}
			if s.protocol != "" {
				config.NextProtos = []string{s.protocol}
			}
			return config, nil
		},
	})
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	return conn, nil
}

// chooseProtocol opens the first connection to the host with the protocols that
// the client offers and we know.
func (s *session) chooseProtocol(ctx context.Context, hello *tls.ClientHelloInfo) error {
	for _, p := range hello.SupportedProtos {
		if p == "h2" || p == "http/1.1" {
			s.offered = append(s.offered, p)
		}
	}
	if len(hello.SupportedProtos) > 0 && len(s.offered) == 0 {
		return errNoProtocol
	}
	s.said, s.opening = true, make(chan struct{})
	key := fmt.Sprint(s.to.Name, s.to.Dst.Port(), s.offered)
	if s.protocol = s.relay.chosen.get(key); s.protocol == "" {
		s.open(hello.Context())
		if s.broken == nil {
			s.relay.chosen.set(key, s.protocol)
		}
		return nil
	}
	s.offered = []string{s.protocol}
	go func() {
		ctx, cancel := context.WithTimeout(ctx, 2*handshakeTimeout)
		defer cancel()
		if s.open(ctx); s.broken != nil {
			s.relay.chosen.set(key, "")
		}
	}()
	return nil
}

// open opens the first connection to the host. broken is set when there is none.
func (s *session) open(ctx context.Context) {
	defer close(s.opening)
	conn, chosen, err := s.dial(ctx)
	switch {
	case err != nil && len(s.offered) > 0:
		chosen = s.offered[0]
	case err == nil && chosen == "" && slices.Contains(s.offered, "http/1.1"):
		chosen = "http/1.1" // what a host speaks that knows of no choice
	}
	if s.protocol == "" {
		s.protocol = chosen
	} else if err == nil && chosen != s.protocol { // which the client was told
		conn.Close()
		err = fmt.Errorf("%s does not speak %s any more: connect again", s.to.Name, s.protocol)
	}
	if s.broken = err; err == nil {
		s.ready = conn
	}
	s.transport = s.newTransport(streamBuffer)
	if s.protocol == "h2" {
		s.wide = s.newTransport(wideBuffer)
	}
}

// choices are the protocols that hosts chose of those that were offered. It is safe for
// concurrent use.
type choices struct {
	mu  sync.Mutex
	all map[string]string
}

const maxChoices = 1024

func (c *choices) get(key string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all[key]
}

// set notes a choice; "" = it is not known any more.
func (c *choices) set(key, protocol string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil || len(c.all) >= maxChoices {
		c.all = map[string]string{}
	}
	c.all[key] = protocol
}

// newTransport returns a transport that speaks to the host as the client speaks
// to us. buffer bounds the bytes of a stream that the client has not read.
func (s *session) newTransport(buffer int) *http.Transport {
	t := &http.Transport{
		DialTLSContext:         func(ctx context.Context, _, _ string) (net.Conn, error) { return s.take(ctx) },
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxResponseHead,
		Protocols:              new(http.Protocols),
		HTTP2:                  boundedStreams(maxHostFrame, buffer),
		WriteBufferSize:        bufferSize / 2,
		ReadBufferSize:         bufferSize / 4,
		MaxConnsPerHost:        1, // until it has no more room for streams: requests that come at once would each open one
	}
	switch _, sealed := s.ready.(*tls.Conn); {
	case s.protocol == "h2" && sealed:
		t.Protocols.SetHTTP2(true)
	case s.protocol == "h2":
		t.Protocols.SetUnencryptedHTTP2(true) // the process that holds the keys has opened TLS
	default:
		t.Protocols.SetHTTP1(true)
	}
	return t
}

// take returns a connection to the host in the session's protocol.
func (s *session) take(ctx context.Context) (net.Conn, error) {
	s.mu.Lock()
	conn := s.ready
	s.ready = nil
	s.mu.Unlock()
	if conn != nil {
		return conn, nil
	}
	conn, chosen, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	if (chosen == "h2") != (s.protocol == "h2") {
		conn.Close()
		return nil, fmt.Errorf("%s speaks another protocol now than when the connection began", s.to.Name)
	}
	return conn, nil
}

// dial connects to the host, verifies that it is the host, and returns the protocol
// that it chose. For a host that may have a key, the process that holds the keys does
// that, over connections that are made here.
func (s *session) dial(ctx context.Context) (net.Conn, string, error) {
	if k := s.relay.keysProcess(s.to.Name, s.to.Dst.Port()); k != nil {
		conn, chosen, err := k.connect(ctx, s.to.Name, s.to.Dst.Port(), s.offered, s.dialPlain)
		if err != nil {
			return nil, "", err
		}
		held, err := s.hold(conn)
		return held, chosen, err
	}
	roots, err := s.relay.roots()
	if err != nil {
		return nil, "", fmt.Errorf("reading the authorities that certify hosts: %w", err)
	}
	h, err := s.dialPlain(ctx)
	if err != nil {
		return nil, "", err
	}
	conn := tls.Client(h, &tls.Config{
		ServerName: s.to.Name, RootCAs: roots, NextProtos: s.offered, MinVersion: tls.VersionTLS12,
		ClientSessionCache: s.relay.sessions,
	})
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	if err := conn.HandshakeContext(ctx); err != nil {
		h.Close()
		return nil, "", fmt.Errorf("opening TLS to %s: %w", s.to.Name, err)
	}
	return conn, conn.ConnectionState().NegotiatedProtocol, nil
}

// dialPlain connects to the host. The connection ends with the session.
func (s *session) dialPlain(ctx context.Context) (net.Conn, error) {
	plain, err := s.to.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return s.hold(plain)
}

// hostConn is a connection to the host, which ends with its session.
type hostConn struct {
	net.Conn
	session *session
}

// hold ends a connection with the session. One that is over takes none.
func (s *session) hold(conn net.Conn) (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		conn.Close()
		return nil, net.ErrClosed
	}
	h := &hostConn{Conn: conn, session: s}
	s.hosts[h] = true
	return h, nil
}

func (h *hostConn) Close() error {
	h.session.mu.Lock()
	delete(h.session.hosts, h)
	h.session.mu.Unlock()
	return h.Conn.Close()
}

// recordHandshake records why a client did not come so far as to ask anything. Not
// every program sends an alert when it refuses a certificate: some just leave.
func (s *session) recordHandshake(err error) {
	switch {
	case errors.Is(err, errNoProtocol):
		s.recordRefusal(err.Error())
	case s.said:
		s.recordRefusal(fmt.Sprintf("the program does not trust the certificate of the sandbox by which %s is opened (%v): "+
			"it has authorities of its own, or knows the host's key", s.to.Name, err))
	default:
		s.recordRefusal(fmt.Sprintf("TLS with the program came to no end: %v", err))
	}
}

// recordRefusal records that the connection was refused as a whole. A refusal that
// cannot be recorded is a refusal still.
func (s *session) recordRefusal(why string) {
	_ = s.record(audit.Record{Verdict: firewall.Deny, Layer: audit.LayerSNI, Rule: ruleRelay, Reason: why})
}

// record adds the connection to a record.
func (s *session) record(r audit.Record) error {
	r.Name, r.Dst, r.Port, r.Proto = s.to.Name, s.to.Dst.Addr().String(), s.to.Dst.Port(), firewall.TCP
	r.Src, r.SrcProto = s.to.Src, firewall.TCP
	return s.relay.options.Record(r)
}

// why says for people why the host could not be spoken to.
func (s *session) why(err error) string {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &unknown), errors.As(err, &name), errors.As(err, &invalid):
		return fmt.Sprintf("the certificate of %s is not good: %v", s.to.Name, err)
	}
	return fmt.Sprintf("%s could not be reached: %v", s.to.Name, err)
}
