package main

import (
	"errors"
	"net"

	"github.com/spf13/pflag"

	"github.com/org/claude-sandbox/agent/conversation"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/terminal"
	"github.com/org/claude-sandbox/sandbox"
)

// terminalFlags are about a run on a terminal.
type terminalFlags struct {
	shell     bool
	clipboard bool
	on        bool // the run is one; no flag
}

func (o *terminalFlags) register(f *pflag.FlagSet) {
	f.BoolVar(&o.shell, "shell", false, "start bash on your terminal in place of Claude Code")
	f.BoolVar(&o.clipboard, "clipboard", false, "let programs in the sandbox write your terminal's clipboard (OSC 52)")
}

func (o *terminalFlags) check(*pflag.FlagSet) error {
	if o.shell && !o.on {
		return diag.WithHint(errors.New("--shell needs a terminal, and takes no prompt"), "run it on a terminal: sbx-devc run --shell")
	}
	return nil
}

func (o *terminalFlags) plan(p *sandbox.Options) {
	p.Terminal, p.Shell = o.on, o.shell
	if o.on {
		p.Session = conversation.NewID()
	}
}

// onTerminal reports whether a run shows a person Claude's own interface: with claude
// that is the way without -p, and a prompt or another form of output asks for an answer
// and no conversation.
func (a *app) onTerminal(o *runOptions) bool {
	asked := o.prompt.print || o.prompt.text != "" || o.prompt.file != "" || o.output.format != ""
	return !asked && isTerminal(a.stdin) && isTerminal(a.stdout)
}

// joinTerminal gives a run the terminal of this process. finish ends it, when the run's
// last words for people are said.
func (a *app) joinTerminal(o terminalFlags, host *sandbox.Host) (finish func()) {
	s := terminal.NewServer()
	s.Suspends, s.Clipboard = !o.shell, o.clipboard
	host.Terminal = s
	here, there := net.Pipe()
	s.Serve(there)
	client := terminal.Client{In: a.stdin.(terminal.Input), Out: a.stdout.(terminal.Output), Words: a.stderr, Clipboard: o.clipboard}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		client.Run(here)
	}()
	a.stderr = s.Words()
	return func() {
		s.Close(0)
		<-ended
	}
}
