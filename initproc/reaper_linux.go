package initproc

import (
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Reaper collects children that no other code waits for: orphans that come to
// us, and the command, whose status it reports.
//
// The packet filter's programs are children too, and the code that started them
// waits for them. wait4(2) for any child would take their status away, and a
// failed program would look like one that never was. So the two exclude each
// other: while programs run, orphans wait, and only the command, by its pid,
// is looked after.
type Reaper struct {
	command  int // pid; 0 = there is none
	children chan os.Signal
	programs sync.Mutex // held while programs of ours run
}

// NewReaper begins to notice children that end; nothing is collected before
// Init.Run or Init.Serve.
func NewReaper() *Reaper {
	r := &Reaper{children: make(chan os.Signal, 1)}
	signal.Notify(r.children, syscall.SIGCHLD)
	return r
}

// Pause runs f, which may start programs and must wait for all of them. No
// orphan is collected meanwhile.
func (r *Reaper) Pause(f func()) {
	defer r.wake()
	r.programs.Lock()
	defer r.programs.Unlock()
	f()
}

// reap sends the status of the command once it has ended; command 0 is none.
func (r *Reaper) reap(command int) <-chan unix.WaitStatus {
	exits := make(chan unix.WaitStatus, 1)
	r.command = command
	r.wake() // for children that ended before
	go func() {
		for range r.children {
			r.collect(exits)
		}
	}()
	return exits
}

// collect takes every child that has ended and may be taken.
func (r *Reaper) collect(exits chan<- unix.WaitStatus) {
	which := -1
	if r.programs.TryLock() {
		defer r.programs.Unlock()
	} else if which = r.command; which == 0 {
		return // Pause wakes us when the programs are done
	}
	for {
		var status unix.WaitStatus
		got, err := unix.Wait4(which, &status, unix.WNOHANG, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || got <= 0 {
			return
		}
		if got == r.command {
			exits <- status
			r.command = 0
			if which != -1 {
				return
			}
		}
	}
}

func (r *Reaper) wake() {
	select {
	case r.children <- syscall.SIGCHLD:
	default: // it is awake already
	}
}
