package live

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
)

// A check of the rules comes a thousand times as long after the last one as
// that took, so that it costs less than a thousandth of a core, but within
// these bounds. Listing rules that did change is not counted.
const (
	minPause    = time.Second
	maxPause    = 10 * time.Second
	pauseFactor = 1000
)

// driftReason begins the audit record's reason for rules that another program
// changed.
const driftReason = "the rules were changed from outside and have been restored"

// drift is what has become of the plan in the kernel.
type drift struct {
	restored int // how often the rules were restored
	last     time.Time
	broken   error // why the rules could not be restored; nil = they stand

	generation uint32 // of the rules as they were last found right
	numbered   bool   // generation is known
}

// Keep restores the rules whenever another program has changed them. It never
// returns.
func (f *Firewall) Keep() {
	for pause := minPause; ; {
		time.Sleep(pause)
		pause = f.reconcile()
	}
}

// reconcile compares the kernel with the plan, restores the plan where it
// differs, and returns when to look again.
func (f *Firewall) reconcile() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	begun := time.Now()
	usual, difference := f.compare(ctx)
	pause := minPause
	if usual {
		pause = min(max(pauseFactor*time.Since(begun), minPause), maxPause)
	}
	if difference != nil {
		f.restore(ctx, difference)
	}
	if err := f.sweep(); err != nil {
		f.options.Tell(err)
	}
	return pause
}

// compare errs with what is not as the plan says. It lists the rules only when
// the kernel says that they have changed, or does not number changes; usual is
// whether it did what it does when nothing happens.
func (f *Firewall) compare(ctx context.Context) (usual bool, err error) {
	k := f.options.Kernel
	generation, numbered, err := k.Generation()
	if err != nil {
		return false, err
	}
	same := numbered && f.drift.numbered && generation == f.drift.generation
	usual = same || !numbered
	if same {
		err = k.CompareSets(f.now.plan)
	} else {
		f.options.Programs(func() { err = k.Compare(ctx, f.now.plan) })
	}
	if err != nil {
		return usual, err
	}
	f.drift.generation, f.drift.numbered = generation, numbered
	return usual, f.compareLearned()
}

// compareLearned errs, and closes them, when addresses are open that no name led
// to.
func (f *Firewall) compareLearned() error {
	foreign := 0
	err := f.options.Kernel.EachLearned(func(a netip.Addr, port firewall.Port) {
		if !f.allowed.opens(a, port) && !forTests(a) {
			foreign++
		}
	})
	if err != nil || foreign == 0 {
		return err
	}
	// Only for these the answers have to wait, for an address may be opened
	// while the sets are listed.
	err = f.allowed.read(func(s snapshot) (err error) {
		foreign, err = f.options.Kernel.Prune(func(a netip.Addr, port firewall.Port) bool { return s.opens(a, port) || forTests(a) })
		return err
	})
	if err == nil && foreign > 0 {
		err = fmt.Errorf("the sets of learned addresses held %d that no name led to", foreign)
	}
	return err
}

// testNetworks are for documents (RFC 5737, RFC 3849), and no machine is there.
// Our own tests open addresses of them for a moment.
var testNetworks = []netip.Prefix{
	netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("2001:db8::/32"),
}

func forTests(a netip.Addr) bool {
	return slices.ContainsFunc(testNetworks, func(p netip.Prefix) bool { return p.Contains(a) })
}

// restore makes the kernel hold the plan again, and ends the connections that
// began while it did not.
func (f *Firewall) restore(ctx context.Context, difference error) {
	var err error
	f.options.Programs(func() { err = f.options.Kernel.Apply(ctx, f.now.plan) })
	if err == nil {
		err = f.cut(false)
	}
	if err == nil {
		err = f.servers.holdKeys(f.now.policy.Keys)
	}
	f.drift.numbered = false
	if err != nil {
		f.servers.dropKeysBut(nil)
		f.servers.dropGivenKeys()
		if f.drift.broken == nil {
			f.options.Tell(fmt.Errorf("the rules were changed from outside and cannot be restored: %w", err))
		}
		f.drift.broken = err
		return
	}
	f.drift.broken = nil
	f.drift.restored++
	f.drift.last = time.Now()
	found := Differences(difference)
	reason := driftReason + ": " + found[0]
	if len(found) > 1 {
		reason += fmt.Sprintf(", and %d more", len(found)-1)
	}
	if err := f.decisions.record(audit.Record{Verdict: firewall.Deny, Layer: audit.LayerIP, Reason: reason}); err != nil {
		f.options.Tell(err)
	}
	f.options.Tell(errors.New(reason))
}

// sweep keeps the allowed set from growing without end.
func (f *Firewall) sweep() error {
	if !f.allowed.full() {
		return nil
	}
	flows, err := f.options.Kernel.Flows()
	if err != nil {
		return err
	}
	f.allowed.sweep(flows)
	return nil
}
