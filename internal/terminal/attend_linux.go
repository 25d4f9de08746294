package terminal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// hangupPatience is how long a program has to end when its caller is gone.
const hangupPatience = 2 * time.Second

// lastOutput bounds the wait for what a program has written, when others still have its
// terminal.
const lastOutput = 200 * time.Millisecond

// Attend runs a program for the Remote whose stream from is, and returns its exit code,
// 128+n for signal n. Its output is this process's, or with tty that of a terminal of its
// own. The program and its session are ended when from is over: it does not outlive its
// caller, however that ends. argv[0] only names the program, which is this one. The other processes of its
// session are ended with it.
func Attend(from io.Reader, argv []string, tty bool) (code int, err error) {
	runtime.LockOSThread() // the program dies with the thread that started it
	defer runtime.UnlockOSThread()
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: argv, Stdout: os.Stdout, Stderr: os.Stderr}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	var in io.WriteCloser
	shown := make(chan struct{})
	if tty {
		master, slave, err := openPair()
		if err != nil {
			return 0, fmt.Errorf("opening a terminal: %w", err)
		}
		in, cmd.Stdin, cmd.Stdout, cmd.Stderr = master, slave, slave, slave
		cmd.SysProcAttr.Setctty = true
		defer slave.Close()
		go func() {
			defer close(shown)
			_, _ = io.Copy(os.Stdout, master) // EIO once no process has the terminal open
		}()
	} else {
		close(shown)
		if in, err = cmd.StdinPipe(); err != nil {
			return 0, err
		}
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	if f, ok := cmd.Stdin.(*os.File); ok {
		_ = f.Close() // the program's own is enough, and its end is seen
	}
	go attend(from, in, cmd.Process.Pid, tty)
	err = cmd.Wait()
	endSession(cmd.Process.Pid, syscall.SIGKILL) // such as jobs in the background of a shell
	select {
	case <-shown:
	case <-time.After(lastOutput):
	}
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return 0, err
	}
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return cmd.ProcessState.ExitCode(), nil
}

// attend acts on frames until the stream is over, and ends the program then.
func attend(from io.Reader, in io.WriteCloser, pid int, tty bool) {
	buf := make([]byte, maxFrame)
	for {
		k, content, err := readFrame(from, buf)
		if err != nil {
			break
		}
		switch k {
		case input:
			_, _ = in.Write(content) // a program that reads no more
		case noInput:
			if tty {
				_, _ = in.Write([]byte{4}) // Ctrl-D
			} else {
				_ = in.Close()
			}
		case size:
			if s, ok := sizeOf(content); ok && tty {
				_ = unix.IoctlSetWinsize(int(in.(*os.File).Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: s.Rows, Col: s.Columns})
			}
		}
	}
	endSession(pid, syscall.SIGHUP)
	time.AfterFunc(hangupPatience, func() { endSession(pid, syscall.SIGKILL) })
	_ = in.Close()
}

// endSession sends a signal to each process of the session that pid leads or led. A
// process that began a session of its own is another's, and ends with the container.
func endSession(pid int, signal syscall.Signal) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		_ = syscall.Kill(-pid, signal)
		return
	}
	for _, e := range entries {
		member, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if session, err := unix.Getsid(member); err == nil && session == pid {
			_ = syscall.Kill(member, signal)
		}
	}
}

// openPair opens a new terminal: what is written to the slave, master reads.
func openPair() (master, slave *os.File, err error) {
	if master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		return nil, nil, err
	}
	var n int
	if err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err == nil {
		n, err = unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	}
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		_ = master.Close()
		return nil, nil, err
	}
	return master, slave, nil
}
