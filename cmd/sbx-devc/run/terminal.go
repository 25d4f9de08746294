package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/org/claude-sandbox/agent/conversation"
	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/terminal"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/sandbox/runplan"
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

// clientFlag is the hidden flag of a supervisor.
const clientFlag = "supervise-for"

// clipboardHelp is about the terminal on which the flag is given, and no other one.
const clipboardHelp = "let programs in the sandbox write your terminal's clipboard (OSC 52)"

func (o *terminalFlags) Title() string { return "On a terminal" }

func (o *terminalFlags) Register(f *pflag.FlagSet) {
	f.BoolVar(&o.shell, "shell", false, "start bash on your terminal in place of Claude Code")
	f.BoolVarP(&o.interactive, "interactive", "i", false, "show Claude Code's interface, with a prompt too: it is typed there for you")
	f.BoolVar(&o.clipboard, "clipboard", false, clipboardHelp)
	f.BoolVarP(&o.detach, "detach", "d", false, "leave the run to a supervisor in the background; attach, logs -f, status and stop find it")
	f.IntVar(&o.client, clientFlag, 0, "")
	f.Lookup(clientFlag).Hidden = true
}

func (o *terminalFlags) check(*pflag.FlagSet) error {
	if o.shell && !o.on {
		return diag.WithHint(errors.New("--shell needs a terminal, and takes no prompt"), "run it on a terminal: sbx-devc run --shell")
	}
	if o.interactive && (!o.on || o.shell) {
		return diag.WithHint(errors.New("--interactive needs a terminal, and excludes --print, --output-format and --shell"),
			"without it a prompt is answered anywhere: sbx-devc run 'fix the tests'")
	}
	if o.detach && !canSupervise {
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
	return (o.on || o.detach) && o.client == 0 && canSupervise
}

// onTerminal reports whether a run shows a person Claude's own interface: with claude
// that is the way without -p, and a prompt or another form of output asks for an answer
// and no conversation, unless --interactive is there.
func onTerminal(a *cli.App, o *Options) bool {
	prompt := o.prompt.text != "" || o.prompt.file != ""
	asked := o.prompt.print || prompt && !o.terminal.interactive || o.output.format != ""
	return !asked && cli.IsTerminal(a.Stdin) && cli.IsTerminal(a.Stdout)
}

// joinTerminal gives a run its person: the Client of another process, or a terminal here.
// Messages for people go to the Client from here on. leave ends that: it tells the Client
// how the run ended, which err says, and returns what is left to say.
func joinTerminal(a *cli.App, o terminalFlags, plan *runplan.Plan, host *sandbox.Host) (leave func(err error) error, err error) {
	s := terminal.NewServer()
	s.Suspends = !o.shell
	s.Find = plan.InSandbox
	s.Farewell = "sbx-devc: the run " + plan.ID + " goes on"
	join := "sbx-devc attach " + plan.ID
	if !o.on {
		join = "sbx-devc logs -f " + plan.ID
	}
	s.Farewell += "; to see it: " + join + ", to end it: sbx-devc stop " + plan.ID + "\n"
	s.OnDetach = leaveStreams
	ended := make(chan struct{})
	if o.client == 0 {
		here, there := net.Pipe()
		s.Serve(there, nil)
		client := client(a, o.clipboard)
		go func() {
			defer close(ended)
			client.Run(here)
		}()
	} else {
		close(ended)
		conn, err := connOf(o.client)
		if err != nil {
			return nil, exitcode.With(exitcode.Internal, err)
		}
		s.Serve(conn, terminal.Rescue(os.Stdin, os.Stdout))
		leaveGroup()
	}
	host.Signals = bothSignals(host.Signals, s.Signals())
	a.Stderr = s.Words()
	var listener net.Listener
	if o.on {
		first, err := io.ReadAll(host.Prompt)
		if err != nil {
			return nil, exitcode.With(exitcode.NoInput, err)
		}
		host.Terminal, s.First = s, string(first)
		listener = listen(a, plan.ID, s)
	} else {
		a.Stdout = io.Discard // the transcript is kept
		host.OnBegin = s.Begin
	}
	return func(err error) error {
		code, show := exitcode.Of(err, exitcode.Internal)
		if show != nil {
			s.End()
			diag.WriteError(s.Words(), "sbx-devc", cli.WithHint(show))
		}
		if listener != nil {
			_ = listener.Close()
		}
		s.Close(code)
		<-ended
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

// listen lets other processes of the user join the run's terminal; nil = none can.
func listen(a *cli.App, id string, s *terminal.Server) net.Listener {
	name := projects.Runs(a).Socket(id)
	err := os.MkdirAll(filepath.Dir(name), 0o700)
	var l net.Listener
	if err == nil {
		l, err = net.Listen("unix", name)
	}
	if err != nil {
		fmt.Fprintf(a.Stderr, "sbx-devc: note: no other terminal can join this run: %v\n", err)
		return nil
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.Serve(conn, nil)
		}
	}()
	return l
}

// bothSignals are those of two channels.
func bothSignals(one, other <-chan os.Signal) <-chan os.Signal {
	both := make(chan os.Signal, 4)
	go func() {
		for {
			var next os.Signal
			select {
			case next = <-one:
			case next = <-other:
			}
			both <- next
		}
	}()
	return both
}

// follow is a Client's time at a supervisor, and the exit code of this process.
func follow(ctx context.Context, a *cli.App, c *terminal.Client, conn io.ReadWriteCloser) (how terminal.Ending, err error) {
	signals, stop := catchSignals()
	defer stop()
	c.Signals = signals
	how, code := c.Run(conn)
	switch how {
	case terminal.Ended:
		return how, exitcode.With(code, nil)
	case terminal.Taken:
		fmt.Fprintln(a.Stderr, "sbx-devc: another terminal has joined the run in the place of this one")
	}
	return how, nil
}
