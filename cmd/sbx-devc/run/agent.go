package run

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/agent/structured"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// agentFlags say which Claude Code works, and how long.
type agentFlags struct {
	model        string
	maxTurns     int
	maxBudgetUSD float64
	maxRepeats   int
	schema       string
	answer       *structured.Schema // that schema names
	systemPrompt string
	claudePath   string
	hostedWeb    bool
	idleTimeout  time.Duration
	arguments    []string // Claude's own, given after --
}

func (o *agentFlags) Title() string { return "Claude" }

func (o *agentFlags) Register(f *pflag.FlagSet) {
	f.StringVar(&o.model, "model", "", "Claude's model")
	f.IntVar(&o.maxTurns, "max-turns", 0, "end after this many turns")
	f.Float64Var(&o.maxBudgetUSD, "max-budget-usd", 0, "end after this many US dollars at list price")
	f.IntVar(&o.maxRepeats, "max-repeats", runplan.DefaultRepeats,
		"end an agent that makes the same one or two calls with the same results so often; 0 = never")
	f.StringVar(&o.schema, "json-schema", "", "the answer must fit this JSON Schema: a file, or the schema itself; "+
		"it is checked outside of the sandbox and stands in the summary")
	f.DurationVar(&o.idleTimeout, "idle-timeout", 0,
		"end when Claude has written nothing and asked the model nothing for this time, such as 10m")
	f.StringVar(&o.systemPrompt, "append-system-prompt", "", "text to add to Claude's system prompt")
	f.StringVar(&o.claudePath, "claude-path", "", "run the image's own Claude Code at this path (default: the pinned one, from npm)")
	f.BoolVar(&o.hostedWeb, "allow-hosted-web", false, "let the model's provider search and fetch web pages for the agent, past the firewall")
}

// leastRepeats is what an agent may well do that waits.
const leastRepeats = 5

func (o *agentFlags) check(f *pflag.FlagSet) error {
	if o.maxRepeats < 0 || o.maxRepeats > 0 && o.maxRepeats < leastRepeats {
		return diag.WithHint(fmt.Errorf("--max-repeats %d is no limit that an agent works with", o.maxRepeats),
			"give %d or more, or 0 for none", leastRepeats)
	}
	if err := limitsLimit(f, "max-turns", "max-budget-usd", "idle-timeout"); err != nil {
		return err
	}
	return agent.CheckExtraArgs(o.arguments)
}

// readSchema reads --json-schema. A run on a terminal has no answer that could fit.
func (o *agentFlags) readSchema(onTerminal bool) (err error) {
	switch {
	case o.schema == "":
		return nil
	case onTerminal:
		return exitcode.With(exitcode.Usage, diag.WithHint(errors.New("--json-schema is about the answer of a headless run"),
			"give the prompt with -p"))
	}
	text := []byte(o.schema)
	if !strings.HasPrefix(strings.TrimSpace(o.schema), "{") {
		if text, err = filekind.Read(o.schema, structured.MaxSchema); err != nil {
			return exitcode.With(exitcode.NoInput, fmt.Errorf("--json-schema: %w", err))
		}
	}
	if o.answer, err = structured.Parse(text); err != nil {
		return exitcode.With(exitcode.Config, fmt.Errorf("--json-schema: %w", err))
	}
	return nil
}

func (o *agentFlags) plan(p *runplan.Options) {
	p.ClaudePath, p.AllowHostedWeb, p.IdleTimeout = o.claudePath, o.hostedWeb, o.idleTimeout
	p.MaxRepeats, p.Schema = o.maxRepeats, o.answer
	p.Headless = agent.Headless{
		Model: o.model, MaxTurns: o.maxTurns, MaxBudgetUSD: o.maxBudgetUSD, ExtraArgs: o.arguments,
		AppendSystemPrompt: strings.TrimSpace(agent.NetworkNotice + "\n" + o.systemPrompt),
	}
}
