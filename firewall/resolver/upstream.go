package resolver

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// maxForged is how many replies that do not belong to the query arrive on its
// socket before it is sent over TCP, where a third party cannot forge.
const maxForged = 16

var (
	errTruncated = errors.New("the reply is truncated")
	errForged    = errors.New("too many replies that answer no question of ours")
	errMismatch  = errors.New("the reply does not belong to the question")
)

// exchange asks the upstreams in turn until one of them says that the name
// exists or does not. It does not wait for a slow one alone: after nextAfter the
// next one is asked as well, and the first one once more at the end, because it
// may know by then.
func (s *Server) exchange(ctx context.Context, key cacheKey) ([]byte, error) {
	turns := s.upstreams.turns()
	switch len(turns) {
	case 0:
		return nil, errors.New("no upstream resolver is configured")
	case 1:
		return s.ask(ctx, turns[0], key)
	}
	turns = append(turns, turns[0])
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		upstream int
		reply    []byte
		err      error
	}
	results := make(chan result, len(turns))
	asking := 0
	askNext := func() {
		if len(turns) == 0 {
			return
		}
		upstream := turns[0]
		turns = turns[1:]
		asking++
		go func() {
			reply, err := s.ask(ctx, upstream, key)
			results <- result{upstream, reply, err}
		}()
	}
	askNext()
	patience := time.NewTicker(nextAfter)
	defer patience.Stop()
	var failed error
	for asking > 0 {
		select {
		case r := <-results:
			asking--
			if r.err == nil {
				s.upstreams.answered(r.upstream)
				return r.reply, nil
			}
			failed = r.err
			askNext()
		case <-patience.C:
			askNext()
		}
	}
	return nil, failed
}

// ask asks one upstream: over UDP, over TCP when the reply does not fit or
// somebody forges replies, and more plainly when the server refuses the rest.
func (s *Server) ask(ctx context.Context, upstream int, key cacheKey) ([]byte, error) {
	addr := s.opts.Upstreams[upstream]
	q := query{network: "udp", upstream: upstream, key: key, edns: true, mixed: s.opts.MixCase}
	for range 4 { // UDP, without mixed letters, without EDNS, TCP
		reply, rcode, err := s.send(ctx, q)
		switch {
		case q.network == "udp" && (errors.Is(err, errTruncated) || errors.Is(err, errForged)):
			q.network = "tcp"
		case err != nil:
			return nil, fmt.Errorf("asking the upstream resolver %s: %w", addr, err)
		case saysWhetherNameExists(rcode):
			return reply, nil
		case q.mixed:
			q.mixed = false
		case q.edns && (rcode == dnsmessage.RCodeFormatError || rcode == dnsmessage.RCodeNotImplemented):
			q.edns = false
		default:
			return nil, fmt.Errorf("the upstream resolver %s answered %s", addr, strings.TrimPrefix(rcode.String(), "RCode"))
		}
	}
	return nil, fmt.Errorf("the upstream resolver %s gave no usable answer", addr)
}

func saysWhetherNameExists(rcode dnsmessage.RCode) bool {
	return rcode == dnsmessage.RCodeSuccess || rcode == dnsmessage.RCodeNameError
}

// query is one message to one upstream.
type query struct {
	network  string // "udp" or "tcp"
	upstream int    // its index
	key      cacheKey
	edns     bool
	mixed    bool // letters of mixed case
}

// send sends a query, with an id and from a port that are random and its own,
// and returns the reply that belongs to it.
func (s *Server) send(ctx context.Context, q query) ([]byte, dnsmessage.RCode, error) {
	name, err := dnsmessage.NewName(q.key.name + ".")
	if err != nil {
		return nil, 0, err
	}
	if q.mixed {
		name = mixCase(name)
	}
	question := dnsmessage.Question{Name: name, Type: q.key.typ, Class: dnsmessage.ClassINET}
	id := random16()
	message, err := packQuery(id, question, q.edns)
	if err != nil {
		return nil, 0, err
	}
	deadline := time.Now().Add(s.opts.Timeout)
	conn, err := s.dial(ctx, q.network, s.opts.Upstreams[q.upstream], deadline)
	if err != nil {
		return nil, 0, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, 0, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	note := openQuestionOf(id, question)
	s.ours.Store(note, true)
	defer s.ours.Delete(note)
	if q.network == "tcp" {
		return exchangeTCP(conn, message, id, question)
	}
	if _, err := conn.Write(message); err != nil {
		return nil, 0, err
	}
	// One packet may be lost on the way. The same message again gives a forger no more to guess.
	again := time.AfterFunc(nextAfter, func() { _, _ = conn.Write(message) })
	defer again.Stop()
	return s.receiveUDP(conn, q, id, question)
}

func exchangeTCP(conn net.Conn, message []byte, id uint16, question dnsmessage.Question) ([]byte, dnsmessage.RCode, error) {
	if _, err := conn.Write(framed(message)); err != nil {
		return nil, 0, err
	}
	reply, err := readFramed(conn)
	if err != nil {
		return nil, 0, err
	}
	h, _, err := checkReply(reply, id, question)
	return reply, h.RCode, err
}

// receiveUDP waits for the reply to a query. Others, which are not from our
// upstream, do not end it: its own may still come. The socket is connected, so
// that the kernel drops what comes from another address.
func (s *Server) receiveUDP(conn net.Conn, q query, id uint16, question dnsmessage.Question) ([]byte, dnsmessage.RCode, error) {
	buf := make([]byte, maxUDPMessage)
	otherCase := false
	for range maxForged {
		n, err := conn.Read(buf)
		if errors.Is(err, os.ErrDeadlineExceeded) && otherCase {
			return nil, 0, errForged // or the upstream repeats letters no more; over TCP it need not
		}
		if err != nil {
			return nil, 0, err
		}
		h, sameCase, err := checkReply(buf[:n], id, question)
		if err != nil {
			continue
		}
		if q.mixed && hasUpper(question.Name) && saysWhetherNameExists(h.RCode) && !s.upstreams.believes(q.upstream, sameCase) {
			otherCase = true
			continue
		}
		if h.Truncated {
			return nil, 0, errTruncated
		}
		return buf[:n], h.RCode, nil
	}
	return nil, 0, errForged
}

// readFramed reads one message of a stream.
func readFramed(r io.Reader) ([]byte, error) {
	var size [2]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	message := make([]byte, binary.BigEndian.Uint16(size[:]))
	_, err := io.ReadFull(r, message)
	return message, err
}

// random16 returns a number that a forger cannot guess.
func random16() uint16 {
	var b [2]byte
	_, _ = rand.Read(b[:]) // never fails, see its documentation
	return binary.BigEndian.Uint16(b[:])
}

// portTries is how many ports are tried that others may hold.
const portTries = 16

// dial connects to an upstream from a random port of ours.
func (s *Server) dial(ctx context.Context, network string, upstream netip.AddrPort, deadline time.Time) (net.Conn, error) {
	d := s.opts.Dialer
	connect := func(port uint16) (net.Conn, error) {
		any := netip.IPv4Unspecified()
		if upstream.Addr().Is6() {
			any = netip.IPv6Unspecified()
		}
		from := netip.AddrPortFrom(any, port)
		if network == "udp" { // has nothing to wait for, and the time would cost a timer
			return d.DialUDP(ctx, network, from, upstream)
		}
		d.Deadline = deadline
		return d.DialTCP(ctx, network, from, upstream)
	}
	if s.opts.FirstPort == 0 {
		return connect(0)
	}
	ports := int(s.opts.LastPort) - int(s.opts.FirstPort) + 1
	var err error
	for range portTries {
		var conn net.Conn
		conn, err = connect(s.opts.FirstPort + uint16(int(random16())%ports))
		if !errors.Is(err, syscall.EADDRINUSE) && !errors.Is(err, syscall.EADDRNOTAVAIL) {
			return conn, err
		}
	}
	return nil, err
}

// checkReply accepts a reply with our id that repeats our question; sameCase is
// whether it repeats the case of its letters too. A reply with an error code may
// leave the question out, as some servers do with FORMERR; nothing is learnt
// from those.
func checkReply(reply []byte, id uint16, q dnsmessage.Question) (h dnsmessage.Header, sameCase bool, err error) {
	var p dnsmessage.Parser
	h, err = p.Start(reply)
	if err != nil || h.ID != id || !h.Response {
		return h, false, errMismatch
	}
	got, err := p.Question()
	if errors.Is(err, dnsmessage.ErrSectionDone) && !saysWhetherNameExists(h.RCode) {
		return h, false, nil
	}
	if err != nil || !errors.Is(p.SkipQuestion(), dnsmessage.ErrSectionDone) {
		return h, false, errMismatch
	}
	if got.Type != q.Type || got.Class != q.Class || !bytes.EqualFold(got.Name.Data[:got.Name.Length], q.Name.Data[:q.Name.Length]) {
		return h, false, errMismatch
	}
	return h, got.Name == q.Name, nil
}

// mixCase writes each letter of a name in upper or lower case at random.
func mixCase(n dnsmessage.Name) dnsmessage.Name {
	var random [len(n.Data)]byte
	_, _ = rand.Read(random[:n.Length])
	for i, c := range n.Data[:n.Length] {
		if 'a' <= c && c <= 'z' && random[i]&1 == 1 {
			n.Data[i] = c - 'a' + 'A'
		}
	}
	return n
}

func hasUpper(n dnsmessage.Name) bool {
	return bytes.ContainsAny(n.Data[:n.Length], "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
}
