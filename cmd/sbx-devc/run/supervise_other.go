//go:build !unix

package run

import (
	"context"
	"errors"
	"net"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
)

const canSupervise = false

func supervise(context.Context, *cli.App, terminalFlags) error { return errors.ErrUnsupported }

func connOf(int) (net.Conn, error) { return nil, errors.ErrUnsupported }

func leaveGroup() {}

func leaveStreams() {}
