package sandbox

import (
	"context"

	"github.com/org/claude-sandbox/credproxy"
	"github.com/org/claude-sandbox/internal/engine"
)

// limitMemory keeps an agent whose limit nobody chose from more than half of
// the engine's memory. An engine that does not say how much it has changes
// nothing: the default limit holds.
func (p *Plan) limitMemory(ctx context.Context, e *engine.Engine, spec *engine.Spec) {
	if !p.sharedLimit {
		return
	}
	if memory, err := e.Memory(ctx); err == nil && memory > 0 {
		spec.MemoryBytes = min(spec.MemoryBytes, memory/2)
	}
}

func tokens(u credproxy.Usage) int64 { return u.Input + u.Output + u.CacheRead + u.CacheWrite }
