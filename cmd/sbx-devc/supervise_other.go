//go:build !unix

package main

import (
	"context"
	"errors"
	"net"
	"os"
	"os/signal"
)

const canSupervise = false

func (a *app) supervise(context.Context, terminalFlags) error { return errors.ErrUnsupported }

func connOf(int) (net.Conn, error) { return nil, errors.ErrUnsupported }

func leaveGroup() {}

func leaveStreams() {}

func catchSignals() (signals <-chan os.Signal, stop func()) {
	caught := make(chan os.Signal, 4)
	signal.Notify(caught, os.Interrupt)
	return caught, func() { signal.Stop(caught) }
}
