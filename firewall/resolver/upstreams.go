package resolver

import (
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

const (
	// nextAfter is how long one upstream is waited for before the next one is
	// asked too. Most answers that were not asked for lately take less.
	nextAfter = 500 * time.Millisecond

	// backAfter is how long the first upstream is passed over when another one
	// has answered in its place.
	backAfter = time.Minute
)

// upstreams is in which order the upstreams are asked, and what is known of
// each. It is safe for concurrent use.
type upstreams struct {
	now func() time.Time

	mu          sync.Mutex
	repeatsCase []bool    // by upstream: it has repeated the case of our letters
	preferred   int       // index of the one that answered last
	since       time.Time // since when that is not the first one
}

// turns returns the indexes of the upstreams in the order to ask them.
func (u *upstreams) turns() []int {
	u.mu.Lock()
	defer u.mu.Unlock()
	first := u.preferred
	if first != 0 && u.now().Sub(u.since) >= backAfter {
		u.since = u.now() // one question tries; the others need not wait for it
		first = 0
	}
	var turns []int
	for i := range u.repeatsCase {
		turns = append(turns, (first+i)%len(u.repeatsCase))
	}
	return turns
}

// answered notes that an upstream has answered first.
func (u *upstreams) answered(index int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if index != u.preferred {
		u.preferred, u.since = index, u.now()
	}
}

// believes reports whether a reply may be an upstream's, by whether it has the
// same letters as the question: one that has repeated them once always does.
func (u *upstreams) believes(index int, sameCase bool) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if sameCase {
		u.repeatsCase[index] = true
	}
	return sameCase || !u.repeatsCase[index]
}

// openQuestion is a question of ours that awaits its reply.
//
// A container engine's resolver (127.0.0.11) asks the outside from within the
// container's network. Where the packet filter leads its question back to us,
// answering it would ask the engine again, and so on without end. A question
// that comes in with the id, name and type of one of ours that is still open is
// therefore our own. The name must have the same letters, too. Otherwise a client
// that asks for a name with one id after the other would learn which id to forge
// a reply with.
type openQuestion struct {
	id   uint16
	name string // in the letters that were sent
	typ  dnsmessage.Type
}

// openQuestionOf is q with an id.
func openQuestionOf(id uint16, q dnsmessage.Question) openQuestion {
	return openQuestion{id, string(q.Name.Data[:q.Name.Length]), q.Type}
}
