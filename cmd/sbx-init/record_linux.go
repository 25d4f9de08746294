package main

import (
	"sync"
	"sync/atomic"

	"github.com/org/claude-sandbox/firewall"
)

// counts are the decisions since the start. Safe for concurrent use.
type counts struct{ allowed, denied atomic.Int64 }

func (c *counts) add(v firewall.Verdict) {
	if v == firewall.Allow {
		c.allowed.Add(1)
		return
	}
	c.denied.Add(1)
}

// probes are the names of our own test questions that are under way. Safe for
// concurrent use.
type probes struct {
	mu    sync.Mutex
	names map[string]bool
}

func (p *probes) begin(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.names == nil {
		p.names = map[string]bool{}
	}
	p.names[name] = true
}

func (p *probes) end(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.names, name)
}

func (p *probes) has(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.names[name]
}
