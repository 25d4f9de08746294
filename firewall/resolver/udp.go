package resolver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
)

// desk answers the questions of one UDP socket.
//
//	socket -> remembered or cached? ──yes──> reply
//	              │no
//	          allowed, and only to be asked? ──yes──> line to the upstream -> reply
//	              │no
//	          workers -> reply
//
// One goroutine reads, because several would wake each other for every question.
// It never waits: what a line brings is handled where it arrives, and what takes
// time, such as recording a refusal, is left to workers.
type desk struct {
	*Server
	ctx     context.Context
	batch   *batch
	given   memo
	workers *workers
	asking  sync.WaitGroup // errands that are under way
	places  chan struct{}  // one for each of them
	errands sync.Pool      // of *errand that are over
}

// errand is a question of a client that has been sent to an upstream.
type errand struct {
	desk   *desk
	done   func(result)        // its method end
	finish func([]byte, error) // its method learn
	buf    [maxReply]byte

	client client
	q      question
	key    pendingKey
	rec    audit.Record
	turns  []int
}

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
	d := &desk{Server: s, ctx: ctx, batch: b, given: memo{}, workers: &workers{more: make(chan func())}, places: make(chan struct{}, maxInFlight)}
	d.errands.New = func() any {
		e := &errand{desk: d}
		e.done, e.finish = e.end, e.learn
		return e
	}
	defer d.workers.wait()
	defer d.asking.Wait()
	var replies [maxBatch][]byte // room that is used again
	for i := range replies {
		replies[i] = make([]byte, 0, maxReply)
	}
	for {
		n, err := b.read()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the resolver's UDP socket: %w", err)
		}
		for i := range n {
			if reply := d.take(b.got(i), b.client(i), replies[i]); reply != nil {
				b.answer(i, reply)
			}
		}
		b.send()
		// A socket that is full hands out as much as is taken at a time, and so
		// the last question that found no room is followed by such a read.
		if n == maxBatch {
			if dropped := b.dropped(); dropped > 0 {
				d.lost(dropped)
			}
		}
	}
}

// take returns the reply to a message if it is known, written to buf or not, and
// otherwise nil: then the reply comes later, or never.
func (d *desk) take(message []byte, c client, buf []byte) []byte {
	from := c.addrPort()
	if reply := d.again(d.given, message, from, buf); reply != nil {
		return reply
	}
	if q, err := parseQuestion(message); err == nil {
		name, err := hostName(q.q.Name)
		key := cacheKey{name, q.q.Type}
		if err == nil && d.cache.hold(key).answer != nil {
			return d.answerKnown(d.ctx, d.given, message, q, key, from)
		}
		if err == nil && d.send(q, c) {
			return nil
		}
	}
	message = bytes.Clone(message)
	if !d.workers.do(func() { d.reply(&c, d.answer(d.ctx, message, firewall.UDP, from)) }) {
		d.lost(1)
	}
	return nil
}

func (d *desk) reply(c *client, reply []byte) {
	if reply != nil {
		d.batch.sendTo(c, reply) // when it is lost the client asks again
	}
}

// send asks upstream if that is all that a question needs, and reports whether
// somebody looks after it now.
func (d *desk) send(q question, c client) bool {
	rec := audit.Record{Verdict: firewall.Deny, Layer: audit.LayerDNS, Src: c.addrPort(), SrcProto: firewall.UDP}
	name, do := d.decide(q, &rec)
	key := cacheKey{name, q.q.Type}
	turns := d.order.turns()
	if do != toAnswer || d.cache.has(key) || len(turns) == 0 {
		return false
	}
	select {
	case d.places <- struct{}{}:
	default:
		return false
	}
	timeout := d.opts.Timeout
	if len(turns) > 1 {
		timeout = min(timeout, nextAfter)
	}
	d.asking.Add(1)
	e := d.errands.Get().(*errand)
	e.client, e.q, e.key, e.rec, e.turns = c, q, pendingKey{key, d.cache.begin()}, rec, turns
	if !d.pending.join(e.key, e.finish) {
		return true
	}
	if !d.budget.spend(rec.Rule, name) {
		e.later(func() ([]byte, error) { return nil, errBudget })
		return true
	}
	lines := d.lines[turns[0]]
	l, i, err := lines.begin(d.ctx, key, d.opts.MixCase, timeout, e.done)
	if err != nil {
		e.later(func() ([]byte, error) { return nil, err })
		return true
	}
	lines.send(l, i, true)
	return true
}

// later ends the question for all who wait for it with what do returns.
func (e *errand) later(do func() ([]byte, error)) {
	d, key := e.desk, e.key
	end := func() {
		reply, err := do()
		d.pending.end(key, reply, err)
	}
	if !d.workers.do(end) {
		d.pending.end(key, nil, errBusy)
	}
}

// end replies with what came of the question, or leaves it to those who can try
// other ways.
func (e *errand) end(r result) {
	d := e.desk
	if r.usable() {
		if len(e.turns) > 1 {
			d.order.answered(e.turns[0])
		}
		d.pending.end(e.key, r.reply, nil)
		return
	}
	turns, begun := e.turns, &result{nil, r.rcode, r.err}
	if len(turns) > 1 && errors.Is(r.err, errNoReply) {
		// The next one is asked; by the time that the first one's turn comes
		// again it may know.
		turns, begun = append(slices.Clone(turns[1:]), turns[0]), nil
	}
	key := e.key.cacheKey
	e.later(func() ([]byte, error) { return d.exchange(d.ctx, key, turns, begun) })
}

// over makes room for another errand.
func (e *errand) over() {
	d := e.desk
	d.errands.Put(e)
	<-d.places
	d.asking.Done()
}

// learn replies with what an upstream has said.
func (e *errand) learn(reply []byte, err error) {
	d := e.desk
	defer e.over()
	rcode, answer, why := d.Server.learn(e.key.name, e.q, e.rec, e.key.generation, reply, err)
	d.reply(&e.client, e.q.reply(e.buf[:0], rcode, answer, why, e.q.limit(firewall.UDP)))
}

// workers do work beside the caller, maxInFlight at a time; maxWaiting more
// waits. Those that have nothing to do stay for what comes next, because a new
// one begins with a small stack.
type workers struct {
	more chan func()

	running sync.WaitGroup
	mu      sync.Mutex
	all     int
	idle    int
	waiting []func() // in the order in which it came, while all work
}

// maxIdle is how many workers stay when there is nothing to do.
const maxIdle = 16

// do has work done, and reports whether it will be: there may be too much.
func (w *workers) do(work func()) bool {
	select {
	case w.more <- work:
		return true
	default:
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == maxInFlight {
		if len(w.waiting) >= maxWaiting {
			return false
		}
		w.waiting = append(w.waiting, work)
		return true
	}
	w.all++
	w.running.Go(func() { w.run(work) })
	return true
}

func (w *workers) run(work func()) {
	for ok := true; ok; {
		work()
		w.mu.Lock()
		if len(w.waiting) > 0 {
			work, w.waiting[0] = w.waiting[0], nil
			w.waiting = w.waiting[1:]
			w.mu.Unlock()
			continue
		}
		if w.idle == maxIdle {
			w.all--
			w.mu.Unlock()
			return
		}
		w.idle++
		w.mu.Unlock()
		work, ok = <-w.more
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
