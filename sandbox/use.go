package sandbox

import (
	"context"
	"fmt"
	"time"

	"github.com/org/claude-sandbox/credproxy"
	"github.com/org/claude-sandbox/internal/engine"
)

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

// Between two looks at what the agent's container uses usePause passes, and at the beginning
// less until the engine tells of it: a run can be over in a second, and the engine tells
// nothing of a container that has ended.
const (
	usePause      = time.Second
	firstUsePause = usePause / 10
)

// watchUse looks at what the container uses until ctx ends, and then sends what it saw;
// nil = the engine never said. A peak between two looks is not seen.
func watchUse(ctx context.Context, e *engine.Engine, id string) <-chan *Use {
	sum := make(chan *Use, 1)
	go func() {
		var seen *Use
		defer func() { sum <- seen }()
		pause := firstUsePause
		next := time.NewTimer(pause)
		defer next.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-next.C:
			}
			now, err := e.Use(ctx, id)
			// One that runs has a process. With none the engine does not count what is the
			// container's: Podman without control groups of its own tells of the whole machine.
			if err != nil || now.PIDs == 0 {
				pause = min(2*pause, usePause)
				next.Reset(pause)
				continue
			}
			next.Reset(usePause)
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
