package run

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// agentFlags say which Claude Code works, and how long.
type agentFlags struct {
	model        string
	maxTurns     int
	maxBudgetUSD float64
	maxRepeats   int
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

func (o *agentFlags) plan(p *runplan.Options) {
	p.ClaudePath, p.AllowHostedWeb, p.IdleTimeout = o.claudePath, o.hostedWeb, o.idleTimeout
	p.MaxRepeats = o.maxRepeats
	p.Headless = agent.Headless{
		Model: o.model, MaxTurns: o.maxTurns, MaxBudgetUSD: o.maxBudgetUSD, ExtraArgs: o.arguments,
		AppendSystemPrompt: strings.TrimSpace(agent.NetworkNotice + "\n" + o.systemPrompt),
	}
}
