//go:build unix

package run

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/hostprogram"
	"github.com/org/claude-sandbox/internal/terminal"
)

// canSupervise says that a run can be done by another process, which outlives this one.
const canSupervise = true

// supervise has another process of this program do the run that the command line asks
// for, and gives it this terminal. Until the run begins, both have the streams and the
// process group, so that questions and Ctrl-C work as ever.
func supervise(ctx context.Context, a *cli.App, o terminalFlags) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return exitcode.With(exitcode.Internal, fmt.Errorf("starting the supervisor: %w", err))
	}
	unix.CloseOnExec(pair[0])
	unix.CloseOnExec(pair[1])
	theirs := os.NewFile(uintptr(pair[1]), "client")
	ours, err := connOf(pair[0])
	if err != nil {
		return exitcode.With(exitcode.Internal, errors.Join(err, theirs.Close()))
	}
	cmd := exec.Command(a.Self, supervisorArgs(a.Args)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = hostprogram.Environ()     // it leaves the same out, and can say so
	cmd.ExtraFiles = []*os.File{theirs} // descriptor 3
	handed, err := a.Hand(cmd)
	if err == nil {
		err = cmd.Start()
		handed()
	}
	if err = errors.Join(err, theirs.Close()); err != nil {
		return exitcode.With(exitcode.Internal, fmt.Errorf("starting the supervisor: %w", err))
	}
	client := client(a, o.clipboard)
	client.Detach = o.detach
	how, err := follow(ctx, a, client, ours)
	if how == terminal.Detached || how == terminal.Taken {
		return err
	}
	_ = cmd.Wait()
	switch status := cmd.ProcessState.Sys().(syscall.WaitStatus); {
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

// supervisorArgs are the arguments of the process that does the run.
func supervisorArgs(args []string) []string {
	at := slices.Index(args, "--")
	if at < 0 {
		at = len(args)
	}
	return slices.Insert(slices.Clone(args), at, "--"+clientFlag+"=3")
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
