package firewall

import (
	"fmt"
	"slices"
	"strings"
)

// Present is what a namespace holds already, as far as it changes the script.
// The zero value is a namespace that holds nothing of ours.
type Present struct {
	// Chains are the chains that exist, by ChainKey, with their rules in the
	// form that iptables-save prints, without the "-A CHAIN" before it.
	Chains  map[string][]string
	Dropped bool // every built-in chain of the filter table has policy DROP
}

// ChainKey names a chain of a table.
func ChainKey(table, chain string) string { return table + " " + chain }

// Script prints tables as input of iptables-restore --noflush for a namespace
// that holds so much already; "" when there is nothing to do. Each table changes
// in one transaction, and applying twice is applying once.
//
// Nothing is removed that can stay: chains and jumps that are as they should be,
// the rules that a chain ends with, a policy that is set. It is not for looks:
// the nft backend waits for the kernel to let go of what it removes and of every
// policy that it changes, some 10 ms each time and for one family after the
// other, while adding takes microseconds.
func Script(tables []Table, present Present) string {
	var b strings.Builder
	for _, t := range tables {
		var lines []string
		if !present.Dropped {
			for _, chain := range t.Drop {
				lines = append(lines, ":"+chain+" DROP [0:0]")
			}
		}
		var rules []string
		for _, c := range t.Chains {
			have, exists := present.Chains[ChainKey(t.Name, c.Name)]
			whole, added := c.edits(have)
			if whole || !exists {
				lines = append(lines, ":"+c.Name+" - [0:0]")
			}
			rules = append(rules, added...)
		}
		for _, j := range t.Jumps {
			lines = append(lines, j.edits(present.Chains[ChainKey(t.Name, j.From)])...)
		}
		if lines = append(lines, rules...); len(lines) > 0 {
			b.WriteString("*" + t.Name + "\n" + strings.Join(lines, "\n") + "\nCOMMIT\n")
		}
	}
	return b.String()
}

// edits returns the lines that make the chain of one that holds the rules have.
// Those stay when they are the last ones of the chain; otherwise the lines are
// for a chain that is emptied first.
func (c Chain) edits(have []string) (emptied bool, lines []string) {
	more := len(c.Rules) - len(have)
	stay := more >= 0 && slices.EqualFunc(c.Rules[more:], have, func(r Rule, spec string) bool { return r.Spec == spec })
	if !stay {
		have, more = nil, len(c.Rules)
	}
	for i, r := range c.Rules[:more] {
		if r.Why != "" {
			lines = append(lines, "# "+r.Why)
		}
		if len(have) > 0 {
			lines = append(lines, fmt.Sprintf("-I %s %d %s", c.Name, i+1, r.Spec))
		} else {
			lines = append(lines, "-A "+c.Name+" "+r.Spec)
		}
	}
	return !stay, lines
}

// edits returns the lines that make the jump the first rule of a chain that
// holds the rules have, and the only one of its kind.
func (j Jump) edits(have []string) (lines []string) {
	for _, spec := range have {
		if spec == j.Spec() {
			lines = append(lines, "-D "+j.From+" "+spec)
		}
	}
	if len(lines) == 1 && have[0] == j.Spec() {
		return nil
	}
	return append(lines, "-I "+j.From+" 1 "+j.Spec())
}
