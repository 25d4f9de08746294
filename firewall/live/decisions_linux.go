package live

import (
	"sync"
	"sync/atomic"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
)

// decisions counts and records decisions, but for those about the names of our
// own test questions. It is safe for concurrent use.
type decisions struct {
	write           func(audit.Record) error
	allowed, denied atomic.Int64 // since the start

	mu      sync.Mutex
	testing map[string]bool // names of test questions that are under way
}

func newDecisions(write func(audit.Record) error) *decisions {
	return &decisions{write: write, testing: map[string]bool{}}
}

// record writes a decision to the audit log and counts it.
func (d *decisions) record(r audit.Record) error {
	if d.isTest(r.Name) {
		return nil
	}
	if r.Verdict == firewall.Allow {
		d.allowed.Add(1)
	} else {
		d.denied.Add(1)
	}
	return d.write(r)
}

// test calls ask with a name of ours, whose decisions are not recorded meanwhile.
func (d *decisions) test(name string, ask func() error) error {
	d.mu.Lock()
	d.testing[name] = true
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		delete(d.testing, name)
		d.mu.Unlock()
	}()
	return ask()
}

func (d *decisions) isTest(name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.testing[name]
}
