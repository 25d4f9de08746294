package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/session/worker"
)

// workerFlags are those of exec --json-lines: the flags of run that are about a sandbox and
// not about one task. They are hidden in the help of exec, which is about a command.
type workerFlags struct {
	on bool
	o  Options
	f  *pflag.FlagSet // of o
}

// workerFlag is the flag that makes exec a worker.
const workerFlag = "json-lines"

func (w *workerFlags) groups() []group {
	return []group{&w.o.agent, &w.o.settings, &w.o.profile, &w.o.instructions, &w.o.containers, &w.o.result, &w.o.log}
}

// idleInWorkers are flags of these groups that are about one task: a request has its own.
var idleInWorkers = []string{"json-schema", "idle-timeout"}

func (w *workerFlags) register(cmd *cobra.Command) {
	w.f = pflag.NewFlagSet(workerFlag, pflag.ContinueOnError)
	for _, g := range w.groups() {
		g.Register(w.f)
	}
	w.f.VisitAll(func(f *pflag.Flag) { f.Hidden = true })
	cmd.Flags().AddFlagSet(w.f)
	cmd.Flags().BoolVar(&w.on, workerFlag, false,
		"read requests as JSON lines on standard input and answer them on standard output; takes DIR and the flags of run")
}

// check refuses flags that would do nothing.
func (w *workerFlags) check() (err error) {
	w.f.VisitAll(func(f *pflag.Flag) {
		if f.Changed && !w.on && err == nil {
			err = diag.WithHint(fmt.Errorf("exec takes no --%s: it joins a run that goes on", f.Name),
				"give it to 'sbx-devc run', or to exec --json-lines")
		}
	})
	for _, name := range idleInWorkers {
		if w.f.Changed(name) && err == nil {
			err = diag.WithHint(fmt.Errorf("--%s is about one task", name), "give each request its own: schema, timeout")
		}
	}
	return err
}

// serve answers requests until standard input ends.
func (w *workerFlags) serve(ctx context.Context, a *cli.App, cmd *cobra.Command, args []string) error {
	usage := func(err error) error { return exitcode.With(exitcode.Usage, err) }
	if len(args) > 1 || cmd.ArgsLenAtDash() >= 0 {
		return usage(diag.WithHint(errors.New("exec --json-lines takes one folder at most, and no command"),
			"commands come as requests: docs/worker.md"))
	}
	if err := UnknownVariables(os.Environ(), w.f); err != nil {
		return usage(err)
	}
	if err := FlagsFromEnv(w.f, a.Getenv); err != nil {
		return usage(err)
	}
	for _, g := range w.groups() {
		if err := g.check(cmd.Flags()); err != nil {
			return usage(err)
		}
	}
	named := ""
	if len(args) == 1 {
		if named = args[0]; !filekind.IsFolder(named) {
			return exitcode.With(exitcode.NoInput, diag.WithHint(fmt.Errorf("%s is no folder", named), "name the project's folder"))
		}
	}
	var at place
	at.dir, at.folder = projects.RunDir(a, named)
	if at.shown = at.dir; named == "" {
		at.shown, at.folder = projects.Shown(a, at.dir, at.folder)
	}
	ctx, stop := signal.NotifyContext(ctx, cli.EndSignals()...)
	defer stop()
	start := func(ctx context.Context) (*worker.Running, error) { return w.start(ctx, a, at) }
	if err := worker.Serve(ctx, a.Stdin, a.Stdout, start); err != nil {
		return exitcode.With(exitcode.OfLost(err), fmt.Errorf("writing to standard output: %w", err))
	}
	return nil
}

// start does the run whose sandbox the requests work in. It asks no questions, because no person could answer.
func (w *workerFlags) start(ctx context.Context, a *cli.App, at place) (*worker.Running, error) {
	quiet, o := *a, w.o
	quiet.Stdin, quiet.Stdout = bytes.NewReader(nil), io.Discard
	began, ended := make(chan *worker.Running, 1), make(chan error, 1)
	o.held = func(h *sandbox.Held, plan *runplan.Plan) {
		began <- &worker.Running{Sandbox: h, Folder: plan.Agent.WorkingDir, Copy: plan.Place.Mode.IsCopy(), Ended: ended}
	}
	go func() {
		err := run(ctx, &quiet, at, o)
		if code, show := exitcode.Of(err, exitcode.Internal); code == 0 && show == nil {
			err = nil
		}
		ended <- err
	}()
	select {
	case r := <-began:
		return r, nil
	case err := <-ended:
		if err == nil {
			err = errors.New("the sandbox ended before it was there")
		}
		return nil, err
	}
}
