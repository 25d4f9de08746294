package sandbox

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/org/claude-sandbox/credproxy"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/settings"
)

// defaultLimits hold where nobody chose others. The engine's machine must bear those of
// memory and processors, see fitLimits.
func defaultLimits() settings.Limits {
	return settings.Limits{Memory: 4 << 30, CPUs: 2, PIDs: 1024}
}

// openLimits are limits that nobody chose: they are lowered to what the engine's machine
// bears.
type openLimits struct{ memory, cpus, pids bool }

// openLimits returns the limits that neither the user nor the project chose.
func (o Options) openLimits() openLimits {
	chosen := o.users().Limits
	if o.Project != nil {
		chosen = settings.Limits{Memory: max(chosen.Memory, o.Project.Limits.Memory), CPUs: max(chosen.CPUs, o.Project.Limits.CPUs),
			PIDs: max(chosen.PIDs, o.Project.Limits.PIDs)}
	}
	return openLimits{memory: chosen.Memory == 0, cpus: chosen.CPUs == 0, pids: chosen.PIDs == 0}
}

// fitLimits lowers limits that nobody chose: the memory to half of the engine's, the
// processors to those that it has. Engines refuse a limit above that. One that the engine
// would not obey is left out, and said; if somebody chose it, that is an error.
func (p *Plan) fitLimits(d engine.Description) error {
	if p.open.memory && d.Memory > 0 {
		p.Agent.MemoryBytes = min(p.Agent.MemoryBytes, d.Memory/2)
	}
	if p.open.cpus && d.CPUs > 0 {
		p.Agent.CPUs = min(p.Agent.CPUs, float64(d.CPUs))
	}
	none := func(limits *engine.Limits, name string) bool {
		before := *limits
		switch name {
		case "memory":
			limits.MemoryBytes = 0
		case "cpus":
			limits.CPUs = 0
		case "pids":
			limits.Pids = 0
		}
		return *limits != before
	}
	open := map[string]bool{"memory": p.open.memory, "cpus": p.open.cpus, "pids": p.open.pids}
	var missing []string
	for _, name := range d.Lacks {
		if !open[name] {
			return diag.WithHint(fmt.Errorf("%w: the engine cannot limit %s, and limits.%s (--%s) asks for it", ErrConfig, name, name, name),
				"leave the limit out, or use an engine that obeys it: 'sbx-devc doctor' says why this one does not")
		}
		none(&p.Sidecar.Limits, name)
		if none(&p.Agent.Limits, name) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		p.Warnings = append(p.Warnings, fmt.Sprintf("the engine cannot limit %s: the agent may take all that its machine has",
			strings.Join(missing, ", ")))
	}
	return nil
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
