package session

import (
	"context"
	"time"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// SilentEngine is how long an engine may say nothing before the person hears of it.
const SilentEngine = 2 * time.Second

// WaitingForImages says what a silent engine is asked for after that.
const WaitingForImages = "waiting for the container engine to look at images and volumes"

// FittingEngine connects to the engine and fits the plan to it; the caller closes it. An
// engine that is busy or stuck takes its time, so say gets a sentence when that is longer
// than patience.
func FittingEngine(ctx context.Context, plan *runplan.Plan, patience time.Duration, say func(string)) (*engine.Engine, error) {
	slow := time.AfterFunc(patience, func() { say("waiting for the container engine to answer") })
	defer slow.Stop()
	e, err := engine.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if note := e.Note(); note != "" {
		say(note)
	}
	if err := plan.FitEngine(ctx, e); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}
