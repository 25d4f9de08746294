package sandbox

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/org/claude-sandbox/credproxy"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/settings"
)

// defaultLimits hold where nobody chose others. The engine's machine must bear those of
// memory and processors, see fitEngine.
func defaultLimits() settings.Limits {
	return settings.Limits{Memory: 4 << 30, CPUs: 2, PIDs: 1024}
}

// openLimits are limits that nobody chose: they are lowered to what the engine's machine
// bears.
type openLimits struct{ memory, cpus bool }

// openLimits returns the limits that neither the user nor the project chose.
func (o Options) openLimits() openLimits {
	chosen := o.users().Limits
	if o.Project != nil {
		chosen = settings.Limits{Memory: max(chosen.Memory, o.Project.Limits.Memory), CPUs: max(chosen.CPUs, o.Project.Limits.CPUs)}
	}
	return openLimits{memory: chosen.Memory == 0, cpus: chosen.CPUs == 0}
}

// fitEngine lowers limits that nobody chose: the memory to half of the engine's, the
// processors to those that it has. Engines refuse a limit above that, and each limit of
// processors where the kernel has none. An engine that does not say what it has changes
// nothing.
func (p *Plan) fitEngine(ctx context.Context, e *engine.Engine, spec *engine.Spec) {
	if !p.open.memory && !p.open.cpus {
		return
	}
	has, err := e.Capacity(ctx)
	if err != nil {
		return
	}
	if p.open.memory && has.Memory > 0 {
		spec.MemoryBytes = min(spec.MemoryBytes, has.Memory/2)
	}
	if p.open.cpus && has.CPUs > 0 {
		spec.CPUs = min(spec.CPUs, float64(has.CPUs))
	}
	if p.open.cpus && has.NoCPULimit {
		spec.CPUs = 0
	}
}

// diskFlag is how the agent's first process is told of the limit of disk.
func (p *Plan) diskFlag() []string {
	if p.disk == 0 {
		return nil
	}
	return []string{"--disk", strconv.FormatInt(p.disk, 10)}
}

// warnBefore is how long before its time limit a run warns of it: a fifth of the limit,
// and at most a minute.
func warnBefore(limit time.Duration) time.Duration { return min(limit/5, time.Minute) }

// Use is what the agent's container took of its machine, as the engine counts it.
type Use struct {
	PeakMemory int64         // bytes
	CPU        time.Duration // of all processors together
	PeakPIDs   int64         // processes and threads
	Written    int64         // bytes to disks, as far as the kernel tells whose they are
}

// String is the use in words.
func (u Use) String() string {
	text := fmt.Sprintf("%.1f s of processors, at most %s of memory and %d processes", u.CPU.Seconds(), size(u.PeakMemory), u.PeakPIDs)
	if u.Written > 0 {
		text += ", " + size(u.Written) + " to disk"
	}
	return text
}

// size is a number of bytes in words.
func size(bytes int64) string {
	switch {
	case bytes >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
	case bytes >= 1<<20:
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d KiB", bytes>>10)
}

// usePause is the time between two looks at what the agent's container uses.
const usePause = time.Second

// watchUse looks at what the container uses until ctx ends, and then sends what it saw;
// nil = the engine never said. A peak between two looks is not seen.
func watchUse(ctx context.Context, e *engine.Engine, id string) <-chan *Use {
	sum := make(chan *Use, 1)
	go func() {
		var seen *Use
		defer func() { sum <- seen }()
		next := time.NewTimer(usePause / 10)
		defer next.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-next.C:
			}
			next.Reset(usePause)
			now, err := e.Use(ctx, id)
			if err != nil || now == (engine.Use{}) {
				continue
			}
			if seen == nil {
				seen = &Use{}
			}
			seen.PeakMemory, seen.PeakPIDs = max(seen.PeakMemory, now.Memory), max(seen.PeakPIDs, now.PIDs)
			seen.CPU, seen.Written = max(seen.CPU, now.CPU), max(seen.Written, now.Written)
		}
	}()
	return sum
}

func tokens(u credproxy.Usage) int64 { return u.Input + u.Output + u.CacheRead + u.CacheWrite }
