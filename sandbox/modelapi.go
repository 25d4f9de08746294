package sandbox

import (
	"fmt"
	"net/http"
	"sync"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/credproxy"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// modelAPI is a run's way to the model API: the proxy that holds the key, and the signs
// that it leads nowhere.
type modelAPI struct {
	proxy *credproxy.Proxy
	token string // of the proxy; worthless outside this run
	// providersToken is that for Host.Providers, which the agent's programs have.
	providersToken string
	keyRefused     chan struct{} // closed when the API refused the credential
	refuse         sync.Once
	reach          *reach
	held           *Held // the sandbox of a run without an agent of its own; nil = it has one
}

// newModelAPI makes the proxy. It fails on an upstream or a key that cannot be used.
func newModelAPI(p *runplan.Plan, h Host) (_ *modelAPI, err error) {
	a := &modelAPI{token: credproxy.NewSessionToken(), providersToken: credproxy.NewSessionToken(),
		keyRefused: make(chan struct{}), reach: newReach()}
	var unreachable sync.Once
	var limits credproxy.Limits
	limits.Turns, limits.BudgetUSD = p.Asked.Headless.Limits()
	limits.Budgets, limits.Models, limits.Repeats = p.Budgets, p.Models, p.Asked.MaxRepeats
	a.proxy, err = credproxy.New(credproxy.Options{
		Upstream:     h.Upstream,
		Credential:   h.Credential,
		SessionToken: a.token,
		Providers:    h.Secrets.Providers, ProvidersToken: a.providersToken,
		Proxy: h.UpstreamProxy,

		AllowHostedWeb: p.Asked.AllowHostedWeb,
		Limits:         limits,
		Patience:       p.Asked.Patience,
		Ledger:         h.Ledger,
		Warn:           func(line string) { h.Say("warning: " + line) },
		Log: func(entry credproxy.Entry) {
			// Refused is empty when the upstream itself answered.
			if entry.Status == http.StatusUnauthorized && entry.Refused == "" {
				a.refuseKey()
			}
			a.reach.note(entry)
			if entry.Status == http.StatusBadGateway && entry.Refused != "" {
				unreachable.Do(func() { h.Say("warning: " + entry.Refused) })
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", runplan.ErrConfig, err)
	}
	return a, nil
}

// handler answers requests to the model API.
func (a *modelAPI) handler() http.Handler {
	if a.held != nil {
		return a.held.sessions
	}
	return a.proxy
}

// evidence is what the proxy and the agent's output say of how a prompt went.
func (a *modelAPI) evidence(out *agent.Scanner, prompt string) agent.Evidence {
	return agent.Evidence{
		Result: out.Result(), Tampered: out.Tampered(), Prompt: prompt, Answers: a.proxy.Answered(),
		Last: agent.Answer(a.proxy.LastAnswer()), HookOpen: a.proxy.HookOpen(), Limit: a.limit(),
	}
}

// limit is the limit for which the proxy refused a request; "" = it refused none.
func (a *modelAPI) limit() agent.Conclusion {
	return map[credproxy.Reached]agent.Conclusion{
		credproxy.ReachedTurns: agent.MaxTurns, credproxy.ReachedBudget: agent.MaxBudget, credproxy.ReachedLoop: agent.MaxRepeats,
	}[a.proxy.Reached()]
}

// refuseKey notes that the API refused the credential.
func (a *modelAPI) refuseKey() { a.refuse.Do(func() { close(a.keyRefused) }) }
