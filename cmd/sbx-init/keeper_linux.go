package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"time"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
)

// A check of the rules comes a thousand times as long after the last one as
// that took, so that it costs less than a thousandth of a core, but within
// these bounds. Listing rules that did change is not counted.
const (
	minPause    = time.Second
	maxPause    = 10 * time.Second
	pauseFactor = 1000
)

// driftReason is the audit record's for rules that somebody else changed.
const driftReason = "the rules were changed from outside and have been restored"

// keeper looks after a firewall that stands: it does what root asks for over
// the control socket, and restores what somebody has changed. It does one
// thing at a time, because each concerns the whole plan.
type keeper struct {
	program *program
	wall    *wall
	options runOptions
	reach   attacker // who must not be able to change the policy file
	jobs    chan job

	started   time.Time
	since     time.Time // when the policy in force began
	reloads   int
	restored  int // how often rules were restored
	lastDrift time.Time
	broken    error // why the rules could not be restored; nil = they stand

	generation uint32 // of the rules as they were last found right
	numbered   bool   // generation is known
}

func newKeeper(p *program, w *wall, o runOptions, reach attacker) *keeper {
	now := time.Now()
	return &keeper{program: p, wall: w, options: o, reach: reach, jobs: make(chan job), started: now, since: now}
}

// job is a request with the place for its answer.
type job struct {
	request request
	reply   chan<- response
}

// begin works beside the caller until the program ends.
func (k *keeper) begin(control *net.UnixListener) {
	go serveControl(control, k.jobs)
	go k.keep()
}

func (k *keeper) keep() {
	timer := time.NewTimer(minPause)
	for {
		select {
		case j := <-k.jobs:
			j.reply <- k.answer(j.request)
		case <-timer.C:
			timer.Reset(k.watch())
		}
	}
}

// answer carries a request out.
func (k *keeper) answer(r request) response {
	var out, errOut bytes.Buffer
	p := &program{stdout: &out, stderr: &errOut}
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	var code int
	switch r.Command {
	case "reload":
		code = p.exitCode(k.reload(ctx, p))
	case "status":
		code = p.exitCode(k.status().write(&out))
	case "verify":
		var err error
		k.wall.children.Pause(func() { err = k.wall.verify(ctx) })
		if err != nil {
			for _, difference := range leaves(err) {
				fmt.Fprintf(p.stderr, "sbx-init: differs: %s\n", difference)
			}
			err = exitWith(exitDiffers, nil)
		}
		code = p.exitCode(err)
	default:
		code = p.exitCode(usageError("unknown command %q", r.Command))
	}
	return response{code, out.String(), errOut.String()}
}

// reload puts the policy file's present content in force. At no moment is more
// open than what the old and the new policy allow together: names are judged
// by the new policy from the beginning, then the rules change, each table at
// once, and then what the old policy had opened ends. On an error the old
// policy stays in force.
func (k *keeper) reload(ctx context.Context, p *program) error {
	w := k.wall
	next, err := p.loadPolicy(k.options.policy, &k.reach, k.options.around)
	if err != nil {
		code, err := exitcode.Of(err, exitInternal)
		return exitWith(code, diag.WithHint(err, "correct the policy file and reload again; the old policy stays in force"))
	}
	old, plan := w.policy, w.plan
	w.children.Pause(func() { err = w.change(ctx, next) })
	if err != nil {
		err = fmt.Errorf("the new policy could not be put in force: %w", err)
		var back error
		w.children.Pause(func() { back = w.change(ctx, old) })
		w.policy, w.plan = old, plan // what watch restores, if it can
		k.broken, k.numbered = back, false
		if back != nil {
			back = fmt.Errorf("the old one could not be restored, so everything is closed: %w", back)
		}
		return errors.Join(err, back)
	}
	k.since, k.broken, k.numbered = time.Now(), nil, false
	k.reloads++
	p.warn(next, w.upstreams)
	return writeEffective(filepath.Join(filepath.Dir(k.options.audit), effectivePolicy), next.network)
}

// change goes from the policy in force to p.
func (w *wall) change(ctx context.Context, p policy) error {
	plan, err := w.prepare(ctx, p)
	if err != nil {
		return err
	}
	w.book.setPolicy(p.Policy)
	if w.server != nil {
		w.server.SetPolicy(p.Policy)
	}
	if w.guard != nil {
		w.guard.SetPolicy(p.Policy)
	}
	if err := w.enforce(ctx, p, plan); err != nil {
		return err
	}
	return w.cut(false)
}

// watch restores what somebody has changed and returns when to look again.
func (k *keeper) watch() time.Duration {
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	begun := time.Now()
	usual, drift := k.look(ctx)
	pause := minPause
	if usual {
		pause = min(max(pauseFactor*time.Since(begun), minPause), maxPause)
	}
	if drift != nil {
		k.restore(ctx, drift)
	}
	if err := k.tidy(); err != nil {
		k.program.printError(err)
	}
	return pause
}

// look errs with what is not as the plan says. It lists the rules only when the
// kernel says that they have changed, or has no word for it; usual is whether
// it did what it does when nothing happens.
func (k *keeper) look(ctx context.Context) (usual bool, err error) {
	w := k.wall
	generation, numbered, err := w.kernel.Generation()
	if err != nil {
		return false, err
	}
	same := numbered && k.numbered && generation == k.generation
	usual = same || !numbered
	if same {
		err = w.kernel.CompareSets(w.plan)
	} else {
		w.children.Pause(func() { err = w.kernel.Compare(ctx, w.plan) })
	}
	if err != nil {
		return usual, err
	}
	k.generation, k.numbered = generation, numbered
	foreign := 0
	err = w.kernel.EachLearned(func(a netip.Addr, port firewall.Port) {
		if !w.book.opens(a, port) && !forTests(a) {
			foreign++
		}
	})
	if err == nil && foreign > 0 {
		// Only for these the answers have to wait, for an address may be opened
		// while the sets are listed.
		err = w.book.read(func(p page) (err error) {
			foreign, err = w.kernel.Prune(func(a netip.Addr, port firewall.Port) bool { return p.opens(a, port) || forTests(a) })
			return err
		})
	}
	if err == nil && foreign > 0 {
		err = fmt.Errorf("the sets of learned addresses held %d that no name led to", foreign)
	}
	return usual, err
}

// forTests reports whether an address is one of those that documents use (RFC
// 5737, RFC 3849), where nobody is: our own tests open them for a moment.
func forTests(a netip.Addr) bool {
	for _, p := range []string{"192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32"} {
		if netip.MustParsePrefix(p).Contains(a) {
			return true
		}
	}
	return false
}

// restore makes the kernel hold the plan again, and ends what began while it
// did not.
func (k *keeper) restore(ctx context.Context, drift error) {
	w := k.wall
	var err error
	w.children.Pause(func() { err = w.kernel.Apply(ctx, w.plan) })
	if err == nil {
		err = w.cut(false)
	}
	k.numbered = false
	if err != nil {
		if k.broken == nil {
			k.program.printError(fmt.Errorf("the rules were changed from outside and cannot be restored: %w", err))
		}
		k.broken = err
		return
	}
	k.broken = nil
	k.restored++
	k.lastDrift = time.Now()
	found := leaves(drift)
	reason := driftReason + ": " + found[0]
	if len(found) > 1 {
		reason += fmt.Sprintf(", and %d more", len(found)-1)
	}
	if err := w.record(audit.Record{Verdict: firewall.Deny, Layer: audit.LayerIP, Reason: reason}); err != nil {
		k.program.printError(err)
	}
	k.program.printError(errors.New(reason))
}

// tidy keeps the book from growing without end.
func (k *keeper) tidy() error {
	if !k.wall.book.full() {
		return nil
	}
	flows, err := k.wall.kernel.Flows()
	if err != nil {
		return err
	}
	k.wall.book.sweep(flows)
	return nil
}
