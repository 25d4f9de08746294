package credproxy

import (
	"cmp"
	"slices"
	"sync"

	"github.com/org/claude-sandbox/credproxy/spending"
)

// Usage counts tokens as the API reports them.
type Usage = spending.Usage

// tokens are those of one answer, with what their price depends on.
type tokens struct {
	Usage
	write5m  int64 // of CacheWrite, those that stay for five minutes
	searches int64 // web searches at the provider
}

// meter adds up what a run spends, by model, and tells the ledger. It is safe for
// concurrent use.
type meter struct {
	ledger spending.Ledger // nil = there is none

	mu      sync.Mutex
	byModel map[string]spending.Spent
	failure error // the ledger's first
}

// maxModels bounds the models of a run that are counted apart. The names are the
// agent's.
const maxModels = 64

// change replaces what is counted of one answer: was by now.
func (m *meter) change(was, now spending.Spent) {
	m.mu.Lock()
	var sum spending.Spent
	was.Model, sum = m.of(was.Model)
	m.byModel[was.Model] = sum.Less(was)
	now.Model, sum = m.of(now.Model)
	m.byModel[now.Model] = sum.Add(now)
	m.mu.Unlock()
	if m.ledger == nil {
		return
	}
	// Corrections of one model are one entry.
	entries := []spending.Spent{now.Less(was)}
	if was.Model != now.Model {
		entries = []spending.Spent{{Model: was.Model}, now}
		entries[0] = entries[0].Less(was)
	}
	for _, e := range entries {
		if e.Zero() {
			continue
		}
		if err := m.ledger.Add(e); err != nil {
			m.mu.Lock()
			m.failure = cmp.Or(m.failure, err)
			m.mu.Unlock()
		}
	}
}

// of returns the sum of a model. The caller holds the mutex.
func (m *meter) of(model string) (name string, sum spending.Spent) {
	if m.byModel == nil {
		m.byModel = map[string]spending.Spent{}
	}
	if _, known := m.byModel[model]; !known && len(m.byModel) >= maxModels {
		model = spending.OtherModels
	}
	sum = m.byModel[model]
	sum.Model = model
	return model, sum
}

// sum adds up the models that counts takes, and those that have no name of their own.
func (m *meter) sum(counts func(model string) bool) (total spending.Spent) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for model, s := range m.byModel {
		if model == spending.OtherModels || counts(model) {
			total = total.Add(s)
		}
	}
	return total
}

func (m *meter) total() spending.Spent { return m.sum(func(string) bool { return true }) }

// models returns what was spent by model, the dearest first.
func (m *meter) models() []spending.Spent {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []spending.Spent
	for _, s := range m.byModel {
		if !s.Zero() {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b spending.Spent) int { return cmp.Or(cmp.Compare(b.USD, a.USD), cmp.Compare(a.Model, b.Model)) })
	return all
}

func (m *meter) ledgerError() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failure
}
