package resolver

import "sync"

// pending are the questions that an upstream was asked and has not answered.
// Who asks the same meanwhile waits for the same reply: a zone whose answers
// must not be kept is asked once for all of them, and a forger has one question
// to guess instead of many (RFC 5452 section 5). Safe for concurrent use.
type pending struct {
	mu    sync.Mutex
	waits map[pendingKey][]func(reply []byte, err error)
}

// pendingKey is a question under one policy.
type pendingKey struct {
	cacheKey
	generation int // of the cache
}

// join has done called when the question ends. first is whether it was not
// pending: then the caller asks it, and calls end. done must not keep the reply.
func (p *pending) join(key pendingKey, done func(reply []byte, err error)) (first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waits == nil {
		p.waits = map[pendingKey][]func([]byte, error){}
	}
	waits, known := p.waits[key]
	p.waits[key] = append(waits, done)
	return !known
}

// end tells all who wait. Who joins from now on begins the question anew.
func (p *pending) end(key pendingKey, reply []byte, err error) {
	p.mu.Lock()
	waits := p.waits[key]
	delete(p.waits, key)
	p.mu.Unlock()
	for _, done := range waits {
		done(reply, err)
	}
}
