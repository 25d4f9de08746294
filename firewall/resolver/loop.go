package resolver

import "sync"

// A container engine's resolver (127.0.0.11) asks the outside from within the
// container's network. Where the packet filter leads its question back to us,
// answering it would ask the engine again, and so on without end. A question
// that comes in with the id, name and type of one of ours that is still open is
// therefore our own.

// asked is one open question of ours.
type asked struct {
	id uint16
	cacheKey
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
