//go:build !unix

package run

import (
	"context"
	"errors"
	"net"
	"os"
	"os/signal"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
)

const canSupervise = false

func supervise(context.Context, *cli.App, terminalFlags) error { return errors.ErrUnsupported }

func connOf(int) (net.Conn, error) { return nil, errors.ErrUnsupported }

func leaveGroup() {}

func leaveStreams() {}

func catchSignals() (signals <-chan os.Signal, stop func()) {
	caught := make(chan os.Signal, 4)
	signal.Notify(caught, os.Interrupt)
	return caught, func() { signal.Stop(caught) }
}
