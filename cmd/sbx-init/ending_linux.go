package main

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/org/claude-sandbox/internal/exitcode"
)

// How often newcomers are ended when everything is, and how long the reason may
// take to be told.
const (
	endPause = 5 * time.Millisecond
	endLimit = time.Second
)

// endAll ends everything as soon as one of the watches returns: it sends why,
// kills, and closes the channel. What is left to do is to tell it and to end with
// the code of the watch's error, for which there is a limit: who reads our
// words may have stopped reading.
//
// Who is not the first process may not be in a namespace of the sandbox's own,
// and ends nobody else unless an engine's init is the first: it tells and ends at
// once, even if the last records are lost by it. The Feature's entrypoint sees to
// the rest where another one is the first.
func endAll(p *program, watches ...func() error) <-chan error {
	gone, first := make(chan error, 1), make(chan error, len(watches))
	for _, watch := range watches {
		go func() { first <- watch() }()
	}
	go func() {
		err := <-first
		code, _ := exitcode.Of(err, exitInternal)
		time.AfterFunc(endLimit, func() { os.Exit(code) })
		if os.Getpid() != 1 && !underEnginesInit() {
			os.Exit(p.exitCode(err))
		}
		gone <- err // before the command ends by it
		_ = syscall.Kill(-1, syscall.SIGKILL)
		close(gone)
		for ; ; time.Sleep(endPause) {
			_ = syscall.Kill(-1, syscall.SIGKILL)
		}
	}()
	return gone
}

// underEnginesInit reports whether the first process is what engines put there
// to collect orphans (--init): it ends when we do, and with it everything, but
// that takes ten times as long as to end everything ourselves.
func underEnginesInit() bool {
	name, err := os.ReadFile("/proc/1/comm")
	return err == nil && os.Getppid() == 1 && slices.Contains(enginesInits, strings.TrimSpace(string(name)))
}

// enginesInits are Docker's, under its names, and Podman's.
var enginesInits = []string{"docker-init", "tini", "podman-init", "catatonit"}
