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

// question is what an upstream is asked for k, in letters of mixed case if so
// wanted.
func (k cacheKey) question(mixed bool) (dnsmessage.Question, error) {
	name, err := dnsmessage.NewName(k.name + ".")
	if mixed {
		name = mixCase(name)
	}
	return dnsmessage.Question{Name: name, Type: k.typ, Class: dnsmessage.ClassINET}, err
}

// exchange asks the upstreams, in the order of turns, until one of them says
// that the name exists or does not. The message has exactly the question that
// was asked. An upstream that is slow is not waited for alone: after a while the
// next one is asked beside it. begun, unless nil, is what came of asking the
// first one over UDP.
func (s *Server) exchange(ctx context.Context, key cacheKey, turns []int, begun *result) ([]byte, error) {
	if len(turns) == 0 {
		return nil, errors.New("no upstream resolver is configured")
	}
	if len(turns) == 1 {
		return s.ask(ctx, turns[0], key, begun)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		index int
		reply []byte
		err   error
	}
	answers := make(chan answer, len(turns))
	asking := 0
	next := func() {
		index, first := turns[0], begun
		turns, begun = turns[1:], nil
		asking++
		go func() {
			reply, err := s.ask(ctx, index, key, first)
			answers <- answer{index, reply, err}
		}()
	}
	next()
	patience := time.NewTimer(nextAfter)
	defer patience.Stop()
	var failed error
	for asking > 0 {
		select {
		case a := <-answers:
			asking--
			if a.err == nil {
				s.order.answered(a.index)
				return a.reply, nil
			}
			failed = a.err
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
// begun, unless nil, is what came of the first of these.
func (s *Server) ask(ctx context.Context, index int, key cacheKey, begun *result) ([]byte, error) {
	upstream := s.opts.Upstreams[index]
	edns, mixed := true, s.opts.MixCase
	network := "udp"
	for range 4 { // UDP, without mixed letters, without EDNS, TCP
		var r result
		switch {
		case begun != nil:
			r, begun = *begun, nil
		case network == "udp":
			r = s.overUDP(ctx, index, key, mixed, edns)
		default:
			r = s.overTCP(ctx, index, key, mixed, edns)
		}
		switch {
		case network == "udp" && (errors.Is(r.err, errTruncated) || errors.Is(r.err, errForged)):
			network = "tcp"
		case r.err != nil:
			return nil, fmt.Errorf("asking the upstream resolver %s: %w", upstream, r.err)
		case r.usable():
			return r.reply, nil
		case mixed:
			mixed = false
		case edns && (r.rcode == dnsmessage.RCodeFormatError || r.rcode == dnsmessage.RCodeNotImplemented):
			edns = false
		default:
			return nil, fmt.Errorf("the upstream resolver %s answered %s", upstream, strings.TrimPrefix(r.rcode.String(), "RCode"))
		}
	}
	return nil, fmt.Errorf("the upstream resolver %s gave no usable answer", upstream)
}

// usable reports whether the reply says that the name exists or does not.
func (r result) usable() bool {
	return r.err == nil && (r.rcode == dnsmessage.RCodeSuccess || r.rcode == dnsmessage.RCodeNameError)
}

// overUDP asks on a line and waits for what comes of it.
func (s *Server) overUDP(ctx context.Context, index int, key cacheKey, mixed, edns bool) result {
	lines := s.lines[index]
	done := make(chan result, 1)
	l, i, err := lines.begin(ctx, key, mixed, s.opts.Timeout, func(r result) {
		r.reply = bytes.Clone(r.reply)
		done <- r
	})
	if err != nil {
		return result{err: err}
	}
	lines.send(l, i, edns)
	select {
	case r := <-done:
		return r
	case <-ctx.Done():
		lines.abandon(l, i)
		return result{err: ctx.Err()}
	}
}

// overTCP asks on a connection of its own.
func (s *Server) overTCP(ctx context.Context, index int, key cacheKey, mixed, edns bool) result {
	q, err := key.question(mixed)
	if err != nil {
		return result{err: err}
	}
	deadline := time.Now().Add(s.opts.Timeout)
	id := random16()
	conn, err := s.dial(ctx, "tcp", s.opts.Upstreams[index], deadline)
	if err != nil {
		return result{err: err}
	}
	defer conn.Close()
	if err := conn.SetDeadline(deadline); err != nil {
		return result{err: err}
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	note := askedAs(id, q)
	s.ours.add(note)
	defer s.ours.remove(note)
	if _, err := conn.Write(framed(appendAsked(nil, id, q, edns))); err != nil {
		return result{err: err}
	}
	var size [2]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return result{err: err}
	}
	reply := make([]byte, binary.BigEndian.Uint16(size[:]))
	if _, err := io.ReadFull(conn, reply); err != nil {
		return result{err: err}
	}
	h, _, err := checkReply(reply, id, q)
	return result{reply, h.RCode, err}
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
	got, err := p.Question()
	if errors.Is(err, dnsmessage.ErrSectionDone) && h.RCode != dnsmessage.RCodeSuccess && h.RCode != dnsmessage.RCodeNameError {
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
