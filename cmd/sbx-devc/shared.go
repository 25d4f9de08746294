package main

import (
	"context"
	"io"
	"os/exec"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/connect"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/internal/ask"
	"github.com/org/claude-sandbox/internal/progress"
	"github.com/org/claude-sandbox/internal/userdir"
	"github.com/org/claude-sandbox/session/runs"
)

// app is cli.App for the commands of runs, which still are in this package.
type app struct {
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	getenv func(string) string
	self   string
	args   []string
	hand   func(cmd *exec.Cmd) (done func(), err error)
}

func (a *app) cli() *cli.App {
	return &cli.App{Stdin: a.stdin, Stdout: a.stdout, Stderr: a.stderr, Getenv: a.getenv, Self: a.self, Args: a.args, Hand: a.hand}
}

func (a *app) main(ctx context.Context, args []string) int { return cli.Main(ctx, a.cli(), root, args) }

func (a *app) printError(err error)               { a.cli().PrintError(err) }
func (a *app) sayLine(format string, args ...any) { a.cli().SayLine(format, args...) }
func (a *app) questions() *ask.Terminal           { return a.cli().Questions() }
func (a *app) runs() runs.Home                    { return projects.Runs(a.cli()) }
func (a *app) projectDir(args []string) string    { return projects.Dir(a.cli(), args) }
func (a *app) ownFolder() (userdir.Dir, error)    { return projects.OwnFolder(a.cli()) }
func (a *app) runDir(named string) (dir, folder string) {
	return projects.RunDir(a.cli(), named)
}
func (a *app) shownDir(dir, folder string) (shown, inShown string) {
	return projects.Shown(a.cli(), dir, folder)
}
func (a *app) projectAsked(all bool, args []string) (string, error) {
	return projects.OfRuns(a.cli(), all, args)
}
func (a *app) progress(verbose bool, cache string) *progress.Reporter {
	return a.cli().Progress(verbose, cache)
}

const (
	annotationChecker   = cli.AnnotationChecker
	annotationOwnOutput = cli.AnnotationOwnOutput
)

var (
	defaultSettings = projects.DefaultSettings
	real            = projects.Real
	projectFlag     = projects.Flag
	acceptCommand   = projects.AcceptCommand
	withEngine      = connect.Engine
	unanswered      = cli.Unanswered
	isTerminal      = cli.IsTerminal
	shown           = cli.Shown
	printJSON       = cli.PrintJSON
	count           = cli.Count
	exclusive       = cli.Exclusive
	unknownValue    = cli.UnknownValue
	kindOfValue     = cli.KindOfValue
	withHint        = cli.WithHint
)
