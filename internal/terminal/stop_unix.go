//go:build unix

package terminal

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// canStop says that a process can be stopped and continued here.
const canStop = true

func notifyResize(c chan<- os.Signal) { signal.Notify(c, syscall.SIGWINCH) }
func notifyStop(c chan<- os.Signal)   { signal.Notify(c, syscall.SIGTSTP) }

// stopPatience bounds the wait for the stop, which comes some moments after the signal.
const stopPatience = 300 * time.Millisecond

// stopSelf stops this process and its group, as the terminal's own key would, and
// returns when it is continued. The group of a session's first process is not stopped: no
// shell is there to continue it. The signal is SIGSTOP, because Go's runtime takes the
// default action of SIGTSTP away for good once it was caught.
func stopSelf() {
	if session, err := unix.Getsid(0); err != nil || session == unix.Getpgrp() {
		return
	}
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	_ = syscall.Kill(0, syscall.SIGSTOP)
	select {
	case <-continued:
	case <-time.After(stopPatience):
	}
}

// waiter returns ready, which waits until file can be read, and reports false once stop
// was called.
func waiter(file Input) (ready func() bool, stop func(), err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	in, wake := int(file.Fd()), int(r.Fd())
	ready = func() bool {
		for {
			var set unix.FdSet
			set.Set(in)
			set.Set(wake)
			_, err := unix.Select(max(in, wake)+1, &set, nil, nil, nil)
			if err == unix.EINTR {
				continue
			}
			if err != nil || set.IsSet(wake) {
				_ = r.Close()
				return false
			}
			return true
		}
	}
	return ready, func() { _ = w.Close() }, nil
}
