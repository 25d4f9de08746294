package run

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/org/claude-sandbox/agent/conversation"
	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/hostprogram"
	"github.com/org/claude-sandbox/internal/terminal"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/session/supervisor"
)

// terminalFlags are about a run on a terminal, and one that goes on without it.
type terminalFlags struct {
	shell       bool
	interactive bool
	clipboard   bool
	detach      bool
	client      int  // the descriptor of a supervisor's first Client; 0 = this is none
	on          bool // the run is one; no flag
}

// clipboardHelp is about the terminal on which the flag is given, and no other one.
const clipboardHelp = "let programs in the sandbox write your terminal's clipboard (OSC 52)"

func (o *terminalFlags) Title() string { return "On a terminal" }

func (o *terminalFlags) Register(f *pflag.FlagSet) {
	f.BoolVar(&o.shell, "shell", false, "start bash on your terminal in place of Claude Code")
	f.BoolVarP(&o.interactive, "interactive", "i", false, "show Claude Code's interface, with a prompt too: it is typed there for you")
	f.BoolVar(&o.clipboard, "clipboard", false, clipboardHelp)
	f.BoolVarP(&o.detach, "detach", "d", false, "leave the run to a supervisor in the background; attach, logs -f, status and stop find it")
	f.IntVar(&o.client, supervisor.Flag, 0, "")
	f.Lookup(supervisor.Flag).Hidden = true
}

func (o *terminalFlags) check(*pflag.FlagSet) error {
	if o.shell && !o.on {
		return diag.WithHint(errors.New("--shell needs a terminal, and takes no prompt"), "run it on a terminal: sbx-devc run --shell")
	}
	if o.interactive && (!o.on || o.shell) {
		return diag.WithHint(errors.New("--interactive needs a terminal, and excludes --print, --output-format and --shell"),
			"without it a prompt is answered anywhere: sbx-devc run 'fix the tests'")
	}
	if o.detach && !supervisor.Possible {
		return errors.New("--detach is not supported on this system")
	}
	return nil
}

func (o *terminalFlags) plan(p *runplan.Options) {
	p.Terminal, p.Shell = o.on, o.shell
	if o.on {
		p.Session = conversation.NewID()
	}
}

// needsSupervisor reports whether another process has to do the run: one that goes on
// when this one leaves its terminal, or is suspended.
func (o *terminalFlags) needsSupervisor() bool {
	return (o.on || o.detach) && o.client == 0 && supervisor.Possible
}

// onTerminal reports whether a run shows a person Claude's own interface: with claude
// that is the way without -p, and a prompt or another form of output asks for an answer
// and no conversation, unless --interactive is there.
func onTerminal(a *cli.App, o *Options) bool {
	prompt := o.prompt.text != "" || o.prompt.file != ""
	asked := o.prompt.print || prompt && !o.terminal.interactive || o.output.format != ""
	return !asked && cli.IsTerminal(a.Stdin) && cli.IsTerminal(a.Stdout)
}

// supervise has another process of this program do the run that the command line asks
// for, and gives it this terminal.
func supervise(a *cli.App, o terminalFlags) error {
	// The supervisor leaves the same variables out of the environment, and can say so.
	process, err := supervisor.Start(a.Self, a.Args, hostprogram.Environ(), a.Hand)
	if err != nil {
		return err
	}
	c := client(a, o.clipboard)
	c.Detach = o.detach
	signals, stop := catchSignals()
	defer stop()
	c.Signals = signals
	return process.Follow(c)
}

// joinTerminal gives a run its person: the Client of another process, or a terminal here.
// Messages for people go to the Client from here on. leave ends that: it tells the Client
// how the run ended, which err says, and returns what is left to say.
func joinTerminal(a *cli.App, o terminalFlags, plan *runplan.Plan, host *sandbox.Host) (leave func(err error) error, err error) {
	first := []byte(nil)
	if o.on {
		if first, err = io.ReadAll(host.Prompt); err != nil {
			return nil, exitcode.With(exitcode.NoInput, err)
		}
	}
	s, err := supervisor.Join(supervisor.Options{Run: plan.ID, Descriptor: o.client, Screen: o.on, Suspends: !o.shell,
		First: string(first), Find: plan.InSandbox, Here: client(a, o.clipboard)})
	if err != nil {
		return nil, err
	}
	host.Signals = supervisor.BothSignals(host.Signals, s.Signals())
	a.Stderr = s.Words()
	if o.on {
		host.Terminal = s
		if err := s.Listen(projects.Runs(a).Socket(plan.ID)); err != nil {
			fmt.Fprintf(a.Stderr, "sbx-devc: note: no other terminal can join this run: %v\n", err)
		}
	} else {
		a.Stdout = io.Discard // the transcript is kept
		host.OnBegin = func(*sandbox.Held) { s.Begin() }
	}
	return func(err error) error {
		code, show := exitcode.Of(err, exitcode.Internal)
		if show == nil {
			s.Leave(code, nil)
		} else {
			s.Leave(code, func(w io.Writer) { diag.WriteError(w, "sbx-devc", cli.WithHint(show)) })
		}
		return exitcode.With(code, nil)
	}, nil
}

// client is the Client that has this process's terminal.
func client(a *cli.App, clipboard bool) *terminal.Client {
	c := &terminal.Client{Words: a.Stderr, Clipboard: clipboard}
	c.In, _ = a.Stdin.(terminal.Input)
	c.Out, _ = a.Stdout.(terminal.Output)
	return c
}
