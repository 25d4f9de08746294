package audit

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/org/claude-sandbox/firewall"
)

const (
	// firstWindow is how long after a decision the same one is counted instead
	// of written. Each time that it was repeated the window doubles, so that a
	// loop adds a line now and then and not one for each turn.
	firstWindow = 5 * time.Second
	lastWindow  = 10 * time.Minute

	// maxCounted bounds the decisions that are counted at a time. Beyond it
	// one of them, whichever, is written with its count and forgotten.
	maxCounted = 4096
)

// Recorder writes decisions through to somewhere, the first of a kind at once,
// and counts its repetitions: they come as one record with their number, when
// a window of time is over or at Close. A process that dies thus loses numbers
// and never a kind. It is safe for concurrent use.
type Recorder struct {
	write    func(Record) error
	complete func(*Record)
	now      func() time.Time

	mu     sync.Mutex
	counts map[kind]*repeats
	timer  *time.Timer
	err    error // of the last write of a count, which no decision waited for
	lost   int   // decisions that could not be written
	closed bool
}

// kind is what makes two decisions the same.
type kind struct {
	verdict      firewall.Verdict
	layer        Layer
	name, dst    string
	port         uint16
	proto        firewall.Proto
	uid          int // -1 when unknown
	rule, reason string
	operation    string
}

// repeats are the decisions of one kind since the last record about it.
type repeats struct {
	last   *Record // nil = none; most kinds never come again
	count  int
	until  time.Time
	window time.Duration
}

// NewRecorder returns a recorder that hands records to write, one call at a
// time. complete, unless nil, adds what is known of the process to the first
// record of a kind before it is written; it is not called for repetitions.
func NewRecorder(write func(Record) error, complete func(*Record)) *Recorder {
	return &Recorder{write: write, complete: complete, now: time.Now, counts: map[kind]*repeats{}}
}

// Record takes one decision, or r.Count of them at once. It errs when a record
// had to be written and could not be.
func (c *Recorder) Record(r Record) error {
	if r.Time.IsZero() {
		r.Time = c.now().UTC()
	}
	k := kind{r.Verdict, r.Layer, r.Name, r.Dst, r.Port, r.Proto, -1, r.Rule, r.Reason, r.Operation}
	if r.UID != nil {
		k.uid = *r.UID
	}
	found := r.Found
	r.Found = nil
	if c.repeated(k, r) {
		return nil
	}
	if found != nil {
		r.UID, r.PID, r.Exe, r.Cmd = found.UID, found.PID, found.Exe, found.Cmd
	}
	if r.PID == 0 && c.complete != nil {
		c.complete(&r)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.write(r)
	if err != nil {
		delete(c.counts, k) // what is not written must not be counted either
		c.lost += r.decisions()
	} else {
		c.admitLoss()
	}
	return errors.Join(err, c.lastError())
}

// admitLoss says in the log, once that can be written again, how many decisions
// it lacks.
func (c *Recorder) admitLoss() {
	if c.lost > 0 && c.write(unwritten(c.now().UTC(), c.lost)) == nil {
		c.lost = 0
	}
}

// repeated counts r when its kind is known, and makes it known otherwise.
func (c *Recorder) repeated(k kind, r Record) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.counts[k]; ok {
		if e.last == nil {
			e.last = new(Record)
		}
		*e.last = r
		e.count += r.decisions()
		return true
	}
	if c.closed {
		return false
	}
	if len(c.counts) >= maxCounted {
		for old, e := range c.counts {
			c.flush(e)
			delete(c.counts, old)
			break
		}
	}
	c.counts[k] = &repeats{window: firstWindow, until: c.now().Add(firstWindow)}
	if c.timer == nil {
		c.timer = time.AfterFunc(firstWindow, c.sweep)
	}
	return false
}

// sweep writes the counts whose window is over and forgets what was not
// repeated in it. Between two writes decisions may go on.
func (c *Recorder) sweep() {
	c.mu.Lock()
	now := c.now()
	var due []kind
	for k, e := range c.counts {
		switch {
		case now.Before(e.until):
		case e.count == 0:
			delete(c.counts, k)
		default:
			due = append(due, k)
		}
	}
	c.mu.Unlock()
	for _, k := range due {
		c.settle(k, now)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer = nil
	if len(c.counts) > 0 && !c.closed {
		c.timer = time.AfterFunc(firstWindow, c.sweep)
	}
}

// settle writes the count of a kind and begins a longer window.
func (c *Recorder) settle(k kind, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.counts[k]; ok && c.flush(e) {
		e.window = min(2*e.window, lastWindow)
		e.until = now.Add(e.window)
	}
}

// flush writes the count of a kind, without a process: they may have been
// several. A count that cannot be written is kept.
func (c *Recorder) flush(e *repeats) bool {
	if e.count == 0 {
		return true
	}
	r := *e.last
	r.Count, r.PID, r.Exe, r.Cmd = e.count, 0, "", ""
	if c.err = c.write(r); c.err != nil {
		return false
	}
	e.count = 0
	return true
}

// lastError returns the error of a count's write, once.
func (c *Recorder) lastError() error {
	err := c.err
	c.err = nil
	return err
}

// Flush writes all counts.
func (c *Recorder) Flush() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.counts {
		c.flush(e)
	}
	c.admitLoss()
	if c.lost > 0 {
		return errors.Join(c.lastError(), fmt.Errorf("%d decisions could not be written", c.lost))
	}
	return c.lastError()
}

// Close writes all counts. Records that come later are written one by one.
func (c *Recorder) Close() error {
	err := c.Flush()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	clear(c.counts)
	if c.timer != nil {
		c.timer.Stop()
	}
	return err
}
