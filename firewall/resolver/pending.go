package resolver

import (
	"context"
	"sync"
)

// pending are the queries that no upstream has answered yet. Clients that ask
// the same meanwhile share the answer: a zone whose answers must not be kept is
// asked once for all of them, and a forger has one query to guess instead of
// many (RFC 5452 section 5). Safe for concurrent use.
type pending struct {
	mu      sync.Mutex
	clients map[pendingKey][]chan<- pendingResult // that wait for the one that asks
}

// pendingKey is a question under one policy.
type pendingKey struct {
	cacheKey
	generation int // of the cache
}

type pendingResult struct {
	answer answer
	err    error
}

// do returns what ask returns. It calls ask only if the query is not pending;
// otherwise it waits for the client that did, or for the end of ctx.
func (p *pending) do(ctx context.Context, key pendingKey, ask func() (answer, error)) (answer, error) {
	p.mu.Lock()
	if p.clients == nil {
		p.clients = map[pendingKey][]chan<- pendingResult{}
	}
	clients, asked := p.clients[key]
	if asked {
		done := make(chan pendingResult, 1)
		p.clients[key] = append(clients, done)
		p.mu.Unlock()
		select {
		case r := <-done:
			return r.answer, r.err
		case <-ctx.Done():
			return answer{}, ctx.Err()
		}
	}
	p.clients[key] = nil
	p.mu.Unlock()

	var r pendingResult
	r.answer, r.err = ask()
	p.mu.Lock()
	clients = p.clients[key]
	delete(p.clients, key)
	p.mu.Unlock()
	for _, client := range clients {
		client <- r
	}
	return r.answer, r.err
}
