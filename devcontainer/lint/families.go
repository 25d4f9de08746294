package lint

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/org/claude-sandbox/devcontainer/contract"
	"github.com/org/claude-sandbox/devcontainer/pages"
	"github.com/org/claude-sandbox/devcontainer/rule"
)

// Family is a group of rules: those whose number starts with the same digit.
type Family struct {
	Digit    byte          // '4' of SBX4xx
	Title    string        // what its rules are about
	Category rule.Category // of its rules that name none
	Rules    []rule.Rule   // in the order of their numbers
}

// Families returns the table of all rules. Callers must not change it.
var Families = sync.OnceValue(func() []Family {
	families := []Family{
		{'1', "Syntax", rule.Correctness, syntaxRules},
		{'2', "Names, types and values", rule.Correctness, schemaRules},
		{'3', "What the reference implementation makes of it", rule.Correctness, referenceRules},
		{'4', "The host's border", rule.Security, hostRules},
		{'5', "Secrets", rule.Security, secretRules},
		{'6', "Supply chain", rule.SupplyChain, supplyRules},
		{'7', "Dockerfile", rule.Correctness, dockerfileRules},
		{'8', "The sandbox's contract", rule.Security, contract.Rules},
		{'9', "Templates", rule.Correctness, templateRules},
	}
	for _, f := range families {
		for i := range f.Rules {
			f.Rules[i].Page = pages.Of(f.Rules[i].ID)
			f.Rules[i].Category = cmp.Or(f.Rules[i].Category, f.Category)
		}
	}
	return families
})

// Rules returns all rules in the order of their numbers.
func Rules() []rule.Rule {
	var out []rule.Rule
	for _, f := range Families() {
		out = append(out, f.Rules...)
	}
	return out
}

// LookupRule finds a rule by its id or its name.
func LookupRule(word string) (rule.Rule, bool) {
	rules := Rules()
	i := slices.IndexFunc(rules, func(r rule.Rule) bool { return r.ID == word || r.Name == word })
	if i < 0 {
		return rule.Rule{}, false
	}
	return rules[i], true
}

// ruleTable finds rules by their id, and has them in the order in which they are applied.
type ruleTable struct {
	of     map[string]*rule.Rule
	phases [4][]*rule.Rule
}

// table has all rules. It is a function, and no check calls it, because
// the entries refer to the checks and those must not refer back.
var table = sync.OnceValue(func() ruleTable { return index(Rules()) })

func index(families ...[]rule.Rule) ruleTable {
	out := ruleTable{of: map[string]*rule.Rule{}}
	for _, rules := range families {
		for i := range rules {
			r := &rules[i]
			out.of[r.ID] = r
			out.phases[phase(r)] = append(out.phases[phase(r)], r)
		}
	}
	for _, rules := range out.phases {
		slices.SortFunc(rules, func(a, b *rule.Rule) int { return strings.Compare(a.ID, b.ID) })
	}
	return out
}
