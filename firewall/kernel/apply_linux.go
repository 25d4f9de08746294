package kernel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/org/claude-sandbox/firewall"
)

// dropPolicies have every built-in chain of the filter table drop what no rule
// of ours accepts. Our chains, if they are there from an earlier plan, still say
// what passes, so connections that they allow go on.
const dropPolicies = ":INPUT DROP [0:0]\n:FORWARD DROP [0:0]\n:OUTPUT DROP [0:0]\n"

// closeTimeout bounds the closing after an error, which does not heed the
// caller's context: a cancelled Apply must still close.
const closeTimeout = 10 * time.Second

// Apply makes the kernel hold the plan. Policy DROP in both families comes
// before anything else; each table then changes in one transaction, so there is
// no moment between the old rules and the new ones. Applying a plan twice is
// applying it once. Connections that the new plan also allows live on.
//
// On any error everything is denied in both families, as far as the kernel
// still obeys, and the error says what failed.
func (k *Kernel) Apply(ctx context.Context, plan firewall.Plan) error {
	if err := k.here(); err != nil {
		return fmt.Errorf("applying the firewall's plan: %w", err)
	}
	err := k.apply(ctx, plan)
	if err == nil {
		return nil
	}
	if closing := k.shut(); closing != nil {
		err = errors.Join(err, fmt.Errorf("and closing everything failed as well: %w", closing))
	}
	return fmt.Errorf("applying the firewall's plan: %w", err)
}

func (k *Kernel) apply(ctx context.Context, plan firewall.Plan) error {
	if len(k.families) == 2 && plan.V6 == nil {
		return errors.New("the plan has no rules for IPv6, which the kernel has")
	}
	reading, dropping := k.startRead(ctx), k.dropping != nil
	settled := k.Settle()
	states, err := waitRead(reading)
	if err := errors.Join(settled, err); err != nil {
		return err
	}
	if dropping { // maybe after the policies were read
		setDropped(states)
	}
	if slices.ContainsFunc(states, func(s state) bool { return !s.dropped }) {
		k.startDrop(ctx, "")
		if err := k.Settle(); err != nil {
			return err
		}
		setDropped(states)
	}
	if err := k.makeSets(plan.Sets); err != nil {
		return err
	}
	return waitAll(k.startLoad(ctx, plan, states), "loading the rules")
}

// startLoad starts to make each family hold the plan's tables, where it does not.
func (k *Kernel) startLoad(ctx context.Context, plan firewall.Plan, states []state) []*job {
	var jobs []*job
	for i, t := range k.families {
		tables := plan.V4
		if t.ipv6 {
			tables = plan.V6
		}
		if script := firewall.Script(tables, states[i].present()); script != "" {
			jobs = append(jobs, t.startRestore(ctx, script))
		}
	}
	return jobs
}

// startDrop starts to set policy DROP in every family, together with more.
// Settle waits for it.
func (k *Kernel) startDrop(ctx context.Context, more string) {
	for _, t := range k.families {
		k.dropping = append(k.dropping, t.startRestore(ctx, "*filter\n"+dropPolicies+more+"COMMIT\n"))
	}
}

// Settle waits until policy DROP is set that Open has begun to set, and errs
// when it could not be. Not for concurrent use with Apply.
func (k *Kernel) Settle() error {
	if k.dropping == nil {
		return nil
	}
	jobs := k.dropping
	k.dropping = nil
	return waitAll(jobs, "setting policy DROP")
}

// shut denies everything after an error. Should the rules not be readable
// either, it adds its jumps to those that are there, which does no harm:
// the next Apply counts them.
func (k *Kernel) shut() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	// Work that Open has begun is of no use when Open failed, and must be over all the same.
	_ = k.Settle()
	states, err := k.read(ctx)
	if err != nil {
		states = make([]state, len(k.families))
	}
	return waitAll(k.startLoad(ctx, firewall.ClosedPlan(k.Facts()), states), "closing")
}

// read lists the rules of every family.
func (k *Kernel) read(ctx context.Context) ([]state, error) { return waitRead(k.startRead(ctx)) }

func (k *Kernel) startRead(ctx context.Context) []*job {
	jobs := make([]*job, len(k.families))
	for i, t := range k.families {
		jobs[i] = t.startSave(ctx)
	}
	return jobs
}

func waitRead(jobs []*job) ([]state, error) {
	if err := waitAll(jobs, "reading the rules"); err != nil {
		return nil, err
	}
	states := make([]state, len(jobs))
	for i, j := range jobs {
		states[i] = parseSave(j.stdout.String())
	}
	return states, nil
}

func setDropped(states []state) {
	for i := range states {
		states[i].dropped = true
	}
}

// state is what iptables-save prints of one family.
type state struct {
	policies map[string]string   // by firewall.ChainKey: "DROP", or "-" for a chain of ours
	rules    map[string][]string // by firewall.ChainKey: rules without "-A CHAIN ", for every chain
	dropped  bool                // all three built-in chains drop what no rule accepts
}

func parseSave(text string) state {
	s := state{policies: map[string]string{}, rules: map[string][]string{}}
	table := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "*"):
			table = line[1:]
		case strings.HasPrefix(line, ":"):
			if fields := strings.Fields(line[1:]); len(fields) >= 2 {
				key := firewall.ChainKey(table, fields[0])
				s.policies[key], s.rules[key] = fields[1], nil
			}
		case strings.HasPrefix(line, "-A "):
			chain, spec, _ := strings.Cut(line[len("-A "):], " ")
			key := firewall.ChainKey(table, chain)
			s.rules[key] = append(s.rules[key], spec)
		}
	}
	s.dropped = true
	for _, chain := range []string{"INPUT", "FORWARD", "OUTPUT"} {
		s.dropped = s.dropped && s.policies[firewall.ChainKey("filter", chain)] == "DROP"
	}
	return s
}

func (s state) present() firewall.Present {
	return firewall.Present{Chains: s.rules, Dropped: s.dropped}
}
