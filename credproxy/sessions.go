package credproxy

import (
	"net/http"
	"slices"
	"sync"
)

// Sessions is an http.Handler that serves several session tokens at one address: each has
// a Proxy of its own, which counts and limits its requests apart. A token that no Proxy
// knows is refused by the first one. It is safe for concurrent use.
type Sessions struct {
	first *Proxy

	mu   sync.Mutex
	more []*Proxy
}

// NewSessions returns the Sessions of first, which stays.
func NewSessions(first *Proxy) *Sessions { return &Sessions{first: first} }

// Add serves the session token of p as well, until remove is called: the token is worth
// nothing then.
func (s *Sessions) Add(p *Proxy) (remove func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.more = append(s.more, p)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.more = slices.DeleteFunc(s.more, func(other *Proxy) bool { return other == p })
	}
}

// ServeHTTP has the Proxy serve a request whose token it carries.
func (s *Sessions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	more := slices.Clone(s.more)
	s.mu.Unlock()
	for _, p := range more {
		if p.authorized(r) {
			p.ServeHTTP(w, r)
			return
		}
	}
	s.first.ServeHTTP(w, r)
}
