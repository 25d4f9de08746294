package resolver

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

var (
	errTruncated = errors.New("the reply is truncated")
	errForged    = errors.New("too many replies that answer no question of ours")
	errMismatch  = errors.New("the reply does not belong to the question")
)

// exchange asks the upstreams for name until one of them says that it exists
// or does not. The message has exactly the question that was asked. An upstream
// that is slow is not waited for alone: after a while the next one is asked
// beside it.
func (s *Server) exchange(ctx context.Context, name dnsmessage.Name, typ dnsmessage.Type) ([]byte, error) {
	q := dnsmessage.Question{Name: name, Type: typ, Class: dnsmessage.ClassINET}
	turns := s.order.turns()
	if len(turns) == 0 {
		return nil, errors.New("no upstream resolver is configured")
	}
	if len(turns) == 1 {
		return s.ask(ctx, turns[0], q)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		index int
		reply []byte
		err   error
	}
	results := make(chan result, len(turns))
	asking := 0
	next := func() {
		index := turns[0]
		turns = turns[1:]
		asking++
		go func() {
			reply, err := s.ask(ctx, index, q)
			results <- result{index, reply, err}
		}()
	}
	next()
	patience := time.NewTimer(nextAfter)
	defer patience.Stop()
	var failed error
	for asking > 0 {
		select {
		case r := <-results:
			asking--
			if r.err == nil {
				s.order.answered(r.index)
				return r.reply, nil
			}
			failed = r.err
			if len(turns) > 0 && ctx.Err() == nil {
				next()
			}
		case <-patience.C:
			if len(turns) > 0 {
				next()
				patience.Reset(nextAfter)
			}
		}
	}
	return nil, failed
}

// ask asks one upstream: over UDP, over TCP when the reply does not fit or
// somebody forges replies, and more plainly when the server refuses the rest.
func (s *Server) ask(ctx context.Context, index int, q dnsmessage.Question) ([]byte, error) {
	upstream := s.opts.Upstreams[index]
	edns, mixed := true, s.opts.MixCase
	network := "udp"
	for range 4 { // UDP, without mixed letters, without EDNS, TCP
		asked := q
		if mixed {
			asked.Name = mixCase(q.Name)
		}
		reply, rcode, err := s.once(ctx, network, index, asked, edns)
		switch {
		case network == "udp" && (errors.Is(err, errTruncated) || errors.Is(err, errForged)):
			network = "tcp"
		case err != nil:
			return nil, fmt.Errorf("asking the upstream resolver %s: %w", upstream, err)
		case rcode == dnsmessage.RCodeSuccess || rcode == dnsmessage.RCodeNameError:
			return reply, nil
		case mixed:
			mixed = false
		case edns && (rcode == dnsmessage.RCodeFormatError || rcode == dnsmessage.RCodeNotImplemented):
			edns = false
		default:
			return nil, fmt.Errorf("the upstream resolver %s answered %s", upstream, strings.TrimPrefix(rcode.String(), "RCode"))
		}
	}
	return nil, fmt.Errorf("the upstream resolver %s gave no usable answer", upstream)
}

// once sends the question once, with an id of its own.
func (s *Server) once(ctx context.Context, network string, index int, q dnsmessage.Question, edns bool) ([]byte, dnsmessage.RCode, error) {
	if network == "udp" {
		return s.overUDP(ctx, index, q, edns)
	}
	return s.overTCP(ctx, index, q, edns)
}

// overUDP asks on a line. It errs with errForged when whoever answers does not
// repeat our letters any more: over TCP he need not.
func (s *Server) overUDP(ctx context.Context, index int, q dnsmessage.Question, edns bool) ([]byte, dnsmessage.RCode, error) {
	lines := s.lines[index]
	l, i, err := lines.begin(ctx, q)
	if err != nil {
		return nil, 0, err
	}
	defer lines.leave(l)
	message, err := buildQuestion(i.id, q, edns)
	if err != nil {
		return nil, 0, err
	}
	if name, err := hostName(q.Name); err == nil {
		defer s.ours.add(asked{i.id, name, q.Type})()
	}
	if _, err := l.conn.Write(message); err != nil {
		lines.fail(l, err)
	}
	select {
	case r := <-i.done:
		return r.reply, r.rcode, r.err
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
}

// overTCP asks on a connection of its own.
func (s *Server) overTCP(ctx context.Context, index int, q dnsmessage.Question, edns bool) ([]byte, dnsmessage.RCode, error) {
	deadline := time.Now().Add(s.opts.Timeout)
	id := random16()
	message, err := buildQuestion(id, q, edns)
	if err != nil {
		return nil, 0, err
	}
	conn, err := s.dial(ctx, "tcp", s.opts.Upstreams[index], deadline)
	if err != nil {
		return nil, 0, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, 0, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if name, err := hostName(q.Name); err == nil {
		defer s.ours.add(asked{id, name, q.Type})()
	}
	if _, err := conn.Write(framed(message)); err != nil {
		return nil, 0, err
	}
	var size [2]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return nil, 0, err
	}
	reply := make([]byte, binary.BigEndian.Uint16(size[:]))
	if _, err := io.ReadFull(conn, reply); err != nil {
		return nil, 0, err
	}
	h, _, err := checkReply(reply, id, q)
	return reply, h.RCode, err
}

// random16 is what nobody can guess.
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
	if network == "tcp" { // UDP has nothing to wait for, and the time costs a timer
		d.Deadline = deadline
	}
	if s.opts.FirstPort == 0 {
		return d.DialContext(ctx, network, upstream.String())
	}
	ports := int(s.opts.LastPort) - int(s.opts.FirstPort) + 1
	var err error
	for range portTries {
		port := int(s.opts.FirstPort) + int(random16())%ports
		d.LocalAddr = &net.UDPAddr{Port: port}
		if network == "tcp" {
			d.LocalAddr = &net.TCPAddr{Port: port}
		}
		var conn net.Conn
		if conn, err = d.DialContext(ctx, network, upstream.String()); !errors.Is(err, syscall.EADDRINUSE) && !errors.Is(err, syscall.EADDRNOTAVAIL) {
			return conn, err
		}
	}
	return nil, err
}

func buildQuestion(id uint16, q dnsmessage.Question, edns bool) ([]byte, error) {
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: id, RecursionDesired: true},
		Questions: []dnsmessage.Question{q},
	}
	if edns {
		var h dnsmessage.ResourceHeader
		if err := h.SetEDNS0(maxReply, dnsmessage.RCodeSuccess, false); err != nil {
			return nil, err
		}
		m.Additionals = []dnsmessage.Resource{{Header: h, Body: &dnsmessage.OPTResource{}}}
	}
	return m.Pack()
}

// checkReply accepts a reply with our id that repeats our question; same is
// whether it repeats the case of its letters too. A reply with an error code may
// leave the question out, as some servers do with FORMERR; nothing is learnt
// from those.
func checkReply(reply []byte, id uint16, q dnsmessage.Question) (h dnsmessage.Header, same bool, err error) {
	var p dnsmessage.Parser
	h, err = p.Start(reply)
	if err != nil || h.ID != id || !h.Response {
		return h, false, errMismatch
	}
	questions, err := p.AllQuestions()
	if err == nil && len(questions) == 0 && h.RCode != dnsmessage.RCodeSuccess && h.RCode != dnsmessage.RCodeNameError {
		return h, false, nil
	}
	if err != nil || len(questions) != 1 {
		return h, false, errMismatch
	}
	got := questions[0]
	if got.Type != q.Type || got.Class != q.Class || !strings.EqualFold(got.Name.String(), q.Name.String()) {
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
