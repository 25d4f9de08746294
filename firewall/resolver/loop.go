package resolver

import (
	"sync"

	"golang.org/x/net/dns/dnsmessage"
)

// A container engine's resolver (127.0.0.11) asks the outside from within the
// container's network. Where the packet filter leads its question back to us,
// answering it would ask the engine again, and so on without end. A question
// that comes in with the id, name and type of one of ours that is still open is
// therefore our own. The name must have the same letters, too: who asks for a
// name with one id after the other would otherwise be told which id to forge a
// reply with.

// asked is one open question of ours.
type asked struct {
	id   uint16
	name string // in the letters that were sent
	typ  dnsmessage.Type
}

// askedAs is q with an id.
func askedAs(id uint16, q dnsmessage.Question) asked {
	return asked{id, string(q.Name.Data[:q.Name.Length]), q.Type}
}

// openQuestions are our questions that await their reply. Safe for concurrent use.
type openQuestions struct {
	mu   sync.Mutex
	open map[asked]int
}

// add notes a question until it is removed.
func (o *openQuestions) add(a asked) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open == nil {
		o.open = map[asked]int{}
	}
	o.open[a]++
}

// remove forgets what was added once.
func (o *openQuestions) remove(a asked) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open[a]--; o.open[a] == 0 {
		delete(o.open, a)
	}
}

// has reports whether the question is one of ours.
func (o *openQuestions) has(a asked) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.open[a] > 0
}
