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
	testing         sync.Map     // names of test questions that are under way
}

// record writes a decision to the audit log and counts it.
func (d *decisions) record(r audit.Record) error {
	if _, testing := d.testing.Load(r.Name); testing {
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
	d.testing.Store(name, true)
	defer d.testing.Delete(name)
	return ask()
}
