package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/org/claude-sandbox/action"
	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/session/keys"
)

func main() {
	found := keys.Hide(action.KeyVariables(os.Getenv("INPUT_KEYS"))...)
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, cli.EndSignals()...)
	go func() { cancel(cli.Interrupted{By: <-signals}) }()
	// Writing into a pipe without a reader is an error instead of this program's
	// end, which would leave the agent running with no program to stop it: in
	// "sbx-devc run … | jq" an interrupt ends jq as well. The signal is caught
	// and not ignored, because programs that we start would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	app := &cli.App{Self: self, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: found.Getenv, Hand: found.Hand}
	os.Exit(cli.Main(ctx, app, root, os.Args[1:]))
}
