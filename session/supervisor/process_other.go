//go:build !unix

package supervisor

import (
	"errors"
	"net"
	"os/exec"

	"github.com/org/claude-sandbox/internal/terminal"
)

// Possible says that a run can be done by another process, which outlives this one.
const Possible = false

// Process is a supervisor that this process started: on this system there is none.
type Process struct{}

// Start fails.
func Start(string, []string, []string, func(*exec.Cmd) (done func(), err error)) (*Process, error) {
	return nil, errors.ErrUnsupported
}

// Follow fails.
func (p *Process) Follow(*terminal.Client) error { return errors.ErrUnsupported }

func connOf(int) (net.Conn, error) { return nil, errors.ErrUnsupported }

func leaveGroup() {}

func leaveStreams() {}
