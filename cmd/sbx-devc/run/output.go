package run

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/agent/transcript"
	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// OutputFormats are the forms of a run's standard output; "" = the agent's work on
// a terminal, otherwise text.
var OutputFormats = []string{"", "text", "json", "stream-json"}

// outputFlags say what standard output gets.
type outputFlags struct {
	format string
}

func (o *outputFlags) Title() string { return "The task" }

func (o *outputFlags) Register(f *pflag.FlagSet) {
	f.StringVar(&o.format, "output-format", "",
		"text, json or stream-json (default: the agent's work on a terminal, else text)")
}

func (o *outputFlags) check(*pflag.FlagSet) error {
	if !slices.Contains(OutputFormats, o.format) {
		return cli.UnknownValue("output-format", o.format, OutputFormats[1:]...)
	}
	return nil
}

func (o *outputFlags) plan(*runplan.Options) {}

// output is a run's standard output.
type output struct {
	format  string
	to      io.Writer
	scanner *agent.Scanner // of what claude wrote; nil = it was passed on already
	stop    func()         // of the lines that break a silence
}

// attachOutput gives host the standard output of the form that was asked for, and
// standard error the lines for whoever waits.
func attachOutput(a *cli.App, host *sandbox.Host, format string) *output {
	out := &output{format: format, to: cli.Shown(a.Stdout), stop: func() {}}
	hear := func(agent.Event) {}
	if cli.IsTerminal(a.Stderr) {
		silence := transcript.NewSilence(time.Now())
		hear = func(e agent.Event) { silence.Hear(time.Now(), e) }
		out.stop = everySecond(func(now time.Time) {
			if line := silence.Line(now); line != "" {
				host.Say(line)
			}
		})
	}
	show := func(e agent.Event) {
		if retry, ok := e.(agent.APIRetry); ok { // who waits wants to know for what
			host.Say(visible.Line(retry.String()))
		}
	}
	switch {
	case format == "stream-json":
		host.Stdout = out.to
	case format == "" && cli.IsTerminal(a.Stdout):
		host.Stdout, show = io.Discard, transcript.New(a.Stdout).Event
	default:
		out.scanner = agent.NewScanner(io.Discard, nil)
		host.Stdout = out.scanner
	}
	host.OnEvent = func(e agent.Event) {
		hear(e)
		show(e)
	}
	return out
}

// everySecond calls tick once a second until it is stopped.
func everySecond(tick func(now time.Time)) (stop func()) {
	ticker, done := time.NewTicker(time.Second), make(chan struct{})
	go func() {
		for {
			select {
			case now := <-ticker.C:
				tick(now)
			case <-done:
				return
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(done)
	}
}

// finish writes what comes at a run's end, and notes in r what was lost. Only a
// judged success has an answer; the error on standard error says what else there is
// to say.
func (o *output) finish(r *sandbox.Result) {
	o.stop()
	if o.scanner == nil {
		return
	}
	_ = o.scanner.Close() // it discards what it reads
	var answer string
	switch result := o.scanner.Result(); {
	case o.format == "json":
		answer = string(resultJSON(o.scanner, r.Outcome))
	case r.Outcome.OK() && result != nil:
		answer = result.Text
	default:
		return
	}
	if _, err := fmt.Fprintln(o.to, answer); err != nil && r.Lost == nil {
		r.Lost, r.ExitCode = err, cmp.Or(r.ExitCode, exitcode.OfLost(err))
	}
}

// resultJSON is claude's result event, byte for byte, when the judgement agrees
// with it. Otherwise it is an event of the same form that says what was judged.
func resultJSON(s *agent.Scanner, outcome agent.Outcome) []byte {
	if result := s.Result(); result != nil && (outcome.OK() || result.IsError || result.Subtype != "success") {
		return s.ResultLine()
	}
	line, _ := json.Marshal(map[string]any{ // of plain data: never fails
		"type": "result", "subtype": "error_during_execution", "is_error": true, "errors": []string{outcome.Message},
		"terminal_reason": string(outcome.Conclusion),
	})
	return line
}
