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
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	app := &app{self: self, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv}
	code := app.main(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// app is the outside world as the commands see it.
type app struct {
	stdin  io.Reader
	stdout io.Writer // results only
	stderr io.Writer // everything for people
	getenv func(string) string
	self   string // path of this program
}
