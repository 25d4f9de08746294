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
// effect: either alone could be fooled, by a rule of somebody else before ours
// or by an address that happens to be unreachable.
func (k *Kernel) Verify(ctx context.Context, plan firewall.Plan) error {
	if err := k.Compare(ctx, plan); err != nil {
		return fmt.Errorf("verifying the firewall: %w", err)
	}
	for _, t := range k.families {
		if err := probePackets(t.ipv6, plan); err != nil {
			return fmt.Errorf("verifying the firewall: %s: %w", t.name(), err)
		}
	}
	return nil
}

// Compare errs unless the kernel's rules and sets are exactly what the plan
// says, as far as they are ours. It sends nothing. The error names the first
// difference of each family and of each set.
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
		if err := states[i].holds(tables); err != nil {
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

// holds errs unless the state is exactly what the tables say, as far as it is
// ours: policies, chains, and each jump once and first.
func (s state) holds(tables []firewall.Table) error {
	for _, t := range tables {
		for _, chain := range t.Drop {
			if policy := s.policies[t.Name+" "+chain]; policy != "DROP" {
				return fmt.Errorf("the policy of %s is %q, not DROP", chain, policy)
			}
		}
		for _, j := range t.Jumps {
			rules := s.rules[t.Name+" "+j.From]
			if slices.Index(rules, j.Spec()) != 0 {
				return fmt.Errorf("the jump from %s to %s in table %s is not the first rule", j.From, j.To, t.Name)
			}
			if slices.Contains(rules[1:], j.Spec()) {
				return fmt.Errorf("the jump from %s to %s in table %s is there more than once", j.From, j.To, t.Name)
			}
		}
		for _, c := range t.Chains {
			if err := s.holdsChain(t.Name, c); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s state) holdsChain(table string, c firewall.Chain) error {
	if _, ok := s.policies[table+" "+c.Name]; !ok {
		return fmt.Errorf("the chain %s in table %s is missing", c.Name, table)
	}
	rules := s.rules[table+" "+c.Name]
	for i, want := range c.Rules {
		if i >= len(rules) {
			return fmt.Errorf("the chain %s in table %s lacks the rule %q", c.Name, table, want.Spec)
		}
		if rules[i] != want.Spec {
			return fmt.Errorf("rule %d of the chain %s in table %s is %q, not %q", i+1, c.Name, table, rules[i], want.Spec)
		}
	}
	if len(rules) > len(c.Rules) {
		return fmt.Errorf("the chain %s in table %s has the foreign rule %q", c.Name, table, rules[len(c.Rules)])
	}
	return nil
}
