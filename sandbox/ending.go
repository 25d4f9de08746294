package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// endTimeout bounds everything that this machine does for a run once its agent
// has ended, such as to read the log and to look for changes. It takes a second
// mostly; the agent decides how much there is to look at.
const endTimeout = 60 * time.Second

// endBound is endTimeout, and the time to fetch a copy from the engine.
func endBound(p *runplan.Plan) time.Duration {
	if p.Carried() {
		return endTimeout + fetchTimeout
	}
	return endTimeout
}

// ending is the time after the agent's end. The first signal ends the looking,
// the second also the removal of the containers; the outputs are written in
// every case.
type ending struct {
	look   context.Context // for what only looks; its time is bounded, see newEnding
	remove context.Context // for the removal of containers
	stop   func()
	caught chan os.Signal // the first signal; buffered
}

var (
	errEndTimeout = errors.New("the time for it was over")
	errEndSignal  = errors.New("a signal ended it")
)

// newEnding begins that time; looking takes bound at most.
func newEnding(ctx context.Context, bound time.Duration, signals <-chan os.Signal, say func(string)) *ending {
	ctx = context.WithoutCancel(ctx)
	look, lookDone := context.WithTimeoutCause(ctx, bound, errEndTimeout)
	look, endLook := context.WithCancelCause(look)
	remove, endRemove := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	e := &ending{look: look, remove: remove, caught: make(chan os.Signal, 1)}
	e.stop = func() {
		close(ended)
		endLook(nil)
		lookDone()
		endRemove(nil)
	}
	go func() {
		for n := 0; ; n++ {
			select {
			case sig := <-signals:
				if n == 0 {
					e.caught <- sig
					say(fmt.Sprintf("%v: the run ends with what is known so far", sig))
					endLook(errEndSignal)
					continue
				}
				endRemove(errEndSignal)
			case <-ended:
				return
			}
		}
	}()
	return e
}

// signal is the exit code of the first signal in that time; 0 = there was none.
func (e *ending) signal() int {
	select {
	case sig := <-e.caught:
		n, _ := sig.(syscall.Signal)
		return exitcode.Signal + int(n)
	default:
		return 0
	}
}
