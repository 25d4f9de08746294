package resolver

import (
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

const (
	// absentTTL is how long a name is known to have no address.
	absentTTL = 10 * time.Second

	// failureTTL is how long a question that failed, or whose answer was refused
	// as a whole, is not asked upstream again. RFC 9520 section 3.2 wants at least
	// a second.
	failureTTL = time.Second

	// installEvery is how often a cached answer's addresses are put into the
	// packet filter's sets again, in case that somebody has emptied them. It adds
	// no time to them: they end when the first answer's do.
	installEvery = time.Second
)

// cache keeps what upstreams said of allowed names, unjudged: each time it is
// used the policy judges it again. It is emptied with each policy. It is safe for
// concurrent use.
type cache struct {
	size int // answers; 0 = none are kept
	now  func() time.Time

	mu         sync.Mutex
	generation int
	answers    map[cacheKey]*cachedAnswer
}

type cacheKey struct {
	name string // as policies know it
	typ  dnsmessage.Type
}

// cachedAnswer is an answer until its time is over. It stays for longer, as long
// as its addresses are open, see stale.
type cachedAnswer struct {
	answer
	until     time.Time
	openUntil time.Time // when its addresses are closed
	installed time.Time // when the sets were last told
}

func newCache(size int, now func() time.Time) *cache {
	return &cache{size: size, now: now, answers: map[cacheKey]*cachedAnswer{}}
}

// clear forgets everything, also the answers to questions that are under way.
func (c *cache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generation++
	clear(c.answers)
}

// currentGeneration returns the generation that put wants to know of the time when
// a question began.
func (c *cache) currentGeneration() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.generation
}

// put keeps an answer, installed a moment ago, unless the cache was cleared
// since generation began.
func (c *cache) put(generation int, key cacheKey, a answer) {
	if len(a.addrs) == 0 {
		a.ttl, a.open = min(a.ttl, absentTTL), 0
	}
	c.keep(generation, key, a)
}

// putFailure keeps that there is no answer, or one that was refused as a whole.
func (c *cache) putFailure(generation int, key cacheKey, a answer) {
	a.ttl, a.open = max(min(a.ttl, absentTTL), failureTTL), 0
	c.keep(generation, key, a)
}

func (c *cache) keep(generation int, key cacheKey, a answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if generation != c.generation || c.size == 0 {
		return
	}
	now := c.now()
	if _, known := c.answers[key]; !known && len(c.answers) >= c.size {
		c.makeRoom(now)
	}
	c.answers[key] = &cachedAnswer{answer: a, until: now.Add(a.ttl), openUntil: now.Add(a.open), installed: now}
}

// forget removes an answer, such as one whose addresses cannot be opened.
func (c *cache) forget(key cacheKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.answers, key)
}

// makeRoom removes the answers that are over, and any others until an eighth
// of the room is free: it looks at all of them, which must not be done for each.
func (c *cache) makeRoom(now time.Time) {
	for key, a := range c.answers {
		if !a.until.After(now) {
			delete(c.answers, key)
		}
	}
	for key := range c.answers {
		if len(c.answers) <= c.size-c.size/8-1 {
			return
		}
		delete(c.answers, key)
	}
}

// get returns an answer with the time that is left of it, in whole seconds, so
// that it says 0 in its last second. install is whether the sets are to be told
// again.
func (c *cache) get(key cacheKey) (a answer, install, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := c.answers[key]
	if kept == nil {
		return answer{}, false, false
	}
	now := c.now()
	left := kept.until.Sub(now)
	if left <= 0 {
		return answer{}, false, false
	}
	if now.Sub(kept.installed) >= installEvery {
		kept.installed, install = now, true
	}
	a = kept.answer
	a.ttl, a.open = left.Truncate(time.Second), kept.openUntil.Sub(now)
	return a, install, true
}

// stale returns an answer whose time is over but whose addresses are still open.
// It counts for this once: its TTL is 0 (RFC 8767 is for the same need, and
// keeps answers for days).
func (c *cache) stale(key cacheKey) (a answer, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := c.answers[key]
	if kept == nil {
		return answer{}, false
	}
	a = kept.answer
	a.ttl, a.open = 0, kept.openUntil.Sub(c.now())
	return a, a.open > 0
}
