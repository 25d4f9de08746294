package sandbox

import (
	"sync"
	"time"
)

// patience is how long a run may wait for something before the person hears what it is.
const patience = 2 * time.Second

// waits says what a run waits for when that takes its time, as on an engine that is busy or
// far away. It is safe for concurrent use.
type waits struct {
	say      func(string)
	patience time.Duration

	mu    sync.Mutex
	timer *time.Timer // nil = the run waits for nothing
}

// on notes that the run waits for something now, and no longer for what it waited for
// before. "" = for nothing.
func (w *waits) on(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
	if what == "" {
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(w.patience, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.timer == timer {
			w.say("waiting for " + what)
		}
	})
	w.timer = timer
}
