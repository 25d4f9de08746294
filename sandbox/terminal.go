package sandbox

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/org/claude-sandbox/internal/terminal"
)

// Terminal is a person's terminal, which the agent has between Begin and End. The text that it
// writes there is the agent's: the Terminal filters it. See package terminal.
type Terminal interface {
	io.ReadWriter
	Begin()
	End()
	Sizes() <-chan terminal.Size
}

// openTerminal gives the running agent the person's terminal.
func (r *run) openTerminal(ctx context.Context) {
	r.host.Terminal.Begin()
	r.transcript = newLiveTranscript(r.openTranscript)
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var at sync.WaitGroup
	at.Go(func() { r.resizeTerminal(ctx) })
	at.Go(func() { r.followConversations(ctx) })
	r.agent.leaveTerminal = func() {
		cancel()
		at.Wait()
		r.host.Terminal.End()
	}
	go func() {
		_, _ = io.Copy(r.agent.stream, r.host.Terminal) // fails when the agent is gone, which its exit tells
	}()
}

// The engine may refuse the first size of a container that has just started (measured
// with API 1.41, which also ignores a size at its creation).
const (
	resizeTries = 20
	resizePause = 50 * time.Millisecond
)

// resizeTerminal passes the screen's sizes on until ctx is done.
func (r *run) resizeTerminal(ctx context.Context) {
	sizes := r.host.Terminal.Sizes()
	for {
		select {
		case size := <-sizes:
			for range resizeTries {
				if r.engine.Resize(ctx, r.agent.id, uint(size.Columns), uint(size.Rows)) == nil || ctx.Err() != nil {
					break
				}
				time.Sleep(resizePause)
			}
		case <-ctx.Done():
			return
		}
	}
}
