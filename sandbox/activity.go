package sandbox

import (
	"io"
	"net/http"
	"sync"
	"time"
)

// activity knows since when Claude has done nothing that is seen from here: it wrote
// nothing and waits for no answer of the model's.
type activity struct {
	mu      sync.Mutex
	last    time.Time
	pending int // requests
}

func newActivity() *activity { return &activity{last: time.Now()} }

// add notes a sign of activity; pending is 1 when a request begins and -1 when it ends.
func (a *activity) add(pending int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last = time.Now()
	a.pending += pending
}

// idle is for how long there was no activity.
func (a *activity) idle() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.pending > 0 {
		return 0
	}
	return time.Since(a.last)
}

// since reports whether there was activity after a time, or goes on.
func (a *activity) since(t time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.pending > 0 || a.last.After(t)
}

// handler is next, whose requests count.
func (a *activity) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.add(1)
		defer a.add(-1)
		next.ServeHTTP(w, r)
	})
}

// writer is to, and what is written to it counts.
func (a *activity) writer(to io.Writer) io.Writer { return &activeWriter{a, to} }

type activeWriter struct {
	activity *activity
	to       io.Writer
}

func (w *activeWriter) Write(p []byte) (int, error) {
	w.activity.add(0)
	return w.to.Write(p)
}

// idleTimer fires when a run may have been idle for its limit; with the limit 0, never.
type idleTimer struct {
	timer *time.Timer
	limit time.Duration
}

func newIdleTimer(limit time.Duration) *idleTimer {
	t := &idleTimer{time.NewTimer(max(limit, time.Second)), limit}
	if limit == 0 {
		t.timer.Stop()
	}
	return t
}

// over reports whether the limit is reached, and sets the timer again if it is not.
func (t *idleTimer) over(a *activity) bool {
	idle := a.idle()
	if idle >= t.limit {
		return true
	}
	t.timer.Reset(t.limit - idle)
	return false
}
