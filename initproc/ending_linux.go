package initproc

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/org/claude-sandbox/internal/exitcode"
)

const (
	killPause = 5 * time.Millisecond // between two rounds of killing, for processes that came meanwhile
	tellLimit = time.Second          // for telling why everything ends
)

// endAll ends everything as soon as one of the watches returns: it sends why,
// kills, and closes the channel. The caller has a second to tell it and to end
// with the error's exit code; a reader of our output may have stopped reading.
//
// A process that is not the first one may not be in a namespace of the sandbox's
// own, and ends no other unless an engine's init is the first: it tells and ends
// at once, even if the last records are lost by it. The Feature's entrypoint sees
// to the rest where another one is the first.
func (i *Init) endAll() <-chan error {
	gone, first := make(chan error, 1), make(chan error, len(i.Watches))
	for _, watch := range i.Watches {
		go func() { first <- watch() }()
	}
	go func() {
		err := <-first
		code, _ := exitcode.Of(err, exitcode.Internal)
		time.AfterFunc(tellLimit, func() { os.Exit(code) })
		if os.Getpid() != 1 && !underEnginesInit() {
			os.Exit(i.Tell(err))
		}
		gone <- err // before the command ends by it
		_ = syscall.Kill(-1, syscall.SIGKILL)
		close(gone)
		for ; ; time.Sleep(killPause) {
			_ = syscall.Kill(-1, syscall.SIGKILL)
		}
	}()
	return gone
}

// allEnded returns the error that came from gone, when everything else has been
// killed: where this is not the first process, others outlive it.
func allEnded(err error, gone <-chan error) error {
	<-gone
	return err
}

// underEnginesInit reports whether the first process is the one that engines put
// there to collect orphans (--init): it ends when we do, and with it everything,
// but that takes ten times as long as to end everything ourselves.
func underEnginesInit() bool {
	name, err := os.ReadFile("/proc/1/comm")
	return err == nil && os.Getppid() == 1 && slices.Contains(enginesInits, strings.TrimSpace(string(name)))
}

// enginesInits are Docker's, under its names, and Podman's.
var enginesInits = []string{"docker-init", "tini", "podman-init", "catatonit"}
