package run

import (
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// agentFlags say which Claude Code works, and how long.
type agentFlags struct {
	model        string
	maxTurns     int
	maxBudgetUSD float64
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
	f.DurationVar(&o.idleTimeout, "idle-timeout", 0,
		"end when Claude has written nothing and asked the model nothing for this time, such as 10m")
	f.StringVar(&o.systemPrompt, "append-system-prompt", "", "text to add to Claude's system prompt")
	f.StringVar(&o.claudePath, "claude-path", "", "run the image's own Claude Code at this path (default: the pinned one, from npm)")
	f.BoolVar(&o.hostedWeb, "allow-hosted-web", false, "let the model's provider search and fetch web pages for the agent, past the firewall")
}

func (o *agentFlags) check(f *pflag.FlagSet) error {
	if err := limitsLimit(f, "max-turns", "max-budget-usd", "idle-timeout"); err != nil {
		return err
	}
	return agent.CheckExtraArgs(o.arguments)
}

func (o *agentFlags) plan(p *runplan.Options) {
	p.ClaudePath, p.AllowHostedWeb, p.IdleTimeout = o.claudePath, o.hostedWeb, o.idleTimeout
	p.Headless = agent.Headless{
		Model: o.model, MaxTurns: o.maxTurns, MaxBudgetUSD: o.maxBudgetUSD, ExtraArgs: o.arguments,
		AppendSystemPrompt: strings.TrimSpace(agent.NetworkNotice + "\n" + o.systemPrompt),
	}
}
