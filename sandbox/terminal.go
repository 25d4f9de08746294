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

// openTerminal gives the running agent the person's terminal, and calls follow, which ends
// with its context, until the agent leaves it.
func (p *process) openTerminal(ctx context.Context, person Terminal, follow func(context.Context)) {
	person.Begin()
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var at sync.WaitGroup
	at.Go(func() { p.resizeTerminal(ctx, person.Sizes()) })
	at.Go(func() { follow(ctx) })
	p.leaveTerminal = func() {
		cancel()
		at.Wait()
		person.End()
	}
	go func() {
		_, _ = io.Copy(p.stream, person) // fails when the agent is gone, which its exit tells
	}()
}

// The engine may refuse the first size of a container that has just started (measured
// with API 1.41, which also ignores a size at its creation).
const (
	resizeTries = 20
	resizePause = 50 * time.Millisecond
)

// resizeTerminal passes the screen's sizes on until ctx is done.
func (p *process) resizeTerminal(ctx context.Context, sizes <-chan terminal.Size) {
	for {
		select {
		case size := <-sizes:
			for range resizeTries {
				if p.engine.Resize(ctx, p.id, uint(size.Columns), uint(size.Rows)) == nil || ctx.Err() != nil {
					break
				}
				time.Sleep(resizePause)
			}
		case <-ctx.Done():
			return
		}
	}
}
