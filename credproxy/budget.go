package credproxy

import (
	"fmt"
	"sync/atomic"

	"github.com/org/claude-sandbox/credproxy/spending"
)

// warnAt is the part of a budget of which a run is warned.
const warnAt = 0.8

// budget is one of a run's budgets.
type budget struct {
	spending.Budget
	warned atomic.Bool
}

// overBudget says which budget has no room for another request for a model; "" means that
// there is room. full says that there will be none when the requests that are under way have
// used what is expected of them: another one has to wait. It warns once of a budget that is
// nearly used up. A ledger that fails leaves no room.
func (p *Proxy) overBudget(model string, expected []spending.Spent) (over string, full bool) {
	for i := range p.budgets {
		b := &p.budgets[i]
		if !b.Counts(model) {
			continue
		}
		spent, err := p.usage.spent(b.Budget)
		if err != nil {
			return fmt.Sprintf("%s cannot be counted: %v", b.Words(), err), false
		}
		switch used := b.Used(spent); {
		case used >= 1:
			return b.Words() + " is used up", false
		case used >= warnAt && b.warned.CompareAndSwap(false, true):
			p.warn(fmt.Sprintf("%.0f %% of %s is used", 100*used, b.Words()))
		}
		for _, e := range expected {
			if b.Counts(e.Model) {
				spent = spent.Add(e)
			}
		}
		full = full || len(expected) > 0 && b.Used(spent) >= 1
	}
	return "", full
}

// usualOutput is more than most answers have, in tokens, and far less than the limit that
// Claude Code sets.
const usualOutput = 16_000

// expected is what a request for an answer is likely to use at most.
func (q request) expected() spending.Spent {
	output := max(q.mostTokens[0], q.mostTokens[1])
	if output == 0 || output > usualOutput {
		output = usualOutput
	}
	u := spending.Usage{Requests: 1, Input: int64(q.size/4) + q.extra, Output: output * max(q.choices, 1)}
	if q.embeddings {
		u.Output = 0
	}
	if q.provider != nil {
		return spending.Spent{Model: q.model, Usage: u, USD: q.provider.costUSD(q.named, "", u)}
	}
	return spending.Spent{Model: q.model, Usage: u, USD: priceOf(q.model).costUSD(tokens{Usage: u})}
}

// spent returns what a budget counts. It errs when the ledger fails.
func (m *meter) spent(b spending.Budget) (spending.Spent, error) {
	if b.Per == spending.PerRun {
		return m.sum(b.Counts), nil
	}
	if err := m.ledgerError(); err != nil {
		return spending.Spent{}, err
	}
	return m.ledger.Sum(b.Per, b.Counts)
}
