package credproxy

import (
	"hash/maphash"
	"sync"
)

// exchange is the newest tool calls of a conversation and what they returned, as
// hashes; the zero exchange = there are none.
type exchange struct{ calls, results uint64 }

// exchangeReader finds the newest exchange while a request is read. The calls'
// ids, which are new each time, are left out.
type exchangeReader struct {
	seed    maphash.Seed
	current exchange // of the message at the cursor
	newest  exchange
	read    int // messages
}

// message ends the message before, and begins another one.
func (e *exchangeReader) message() {
	if e.current.calls != 0 {
		e.newest = exchange{calls: e.current.calls}
	}
	if e.current.results != 0 {
		e.newest.results = e.current.results
	}
	e.current = exchange{}
	e.read++
}

// found returns the newest exchange, once the last message was read.
func (e *exchangeReader) found() exchange {
	e.message()
	if e.newest.calls == 0 || e.newest.results == 0 {
		return exchange{}
	}
	return e.newest
}

// hashed is a shape whose value goes into a hash.
func (e *exchangeReader) hashed(s shape, into *uint64) shape {
	return func(c *cursor) error {
		c.kind()
		from := c.at
		err := s(c)
		*into = *into*31 + maphash.Bytes(e.seed, c.text[from:c.at]) | 1
		return err
	}
}

// repeats finds conversations that repeat themselves: in the last so many
// requests, an agent made at most maxDistinct different calls, each with the same
// result. It is safe for concurrent use.
type repeats struct {
	limit int          // requests; 0 = none is looked for
	seed  maphash.Seed // of the hashes of tool calls

	mu     sync.Mutex
	recent map[string]*recent // by agent, "" = Claude's main conversation
	warned bool
}

// recent are the newest exchanges of an agent.
type recent struct {
	exchanges []exchange
	messages  int // of the newest request
}

const (
	maxDistinct = 2  // one call, or two in turns
	maxAgents   = 64 // that are looked at; a run has a few at a time
)

// add notes the newest exchange in a request of so many messages. It reports whether
// the agent repeats itself, and once whether it has done so for half of the limit. A
// request that is sent again, because the upstream was busy, counts once.
func (r *repeats) add(agent string, e exchange, messages int) (loop, half bool) {
	if r.limit <= 0 || e == (exchange{}) {
		return false, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.recent == nil {
		r.recent = map[string]*recent{}
	}
	of := r.recent[agent]
	if of == nil {
		if len(r.recent) >= maxAgents {
			clear(r.recent)
		}
		of = &recent{}
		r.recent[agent] = of
	}
	if n := len(of.exchanges); n == 0 || messages != of.messages || e != of.exchanges[n-1] {
		of.exchanges = append(of.exchanges, e)
	}
	of.messages = messages
	if len(of.exchanges) > r.limit {
		of.exchanges = of.exchanges[1:]
	}
	if h := r.limit / 2; !r.warned && h > maxDistinct && sameFor(of.exchanges, h) {
		r.warned, half = true, true
	}
	return sameFor(of.exchanges, r.limit), half
}

// sameFor reports whether the last n exchanges are at most maxDistinct different
// ones.
func sameFor(recent []exchange, n int) bool {
	if len(recent) < n {
		return false
	}
	distinct := map[exchange]bool{}
	for _, e := range recent[len(recent)-n:] {
		if distinct[e] = true; len(distinct) > maxDistinct {
			return false
		}
	}
	return true
}
