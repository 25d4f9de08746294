package main

import (
	"context"
	"io"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
)

// app is the program under test, in this process.
type app struct {
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	getenv func(string) string
	self   string
}

func (a *app) cli() *cli.App {
	return &cli.App{Stdin: a.stdin, Stdout: a.stdout, Stderr: a.stderr, Getenv: a.getenv, Self: a.self}
}

func (a *app) main(ctx context.Context, args []string) int { return cli.Main(ctx, a.cli(), root, args) }
