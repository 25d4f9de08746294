package transcript

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/internal/visible"
)

// firstSilence is how long nothing may happen before somebody who waits is told
// what for. Each further line comes after twice the time.
const firstSilence = 10 * time.Second

// Silence knows what a run waits for. It is safe for concurrent use.
type Silence struct {
	mu    sync.Mutex
	since time.Time // of the last event
	next  time.Duration
	tools []agent.ToolUse // that have no answer yet
	begun bool            // the model was asked
}

// NewSilence begins now.
func NewSilence(now time.Time) *Silence { return &Silence{since: now, next: firstSilence} }

// Hear takes an event.
func (s *Silence) Hear(now time.Time, ev agent.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since, s.next = now, firstSilence
	switch e := ev.(type) {
	case agent.Init:
		s.begun = true
	case agent.ToolUse:
		s.tools = append(s.tools, e)
	case agent.ToolResult:
		for i, t := range s.tools {
			if t.ID == e.ID {
				s.tools = append(s.tools[:i], s.tools[i+1:]...)
				break
			}
		}
	}
}

// Line is what to tell somebody who waits; "" = nothing yet.
func (s *Silence) Line(now time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	quiet := now.Sub(s.since)
	if quiet < s.next {
		return ""
	}
	s.next *= 2
	what := "still starting"
	switch {
	case len(s.tools) > 0:
		t := s.tools[len(s.tools)-1]
		what = visible.Line(strings.TrimSuffix(t.Name+": "+t.Argument, ": ")) + " is at work"
	case s.begun:
		what = "waiting for the model"
	}
	return fmt.Sprintf("… %s (%s)", what, quiet.Round(time.Second))
}
