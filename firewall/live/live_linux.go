package live

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/credential"
	"github.com/org/claude-sandbox/firewall/kernel"
	"github.com/org/claude-sandbox/firewall/operation"
	"github.com/org/claude-sandbox/firewall/owner"
	"github.com/org/claude-sandbox/internal/visible"
)

// setupTimeout bounds one change or check of the firewall.
const setupTimeout = 30 * time.Second

// Policy is a policy that a file holds.
type Policy struct {
	*firewall.Policy                // it knows of Around
	File             string         // its path, for Status
	SHA256           string         // of the file and the lists that it names, hexadecimal
	Around           []netip.Prefix // the networks around this machine, which no name may lead to

	// Keys go with the requests of their entries while this policy is in force and
	// proved; nil = this process holds none. Policies with the same keys share the pointer.
	Keys *credential.Keys
}

// Warnings say what the policy leaves open, and what will not work with the resolvers.
func (p Policy) Warnings(r Resolvers) (lines []string) {
	switch p.Mode() {
	case firewall.ModeHost:
		lines = []string{"NO FIREWALL: the policy says mode host",
			"programs here reach every host, the machine's own network and cloud metadata too, and nothing is recorded",
			`for a firewall write "mode": "allowlist", or "audit" to learn what the list must hold`}
	case firewall.ModeAudit:
		lines = []string{"mode audit: the whole internet is open and what is reached is recorded; " +
			"private networks, metadata and what \"deny\" lists stay closed"}
		if p.Operations() != nil {
			lines = append(lines, "entries about operations refuse nothing in mode audit: their refusals are only recorded")
		}
	}
	if p.Resolves() && len(r.Addrs) == 0 {
		lines = append(lines, ResolvConf+" names no resolver, so no name can be resolved")
	}
	return lines
}

// Options are what a Firewall works with. All fields are required.
type Options struct {
	Kernel    *kernel.Kernel // closed, as kernel.Open leaves it
	Resolvers Resolvers      // the machine's
	Topology  string         // "single" or "sidecar", for Status
	// Record writes a decision to the audit log; what it cannot write must not happen.
	Record func(audit.Record) error
	// Lookup finds the process that asks for a name while an upstream is asked, and
	// is told of connections whose first packet is held.
	Lookup *owner.Lookup
	// Programs runs a function that starts programs and waits for them; the
	// caller must not collect them as orphans meanwhile.
	Programs func(func())
	// Publish makes the certificates by which the TLS of hosts is opened, as PEM,
	// known to the programs that shall trust them. It is called before a policy
	// with such hosts is in force.
	Publish func(certificates []byte) error
	// Memory is what the sandbox did that decisions about operations depend on.
	Memory *operation.Memory
	// Tell hears what goes wrong while the firewall stands, and Warn about records
	// that it does without.
	Tell, Warn func(error)
}

// Firewall is the firewall of one network namespace, while its process lives.
// The rules stay when the process ends. It is safe for concurrent use.
type Firewall struct {
	options   Options
	decisions *decisions
	allowed   *allowedSet
	servers   *servers
	refusals  *kernel.Refusals // nil when the kernel cannot report any
	reported  chan error       // the end of refusals
	holder    *kernel.Holder   // nil when no packet is held
	started   time.Time

	mu    sync.Mutex // one change or check at a time, because each concerns the whole plan
	now   inForce
	drift drift
}

// inForce is the policy that the firewall enforces.
type inForce struct {
	policy  Policy
	plan    firewall.Plan // what the kernel must hold
	since   time.Time
	reloads int
}

// Open enforces the first policy and proves it. On an error the network is
// closed again.
func Open(ctx context.Context, o Options, p Policy) (f *Firewall, err error) {
	k := o.Kernel
	defer func() {
		if err == nil {
			return
		}
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), setupTimeout)
		defer cancel()
		err = errors.Join(err, k.Apply(closing, firewall.ClosedPlan(k.Facts())))
	}()
	allowed := newAllowedSet(p.Policy, k.Allow, k.Forget)
	f = &Firewall{options: o, decisions: &decisions{write: o.Record}, allowed: allowed, started: time.Now()}
	f.servers = newServers(o, allowed, f.decisions.record)
	// While everything is closed: afterwards the connections that exist would
	// pass for allowed.
	if err := f.cut(true); err != nil {
		return nil, err
	}
	plan, err := f.prepare(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := f.enforce(ctx, p, plan); err != nil {
		return nil, err
	}
	f.now.since = f.started
	f.recordRefusals()
	return f, nil
}

// Reload puts p in force. At no moment is more open than what the old and the
// new policy allow together: names are judged by the new policy from the
// beginning, then the rules change, each table at once, and then the addresses
// and connections end that the old policy had opened. On an error the old policy
// stays in force, or, when that fails too, everything is closed.
func (f *Firewall) Reload(ctx context.Context, p Policy) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	old := f.now
	var err error
	f.options.Programs(func() { err = f.change(ctx, p) })
	if err != nil {
		err = fmt.Errorf("the new policy could not be put in force: %w", err)
		var back error
		f.options.Programs(func() { back = f.change(ctx, old.policy) })
		f.now = old // which reconcile restores, if it can
		f.drift.broken, f.drift.numbered = back, false
		if back != nil {
			back = fmt.Errorf("the old one could not be restored, so everything is closed: %w", back)
		}
		return errors.Join(err, back)
	}
	f.drift.broken, f.drift.numbered = nil, false
	f.now.since = time.Now()
	f.now.reloads++
	return nil
}

// Verify proves the policy in force: in the kernel, with test packets, and by
// asking the resolver and the guard. The error joins all that differs, see
// Differences.
func (f *Firewall) Verify(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var err error
	f.options.Programs(func() { err = f.verify(ctx) })
	return err
}

// Failures carries the ends of the resolver and the guard, which never end by
// themselves. Nothing opens by it: addresses that are open run out, and the web's
// ports are the guard's alone.
func (f *Firewall) Failures() <-chan error { return f.servers.failures }

// change goes from the policy in force to p.
func (f *Firewall) change(ctx context.Context, p Policy) error {
	plan, err := f.prepare(ctx, p)
	if err != nil {
		return err
	}
	f.servers.dropKeysBut(p.Keys)
	if p.Mode() != firewall.ModeAllowlist {
		f.servers.dropGivenKeys()
	}
	f.allowed.setPolicy(p.Policy)
	f.servers.setPolicy(p.Policy)
	if err := f.enforce(ctx, p, plan); err != nil {
		return err
	}
	return f.cut(false)
}

// prepare starts the servers that p needs, and makes the plan that enforces it.
func (f *Firewall) prepare(ctx context.Context, p Policy) (firewall.Plan, error) {
	if err := f.servers.start(ctx, p.Policy); err != nil {
		return firewall.Plan{}, err
	}
	facts := Facts(f.options.Kernel.Facts(), f.options.Resolvers, p.Around)
	f.servers.setPorts(&facts)
	return firewall.Compile(p.Policy, facts)
}

// enforce makes the kernel hold the plan that enforces p, and proves it. Then its keys
// go with requests; on an error none does.
func (f *Firewall) enforce(ctx context.Context, p Policy, plan firewall.Plan) error {
	err := f.options.Kernel.Apply(ctx, plan)
	if err == nil {
		f.now.policy, f.now.plan = p, plan
		err = f.verify(ctx)
	}
	if err != nil {
		f.servers.dropKeysBut(nil)
		f.servers.dropGivenKeys()
		return err
	}
	return f.servers.holdKeys(p.Keys)
}

// verify is Verify for callers that hold mu, or are the only ones.
func (f *Firewall) verify(ctx context.Context) error {
	differences := []error{f.options.Kernel.Verify(ctx, f.now.plan)}
	if f.now.policy.Resolves() {
		differences = append(differences, f.decisions.verifyResolver(ctx, f.servers.resolverAt))
	}
	if f.now.policy.Guarded() {
		differences = append(differences, f.verifyGuard(ctx))
	}
	return errors.Join(differences...)
}

// Differences returns the errors that an error joins, one line each; the error's
// own text when it joins none.
func Differences(err error) []string {
	inner := err
	for inner != nil {
		if joined, ok := inner.(interface{ Unwrap() []error }); ok {
			var out []string
			for _, e := range joined.Unwrap() {
				out = append(out, Differences(e)...)
			}
			return out
		}
		inner = errors.Unwrap(inner)
	}
	return []string{visible.Folded(err.Error())}
}
