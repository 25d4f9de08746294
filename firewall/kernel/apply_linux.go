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

// dropScript is the one step that must come before all others. Our chains, if
// they are there from an earlier plan, still say what passes, so connections
// that they allow go on.
const dropScript = "*filter\n" + dropPolicies + "COMMIT\n"

const dropPolicies = ":INPUT DROP [0:0]\n:FORWARD DROP [0:0]\n:OUTPUT DROP [0:0]\n"

// closeTimeout bounds the closing after an error, which does not heed the
// caller's context: a cancelled Apply must still close.
const closeTimeout = 10 * time.Second

// Apply makes the kernel hold the plan. It sets policy DROP in both families
// before anything else; each table is then replaced in one transaction, so
// there is no moment between the old rules and the new ones. Applying a plan
// twice is applying it once. Connections that the new plan also allows live
// on.
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
	states, err := k.read(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(states, func(s state) bool { return !s.dropped }) {
		if err := k.drop(ctx); err != nil {
			return err
		}
		for i := range states {
			states[i].dropped = true
		}
	}
	if err := k.makeSets(plan.Sets); err != nil {
		return err
	}
	jobs := make([]*job, len(k.families))
	for i, t := range k.families {
		tables := plan.V4
		if t.ipv6 {
			tables = plan.V6
		}
		jobs[i] = t.startRestore(ctx, firewall.Script(tables, states[i].present(tables)))
	}
	return waitAll(jobs, "loading the rules")
}

// drop sets policy DROP in every family.
func (k *Kernel) drop(ctx context.Context) error {
	jobs := make([]*job, len(k.families))
	for i, t := range k.families {
		jobs[i] = t.startRestore(ctx, dropScript)
	}
	return waitAll(jobs, "setting policy DROP")
}

// shut denies everything after an error. Should the rules not be readable
// either, it places its jumps beside those that are there, which does no harm:
// the next Apply counts them.
func (k *Kernel) shut() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	plan := firewall.ClosedPlan(k.Facts())
	states, err := k.read(ctx)
	if err != nil {
		states = make([]state, len(k.families))
	}
	jobs := make([]*job, len(k.families))
	for i, t := range k.families {
		tables := plan.V4
		if t.ipv6 {
			tables = plan.V6
		}
		jobs[i] = t.startRestore(ctx, firewall.Script(tables, states[i].present(tables)))
	}
	return waitAll(jobs, "closing")
}

// read lists the rules of every family.
func (k *Kernel) read(ctx context.Context) ([]state, error) {
	jobs := make([]*job, len(k.families))
	for i, t := range k.families {
		jobs[i] = t.startSave(ctx)
	}
	if err := waitAll(jobs, "reading the rules"); err != nil {
		return nil, err
	}
	states := make([]state, len(jobs))
	for i, j := range jobs {
		states[i] = parseSave(j.stdout.String())
	}
	return states, nil
}

// state is what iptables-save prints of one family.
type state struct {
	policies map[string]string   // "filter OUTPUT" -> "DROP"
	rules    map[string][]string // "filter SBX-OUT" -> rules without "-A CHAIN "
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
				s.policies[table+" "+fields[0]] = fields[1]
			}
		case strings.HasPrefix(line, "-A "):
			chain, spec, _ := strings.Cut(line[len("-A "):], " ")
			s.rules[table+" "+chain] = append(s.rules[table+" "+chain], spec)
		}
	}
	s.dropped = true
	for _, chain := range []string{"INPUT", "FORWARD", "OUTPUT"} {
		s.dropped = s.dropped && s.policies["filter "+chain] == "DROP"
	}
	return s
}

// present says what the state holds already of the tables.
func (s state) present(tables []firewall.Table) firewall.Present {
	jumps := map[firewall.TableJump]int{}
	for _, t := range tables {
		for _, j := range t.Jumps {
			for _, rule := range s.rules[t.Name+" "+j.From] {
				if rule == j.Spec() {
					jumps[firewall.TableJump{Table: t.Name, Jump: j}]++
				}
			}
		}
	}
	return firewall.Present{Jumps: jumps, Dropped: s.dropped}
}
