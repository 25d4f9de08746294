package kernel

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/org/claude-sandbox/firewall"
)

// Verify compares what the kernel holds with the plan and then sends packets
// that the plan refuses: UDP, TCP and ICMP to its probe addresses, in both
// families. It errs with every difference, and on the first packet that
// was let out. A packet for which there is no route counts as refused.
//
// It takes the listing's word for the rules and the packets' word for their
// effect: either alone could be fooled, by another program's rule before ours
// or by an address that happens to be unreachable.
func (k *Kernel) Verify(ctx context.Context, plan firewall.Plan) error {
	differences := []error{k.Compare(ctx, plan)}
	for _, t := range k.families {
		if err := probePackets(t.ipv6, plan); err != nil {
			differences = append(differences, fmt.Errorf("%s: %w", t.name(), err))
		}
	}
	if err := errors.Join(differences...); err != nil {
		return fmt.Errorf("verifying the firewall: %w", err)
	}
	return nil
}

// Compare errs unless the kernel's rules and sets are exactly what the plan
// says, as far as they are ours. It sends nothing. The error joins one error for
// each difference.
func (k *Kernel) Compare(ctx context.Context, plan firewall.Plan) error {
	if err := k.here(); err != nil {
		return err
	}
	states, err := k.read(ctx)
	if err != nil {
		return err
	}
	var differences []error
	for i, t := range k.families {
		tables := plan.V4
		if t.ipv6 {
			tables = plan.V6
		}
		for _, err := range states[i].differ(tables) {
			differences = append(differences, fmt.Errorf("%s: %w", t.name(), err))
		}
	}
	return errors.Join(append(differences, k.CompareSets(plan))...)
}

// CompareSets is Compare for the sets alone, which is over in microseconds.
func (k *Kernel) CompareSets(plan firewall.Plan) error {
	var differences []error
	for _, s := range plan.Sets {
		differences = append(differences, k.haveSet(s))
	}
	return errors.Join(differences...)
}

// differ returns in what the state is not exactly what the tables say, as far as
// it is ours: policies, chains, and each jump once and first.
func (s state) differ(tables []firewall.Table) []error {
	var found []error
	say := func(format string, args ...any) { found = append(found, fmt.Errorf(format, args...)) }
	for _, t := range tables {
		for _, chain := range t.Drop {
			if policy := s.policies[firewall.ChainKey(t.Name, chain)]; policy != "DROP" {
				say("the policy of %s is %q, not DROP", chain, policy)
			}
		}
		for _, j := range t.Jumps {
			rules := s.rules[firewall.ChainKey(t.Name, j.From)]
			if slices.Index(rules, j.Spec()) != 0 {
				say("the jump from %s to %s in table %s is not the first rule", j.From, j.To, t.Name)
			} else if slices.Contains(rules[1:], j.Spec()) {
				say("the jump from %s to %s in table %s is there more than once", j.From, j.To, t.Name)
			}
		}
		for _, c := range t.Chains {
			key := firewall.ChainKey(t.Name, c.Name)
			if _, ok := s.policies[key]; !ok {
				say("the chain %s in table %s is missing", c.Name, t.Name)
				continue
			}
			differChain(c, t.Name, s.rules[key], say)
		}
	}
	return found
}

// differChain says which rules of a chain are missing, which are foreign, and
// whether the others stand in another order.
func differChain(c firewall.Chain, table string, have []string, say func(format string, args ...any)) {
	if slices.EqualFunc(c.Rules, have, func(r firewall.Rule, spec string) bool { return r.Spec == spec }) {
		return
	}
	left := map[string]int{}
	for _, spec := range have {
		left[spec]++
	}
	same := true
	for _, r := range c.Rules {
		if left[r.Spec]--; left[r.Spec] < 0 {
			say("the chain %s in table %s lacks the rule %q", c.Name, table, r.Spec)
			same = false
		}
	}
	for i, spec := range have {
		if left[spec] > 0 {
			left[spec]--
			say("rule %d of the chain %s in table %s is foreign: %q", i+1, c.Name, table, spec)
			same = false
		}
	}
	if same {
		say("the rules of the chain %s in table %s are in another order", c.Name, table)
	}
}
