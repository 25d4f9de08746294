//go:build unix

package supervisor

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/terminal"
)

// Possible says that a run can be done by another process, which outlives this one.
const Possible = true

// Process is a supervisor that this process started.
type Process struct {
	cmd  *exec.Cmd
	conn net.Conn // to the run's terminal
}

// Start starts a supervisor: program with args and Flag, the streams of this process and
// the variables of env. prepare may give it more files and variables, nil = none; done
// closes what the process has then.
func Start(program string, args, env []string, prepare func(*exec.Cmd) (done func(), err error)) (*Process, error) {
	p, err := start(program, args, env, prepare)
	if err != nil {
		return nil, exitcode.With(exitcode.Internal, fmt.Errorf("starting the supervisor: %w", err))
	}
	return p, nil
}

func start(program string, args, env []string, prepare func(*exec.Cmd) (func(), error)) (*Process, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, err
	}
	unix.CloseOnExec(pair[0])
	unix.CloseOnExec(pair[1])
	theirs := os.NewFile(uintptr(pair[1]), "client")
	defer theirs.Close()
	ours, err := connOf(pair[0])
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, arguments(args)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = os.Stdin, os.Stdout, os.Stderr, env
	cmd.ExtraFiles = []*os.File{theirs} // descriptor 3
	done := func() {}
	if prepare != nil {
		if done, err = prepare(cmd); err != nil {
			return nil, errors.Join(err, ours.Close())
		}
	}
	err = cmd.Start()
	done()
	if err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	return &Process{cmd, ours}, nil
}

// Follow has a Client show the supervisor's run. The error has the exit code of this
// process; nil = the run goes on without it.
func (p *Process) Follow(c *terminal.Client) error {
	how, err := Follow(c, p.conn)
	if how == terminal.Detached || how == terminal.Taken {
		return err
	}
	_ = p.cmd.Wait()
	switch status := p.cmd.ProcessState.Sys().(syscall.WaitStatus); {
	case how == terminal.Ended:
		return err
	case status.Signaled():
		err := fmt.Errorf("the run's supervisor was ended by a signal: %s", status.Signal())
		return exitcode.With(exitcode.Internal, diag.WithHint(err,
			"its containers end by themselves; the next 'sbx-devc run' saves what they hold"))
	default: // it said why
		return exitcode.With(status.ExitStatus(), nil)
	}
}

// arguments are those of the process that does the run.
func arguments(args []string) []string {
	at := slices.Index(args, "--")
	if at < 0 {
		at = len(args)
	}
	return slices.Insert(slices.Clone(args), at, "--"+Flag+"=3")
}

// connOf is the connection at a descriptor.
func connOf(fd int) (net.Conn, error) {
	unix.CloseOnExec(fd)
	file := os.NewFile(uintptr(fd), "client "+strconv.Itoa(fd))
	if file == nil {
		return nil, fmt.Errorf("%d is no descriptor", fd)
	}
	defer file.Close()
	return net.FileConn(file)
}

// leaveGroup takes this process out of its terminal's reach: signals come from its Client.
func leaveGroup() { _, _ = syscall.Setsid() } // fails for a process that leads a session already

// leaveStreams lets go of the terminal that this process was started on.
func leaveStreams() {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer null.Close()
	for fd := range 3 {
		_ = unix.Dup2(int(null.Fd()), fd)
	}
}
