package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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
	stream, err := p.engine.Exec(ctx, p.id, engine.ExecSpec{Command: []string{runplan.AgentInit, "deliver"}, User: user, WorkingDir: "/",
		Stdin: true})
	if err != nil {
		return fmt.Errorf("%w: delivering secrets: %w", ErrNoStart, err)
	}
	defer stream.Close()
	sent := make(chan error, 1)
	go func() {
		_, err := io.Copy(stream, bytes.NewReader(text))
		sent <- errors.Join(err, stream.CloseWrite())
	}()
	problem := newTail()
	if err = errors.Join(stream.Copy(problem, problem), <-sent); err == nil {
		var code int
		if code, err = p.engine.ExecExit(ctx, stream); err == nil && code != 0 {
			err = errors.New(strings.TrimSpace(problem.String()))
		}
	}
	if err != nil {
		return fmt.Errorf("%w: delivering secrets: %w", ErrNoStart, err)
	}
	return nil
}
