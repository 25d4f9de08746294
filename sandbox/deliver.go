package sandbox

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/org/claude-sandbox/internal/delivery"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// deliver gives the agent's first process, as its user, what the agent's configuration must
// not hold. The agent starts after that.
func (p *process) deliver(ctx context.Context, parcel delivery.Parcel, user string) error {
	if parcel.Empty() {
		return nil
	}
	text, err := parcel.Encode()
	if err != nil {
		return fmt.Errorf("%w: %w", runplan.ErrConfig, err)
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	problem := newTail()
	spec := engine.ExecSpec{Command: []string{runplan.AgentInit, "deliver"}, User: user, WorkingDir: "/"}
	code, err := p.engine.Run(ctx, p.id, spec, text, problem, problem)
	if err == nil && code != 0 {
		err = errors.New(strings.TrimSpace(problem.String()))
	}
	if err != nil {
		return fmt.Errorf("%w: delivering secrets: %w", ErrNoStart, err)
	}
	return nil
}
