package progress

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/org/claude-sandbox/internal/visible"
)

// idle is the time between steps. Its methods do nothing on nil.
type idle struct {
	mu    sync.Mutex
	steps int // under way
	timer *time.Timer
	after time.Duration
}

// Await has people hear what the work waits for when there is no step under way for longer
// than patience, in words such as "waiting for the container engine". stop ends that. It must
// not be called while a step is under way.
func (r *Reporter) Await(what string, patience time.Duration) (stop func()) {
	i := &idle{after: patience}
	i.timer = time.AfterFunc(patience, func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.steps == 0 {
			fmt.Fprintf(r.Out, "sbx-devc: %s\n", visible.Line(what))
			r.log(slog.LevelInfo, what)
		}
	})
	r.idle = i
	return func() { i.busy(1) }
}

// busy notes that a step begins, 1, or ends, -1.
func (i *idle) busy(step int) {
	if i == nil {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.timer.Stop()
	if i.steps += step; i.steps == 0 {
		i.timer.Reset(i.after)
	}
}
