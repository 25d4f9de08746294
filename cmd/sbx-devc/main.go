// Sbx-devc makes it safe to let Claude Code work with
// --dangerously-skip-permissions: it writes and checks dev containers, builds
// images and runs the agent behind a firewall.
//
// One command, one file. This package parses, calls a package and prints; it
// alone reads the environment and exits.
package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/org/claude-sandbox/session/keys"
)

func main() {
	found := keys.Hide()
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() { cancel(interrupted{<-signals}) }()
	// Writing into a pipe that nobody reads any more is an error instead of this
	// program's end, which would leave the agent running with nobody to stop it:
	// in "sbx-devc run … | jq" an interrupt ends jq as well. The signal is caught
	// and not ignored, because programs that we start would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	app := &app{self: self, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: found.Getenv, hand: found.Hand}
	os.Exit(app.main(ctx, os.Args[1:]))
}

// interrupted is why a command was given up.
type interrupted struct{ by os.Signal }

func (i interrupted) Error() string { return "interrupted: " + i.by.String() }

// Is makes whoever asks for the end of the context find it.
func (i interrupted) Is(target error) bool { return target == context.Canceled }

// code is 128 and the signal's number, as shells have it.
func (i interrupted) code() int {
	n, _ := i.by.(syscall.Signal)
	return exitSignal + int(n)
}

// app is the outside world as the commands see it.
type app struct {
	stdin  io.Reader
	stdout io.Writer // results only
	stderr io.Writer // everything for people
	getenv func(string) string
	self   string // path of this program
	args   []string
	// hand gives the keys to another process of this program, which cmd will start.
	hand func(cmd *exec.Cmd) (done func(), err error)
}
