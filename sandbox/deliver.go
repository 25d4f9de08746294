package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// deliver gives the agent's first process what the agent's configuration must not hold.
// The agent starts after that.
func (r *run) deliver(ctx context.Context) error {
	parcel, err := r.plan.Parcel(r.host.Secrets.Values)
	if err != nil || parcel.Empty() {
		return err
	}
	text, err := parcel.Encode()
	if err != nil {
		return fmt.Errorf("%w: %w", runplan.ErrConfig, err)
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	stream, err := r.engine.Exec(ctx, r.agent.id, engine.ExecSpec{Command: []string{runplan.AgentInit, "deliver"}, User: r.plan.Agent.User,
		WorkingDir: "/", Stdin: true})
	if err != nil {
		return fmt.Errorf("%w: delivering secrets: %w", ErrNoStart, err)
	}
	defer stream.Close()
	sent := make(chan error, 1)
	go func() {
		_, err := io.Copy(stream, bytes.NewReader(text))
		sent <- errors.Join(err, stream.CloseWrite())
	}()
	var problem tail
	if err = errors.Join(stream.Copy(&problem, &problem), <-sent); err == nil {
		var code int
		if code, err = r.engine.ExecExit(ctx, stream); err == nil && code != 0 {
			err = errors.New(strings.TrimSpace(problem.String()))
		}
	}
	if err != nil {
		return fmt.Errorf("%w: delivering secrets: %w", ErrNoStart, err)
	}
	return nil
}
