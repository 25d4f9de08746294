package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/guard"
	"github.com/org/claude-sandbox/firewall/kernel"
	"github.com/org/claude-sandbox/firewall/owner"
	"github.com/org/claude-sandbox/firewall/resolver"
	"github.com/org/claude-sandbox/initproc"
	"github.com/org/claude-sandbox/internal/visible"
)

// setupTimeout bounds everything between closing and verifying.
const setupTimeout = 30 * time.Second

// wall is the firewall of this network namespace, once it stands.
type wall struct {
	kernel      *kernel.Kernel
	recorder    *audit.Recorder // writes to log
	lookup      *owner.Lookup
	refusals    *kernel.Refusals // nil when the kernel cannot report any
	refusalsEnd chan error
	holder      *kernel.Holder // nil when nobody is looked at
	done        chan error     // the ends of the resolver and the guard; has room for two sockets each

	children  *initproc.Reaper
	upstreams resolvers
	facts     firewall.Facts   // with the resolver's port, once it listens
	book      *book            // what names led to
	origins   *origins         // from which name an address came
	server    *resolver.Server // nil until a policy needs it
	sockets   []listener       // the server's
	guard     *guard.Server    // nil until a policy needs it
	doors     []net.Listener   // the guard's sockets
	probes    probes
	count     counts

	policy policy        // in force
	plan   firewall.Plan // what the kernel must hold
}

// open enforces the first policy and proves it. On an error the network is
// closed again.
func (w *wall) open(ctx context.Context, p policy, upstreams resolvers) (err error) {
	defer func() {
		if err == nil {
			return
		}
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), setupTimeout)
		defer cancel()
		err = errors.Join(err, w.kernel.Apply(closing, firewall.ClosedPlan(w.kernel.Facts())))
	}()
	w.upstreams = upstreams
	w.facts = machineFacts(w.kernel.Facts(), upstreams)
	w.book = newBook(p.Policy, w.kernel.Allow, w.kernel.Forget)
	w.origins = newOrigins(w.book)
	// While everything is closed: afterwards what exists would pass for allowed.
	if err := w.cut(true); err != nil {
		return err
	}
	plan, err := w.prepare(ctx, p)
	if err != nil {
		return err
	}
	return w.enforce(ctx, p, plan)
}

// record writes a decision to the audit log and counts it. Our own test
// questions are nobody's decision.
func (w *wall) record(r audit.Record) error {
	if w.probes.has(r.Name) {
		return nil
	}
	w.count.add(r.Verdict)
	return w.recorder.Record(r)
}

// prepare makes the plan that enforces p, and starts what it needs.
func (w *wall) prepare(ctx context.Context, p policy) (firewall.Plan, error) {
	if p.Resolves() {
		if err := w.serveNames(ctx, p); err != nil {
			return firewall.Plan{}, err
		}
		if err := w.guardConnections(ctx, p); err != nil {
			return firewall.Plan{}, err
		}
	}
	w.facts.Around = p.around
	return firewall.Compile(p.Policy, w.facts)
}

// enforce makes the kernel hold the plan that enforces p, and proves it.
func (w *wall) enforce(ctx context.Context, p policy, plan firewall.Plan) error {
	if err := w.kernel.Apply(ctx, plan); err != nil {
		return err
	}
	w.policy, w.plan = p, plan
	return w.verify(ctx)
}

// verify proves the policy in force: in the kernel, and by asking the resolver
// and the guard. The error joins all that differs.
func (w *wall) verify(ctx context.Context) error {
	differences := []error{w.kernel.Verify(ctx, w.plan)}
	if w.policy.Resolves() {
		differences = append(differences, w.probes.verifyResolver(ctx, w.sockets))
	}
	if w.policy.Guarded() {
		differences = append(differences, w.verifyGuard(ctx))
	}
	return errors.Join(differences...)
}

// ended is the end of the resolver or the guard, which never end by themselves.
// Nothing opens by it: addresses that are open run out, and the web's ports
// are the guard's alone.
func ended(what string, err error) error {
	return fmt.Errorf("%s: %w", what, errors.Join(err, errors.New("socket closed")))
}

// leaves returns the errors that err joins, one line each; err itself when it
// joins none.
func leaves(err error) []string {
	inner := err
	for inner != nil {
		if joined, ok := inner.(interface{ Unwrap() []error }); ok {
			var out []string
			for _, e := range joined.Unwrap() {
				out = append(out, leaves(e)...)
			}
			return out
		}
		inner = errors.Unwrap(inner)
	}
	return []string{visible.Folded(err.Error())}
}
