package credproxy

import (
	"fmt"

	"github.com/org/claude-sandbox/credproxy/spending"
)

// warnAt is the part of a budget of which a run is warned.
const warnAt = 0.8

// overBudget says which budget has no room for another request for a model; ""
// means that there is room. It warns once of a budget that is nearly used up. A
// ledger that fails leaves no room.
func (p *Proxy) overBudget(model string) string {
	for i, b := range p.budgets {
		if !b.Counts(model) {
			continue
		}
		spent, err := p.spent(b)
		if err != nil {
			return fmt.Sprintf("%s cannot be counted: %v", b.Words(), err)
		}
		switch used := b.Used(spent); {
		case used >= 1:
			return b.Words() + " is used up"
		case used >= warnAt && p.warned[i].CompareAndSwap(false, true):
			p.warn(fmt.Sprintf("%.0f %% of %s is used", 100*used, b.Words()))
		}
	}
	return ""
}

func (p *Proxy) spent(b spending.Budget) (spending.Spent, error) {
	if b.Per == spending.PerRun {
		return p.usage.sum(b.Counts), nil
	}
	if err := p.usage.ledgerError(); err != nil {
		return spending.Spent{}, err
	}
	return p.ledger.Sum(b.Per, b.Counts)
}
