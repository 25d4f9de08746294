package resolver

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"sync"

	"github.com/org/claude-sandbox/firewall"
)

// serveUDP reads with one goroutine, because several would wake each other for
// every question. What the cache knows it answers itself; what has to be asked
// or refused takes time and is left to others.
func (s *Server) serveUDP(ctx context.Context, pc net.PacketConn) error {
	conn, ok := pc.(*net.UDPConn)
	if !ok {
		return fmt.Errorf("the resolver's UDP socket is a %T", pc)
	}
	b, err := newBatch(conn)
	if err != nil {
		return fmt.Errorf("the resolver's UDP socket: %w", err)
	}
	defer b.close()
	defer context.AfterFunc(ctx, b.stop)()
	var replies [maxBatch][]byte // room that is used again
	for i := range replies {
		replies[i] = make([]byte, 0, maxReply)
	}
	w := &workers{more: make(chan datagram), work: func(q datagram) {
		if reply := s.answer(ctx, q.message, firewall.UDP, q.client.addrPort()); reply != nil {
			b.sendTo(&q.client, reply) // when it is lost the client asks again
		}
	}}
	defer w.wait()
	given := memo{}
	for {
		n, err := b.read()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the resolver's UDP socket: %w", err)
		}
		for i := range n {
			message, client := b.got(i), b.client(i)
			reply := s.again(given, message, client.addrPort(), replies[i])
			if reply == nil {
				reply = s.answerCached(ctx, given, message, client.addrPort())
			}
			if reply != nil {
				b.answer(i, reply)
				continue
			}
			w.do(datagram{bytes.Clone(message), client})
		}
		b.send()
	}
}

// datagram is a message with who sent it.
type datagram struct {
	message []byte
	client  client
}

// workers do work beside the caller, maxInFlight at a time. Those that have
// nothing to do stay for what comes next, because a new one begins with a small
// stack. Only wait may be called beside do.
type workers struct {
	work func(datagram)
	more chan datagram

	running sync.WaitGroup
	mu      sync.Mutex
	all     int
	idle    int
}

// maxIdle is how many workers stay when there is nothing to do.
const maxIdle = 16

// do has q worked on, unless there is too much to do.
func (w *workers) do(q datagram) {
	select {
	case w.more <- q:
		return
	default:
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == maxInFlight {
		return
	}
	w.all++
	w.running.Go(func() { w.run(q) })
}

func (w *workers) run(q datagram) {
	for ok := true; ok; {
		w.work(q)
		w.mu.Lock()
		if w.idle == maxIdle {
			w.all--
			w.mu.Unlock()
			return
		}
		w.idle++
		w.mu.Unlock()
		q, ok = <-w.more
		w.mu.Lock()
		w.idle--
		w.mu.Unlock()
	}
}

// wait waits until all is done. Nothing may be given to do from then on.
func (w *workers) wait() {
	close(w.more)
	w.running.Wait()
}
