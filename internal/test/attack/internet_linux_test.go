package attack

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/internal/test/netnstest"
)

// internet is everything beyond the sandbox's wire: name servers, web servers
// and echoes that answer on every address it owns, and a record of what
// arrived.
type internet struct {
	*netnstest.Lab
	t    testing.TB
	wire *netnstest.Capture

	certificates []tls.Certificate
	open         atomic.Int64 // TCP connections that are being served

	mu   sync.Mutex
	seen []Event // at servers over TCP
}

func newInternet(t testing.TB) *internet { return serve(t, netnstest.New(t)) }

// serve makes the internet of a lab.
func serve(t testing.TB, lab *netnstest.Lab) *internet {
	t.Helper()
	in := &internet{Lab: lab, t: t}
	in.Own(t, owned...)
	backup := httptest.NewUnstartedServer(nil) // for its certificate
	backup.StartTLS()
	in.certificates = backup.TLS.Certificates
	backup.Close()
	in.listen("53", in.serveDNS)
	in.listen("80", func(c net.Conn) { in.serveWeb(c, nil) })
	tlsConfig := in.tlsConfig()
	for _, port := range []string{"443", "853"} {
		in.listen(port, func(c net.Conn) { in.serveWeb(c, tlsConfig) })
	}
	for _, port := range []string{"22", "8080"} {
		in.listen(port, echo)
	}
	in.answer(at(upstreamAddr, 53), func(pc net.PacketConn, m []byte, from net.Addr) {
		if reply := zoneReply(m, 1232); reply != nil {
			_, _ = pc.WriteTo(reply, from)
		}
	})
	in.answer(at(udpAddr, 4000), func(pc net.PacketConn, m []byte, from net.Addr) { _, _ = pc.WriteTo(m, from) })
	in.Sandbox.Do(func() {
		err := all(
			// Settings of engines for their containers.
			write("/proc/sys/net/ipv4/ping_group_range", "0 2147483647"), write("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0"),
			// So few ports that each is soon used again: what was asked from one
			// must not decide about what is asked next.
			write("/proc/sys/net/ipv4/ip_local_port_range", "40000 40511"))
		if err != nil {
			t.Error(err)
		}
	})
	in.wire = lab.Capture(t)
	return in
}

func (in *internet) listen(port string, handle func(net.Conn)) {
	in.t.Helper()
	var l net.Listener
	var err error
	in.Internet.Do(func() { l, err = net.Listen("tcp", ":"+port) })
	if err != nil {
		in.t.Fatalf("starting the internet: %v", err)
	}
	in.t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			in.open.Add(1)
			go func() {
				defer in.open.Add(-1)
				defer c.Close()
				_ = c.SetDeadline(time.Now().Add(10 * time.Second))
				handle(c)
			}()
		}
	}()
}

func (in *internet) answer(address string, handle func(pc net.PacketConn, message []byte, from net.Addr)) {
	in.t.Helper()
	var pc net.PacketConn
	var err error
	in.Internet.Do(func() { pc, err = net.ListenPacket("udp", address) })
	if err != nil {
		in.t.Fatalf("starting the internet: %v", err)
	}
	in.t.Cleanup(func() { pc.Close() })
	go func() {
		buf := make([]byte, 65535)
		for {
			n, from, err := pc.ReadFrom(buf)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				handle(pc, bytes.Clone(buf[:n]), from)
			}
		}
	}()
}

func (in *internet) note(e Event) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.seen = append(in.seen, e)
}

func local(c net.Conn) netip.AddrPort {
	a := c.LocalAddr().(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}

func echo(c net.Conn) { _, _ = io.Copy(c, c) }

func (in *internet) serveDNS(c net.Conn) {
	for {
		var size [2]byte
		if _, err := io.ReadFull(c, size[:]); err != nil {
			return
		}
		m := make([]byte, binary.BigEndian.Uint16(size[:]))
		n, err := io.ReadFull(c, m)
		in.note(question(local(c).Addr(), m[:n]))
		if err != nil {
			return
		}
		reply := zoneReply(m, 65535)
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...)); err != nil {
			return
		}
	}
}

// question reads a message to a name server as far as it can be read.
func question(server netip.Addr, m []byte) Event {
	e := Event{Kind: QuestionEvent, Dst: server, Raw: m}
	var p dnsmessage.Parser
	h, err := p.Start(m)
	if err != nil {
		return e
	}
	e.ID = h.ID
	if q, err := p.Question(); err == nil {
		e.Name, e.QType = strings.TrimSuffix(q.Name.String(), "."), uint16(q.Type)
	}
	return e
}

// zoneReply answers any question of one name, in the letters that it came in.
func zoneReply(message []byte, limit int) []byte {
	var m dnsmessage.Message
	if m.Unpack(message) != nil || len(m.Questions) == 0 {
		return nil
	}
	q := m.Questions[0]
	reply := dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, RecursionAvailable: true}, Questions: m.Questions[:1]}
	r, ok := lookUp(strings.TrimSuffix(q.Name.String(), "."))
	if !ok {
		reply.RCode = dnsmessage.RCodeNameError
	}
	owner := q.Name
	header := func(t dnsmessage.Type) dnsmessage.ResourceHeader {
		return dnsmessage.ResourceHeader{Name: owner, Type: t, Class: dnsmessage.ClassINET, TTL: 5}
	}
	if r.alias != "" {
		target := dnsmessage.MustNewName(r.alias + ".")
		reply.Answers = append(reply.Answers,
			dnsmessage.Resource{Header: header(dnsmessage.TypeCNAME), Body: &dnsmessage.CNAMEResource{CNAME: target}})
		owner = target
		r, _ = lookUp(r.alias)
	}
	for _, text := range r.addrs {
		addr := netip.MustParseAddr(text)
		switch {
		case addr.Is4() && q.Type == dnsmessage.TypeA:
			reply.Answers = append(reply.Answers, dnsmessage.Resource{Header: header(q.Type), Body: &dnsmessage.AResource{A: addr.As4()}})
		case addr.Is6() && q.Type == dnsmessage.TypeAAAA:
			reply.Answers = append(reply.Answers, dnsmessage.Resource{Header: header(q.Type), Body: &dnsmessage.AAAAResource{AAAA: addr.As16()}})
		}
	}
	packed, err := reply.Pack()
	if err == nil && len(packed) > min(limit, 512) && limit < 65535 {
		reply.Truncated, reply.Answers = true, nil
		packed, err = reply.Pack()
	}
	if err != nil {
		return nil
	}
	return packed
}

// serveWeb notes what a client says and answers it.
func (in *internet) serveWeb(c net.Conn, config *tls.Config) {
	to := local(c)
	r := bufio.NewReader(c)
	first, err := r.Peek(1)
	if err != nil {
		return
	}
	plain := net.Conn(bufferedConn{c, r})
	looksHTTP := bytes.ContainsAny(first, "GPHCOD")
	if config != nil && first[0] != 0x16 || config == nil && !looksHTTP {
		buf := make([]byte, 512)
		n, _ := r.Read(buf)
		in.note(Event{Kind: SiteEvent, Dst: to.Addr(), DstPort: to.Port(), Name: string(buf[:n]), Raw: buf[:n]})
		return
	}
	if config != nil {
		server := tls.Server(plain, config)
		if server.Handshake() != nil {
			return
		}
		plain = server
	}
	if config == nil && switches(r) {
		in.answerSwitches(r, c, to)
		return
	}
	done := make(chan struct{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if config == nil { // behind TLS the server's name has been noted
			in.note(Event{Kind: SiteEvent, Dst: to.Addr(), DstPort: to.Port(), Name: r.Host, Raw: []byte(r.Host)})
		}
		fmt.Fprintf(w, "hello from %s\n", to)
	})
	server := &http.Server{Handler: handler, ErrorLog: log.New(io.Discard, "", 0), ConnState: func(_ net.Conn, s http.ConnState) {
		if s == http.StateClosed || s == http.StateHijacked {
			close(done)
		}
	}}
	_ = server.Serve(&oneConn{conn: plain, end: done})
}

func switches(r *bufio.Reader) bool {
	line, _ := r.Peek(len(switchPath))
	return string(line) == switchPath
}

// answerSwitches says 101 and goes on in HTTP, as Apache does for a script.
func (in *internet) answerSwitches(r *bufio.Reader, w io.Writer, to netip.AddrPort) {
	for {
		request, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		in.note(Event{Kind: SiteEvent, Dst: to.Addr(), DstPort: to.Port(), Name: request.Host, Raw: []byte(request.Host)})
		if _, err := io.WriteString(w, "HTTP/1.1 101 Switching Protocols\r\n\r\n"); err != nil {
			return
		}
	}
}

func (in *internet) tlsConfig() *tls.Config {
	return &tls.Config{Certificates: in.certificates, GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		to := h.Conn.LocalAddr().(*net.TCPAddr).AddrPort()
		name := h.ServerName
		if name == "" {
			name = "(none)"
		}
		in.note(Event{Kind: SiteEvent, Dst: to.Addr().Unmap(), DstPort: to.Port(), Name: name, Raw: []byte(name)})
		return nil, nil
	}}
}

type bufferedConn struct {
	net.Conn
	r *bufio.Reader
}

func (c bufferedConn) Read(b []byte) (int, error) { return c.r.Read(b) }

// oneConn is a listener that accepts one connection and ends with it.
type oneConn struct {
	conn net.Conn
	end  chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	if c := l.conn; c != nil {
		l.conn = nil
		return c, nil
	}
	<-l.end
	return nil, net.ErrClosed
}
func (l *oneConn) Close() error   { return nil }
func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{} }

// arrived returns what has arrived since the last call.
func (in *internet) arrived() []Event {
	in.t.Helper()
	frames := in.wire.Frames()
	// The servers have read the frames by now, or are about to.
	for begin := time.Now(); in.open.Load() > 0 && time.Since(begin) < 300*time.Millisecond; {
		time.Sleep(time.Millisecond)
	}
	var events []Event
	for _, f := range frames {
		p, ok := f.Packet()
		if !ok {
			events = append(events, Event{Kind: FrameEvent, EtherType: f.Type, Raw: f.Payload})
			continue
		}
		events = append(events, Event{Kind: PacketEvent, Src: p.Src, Dst: p.Dst, SrcPort: p.SrcPort, DstPort: p.DstPort,
			Proto: p.Proto, Type: p.Type, Options: p.Options, Raw: p.Raw})
		if p.Proto == unix.IPPROTO_UDP && p.DstPort == 53 {
			header := 28
			if p.Dst.Is6() {
				header = 48
			}
			events = append(events, question(p.Dst, p.Raw[min(header, len(p.Raw)):]))
		}
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	events = append(events, in.seen...)
	in.seen = nil
	return events
}
