package resolver

import (
	"sync"
	"time"
)

const (
	// nextAfter is how long one upstream is waited for before the next one is
	// asked too. Most answers that were not asked for lately take less.
	nextAfter = 500 * time.Millisecond

	// backAfter is how long the first upstream is passed over when another one
	// has answered in its place.
	backAfter = time.Minute
)

// order is in which order upstreams are asked, and what is known of each. It is
// safe for concurrent use.
type order struct {
	now func() time.Time

	mu        sync.Mutex
	upstreams []upstreamState
	good      int       // index of the one that answered last
	since     time.Time // since when that is not the first one
}

type upstreamState struct {
	repeats bool // it has repeated the case of our letters
}

// turns returns the indexes of the upstreams in the order to ask them.
func (o *order) turns() []int {
	o.mu.Lock()
	defer o.mu.Unlock()
	first := o.good
	if first != 0 && o.now().Sub(o.since) >= backAfter {
		o.since = o.now() // one question tries; the others need not wait for it
		first = 0
	}
	var turns []int
	for i := range o.upstreams {
		turns = append(turns, (first+i)%len(o.upstreams))
	}
	return turns
}

// answered notes that an upstream has answered first.
func (o *order) answered(index int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if index != o.good {
		o.good, o.since = index, o.now()
	}
}

// believes reports whether a reply may be an upstream's, by whether it has the
// same letters as the question: one that has repeated them once always does.
func (o *order) believes(index int, same bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	u := &o.upstreams[index]
	if same {
		u.repeats = true
	}
	return same || !u.repeats
}
