package devcontainer

import (
	"slices"
	"sync"

	"github.com/org/claude-sandbox/internal/diag"
)

// Rule is one check: an entry in its family's table. Its examples are in
// examples/ID.txtar.
type Rule struct {
	ID       string        // "SBX402"; stable, findings carry it
	Name     string        // the same for people: "privileged"
	Severity diag.Severity // of its findings; some of them are notes
	Title    string        // what is wrong; lower case, no full stop
	Reason   string        // why that matters, in sentences
	// Fix says what `fix` does about it; "" means that nothing can be done
	// without the author.
	Fix string

	// check looks for this rule in a project, and for nothing else.
	check check
	// foundBy names what finds it while the files are read: "jsonc", "schema",
	// "settings"; "" when only check does.
	foundBy string
	// about are the kinds of files that check judges; 0 = configurations.
	about subject
	// spoils says what a finding of it means for other rules.
	spoils spoiling
	// last says that the checks of other rules find out how much there is to see.
	last bool
	// restsOn are the properties that the promise of the sandbox rests on which the
	// rule says is broken: with something wrong in them nothing is known of it.
	restsOn []string
}

// subject is a set of kinds of files.
type subject int

const (
	configurations subject = 1 << iota
	features
	templates
)

// spoiling says what else nothing is known of when a rule has a finding.
type spoiling int

const (
	nothing   spoiling = iota
	mistyped           // the value is not what belongs there: no other rule judges it
	malformed          // something is wrong inside the property
	misspelt           // the name is wrong: the property that was meant is not there
)

// Family is a group of rules: those whose number starts with the same digit.
type Family struct {
	Digit byte   // '4' of SBX4xx
	Title string // what its rules are about
	Rules []Rule // in the order of their numbers
}

// Families returns the table of all rules. Callers must not change it.
var Families = sync.OnceValue(func() []Family {
	return []Family{
		{'1', "Syntax", syntaxRules},
		{'2', "Names, types and values", schemaRules},
		{'3', "What the reference implementation makes of it", referenceRules},
		{'4', "The host's border", hostRules},
		{'5', "Secrets", secretRules},
		{'6', "Supply chain", supplyRules},
		{'7', "Dockerfile", dockerfileRules},
		{'8', "The sandbox's contract", contractRules},
		{'9', "Templates", templateRules},
	}
})

// Rules returns all rules in the order of their numbers.
func Rules() []Rule {
	var out []Rule
	for _, f := range Families() {
		out = append(out, f.Rules...)
	}
	return out
}

// LookupRule finds a rule by its id or its name.
func LookupRule(word string) (Rule, bool) {
	rules := Rules()
	i := slices.IndexFunc(rules, func(r Rule) bool { return r.ID == word || r.Name == word })
	if i < 0 {
		return Rule{}, false
	}
	return rules[i], true
}

// table finds a rule's entry. It is a function, and no check calls it, because
// the entries refer to the checks and those must not refer back.
var table = sync.OnceValue(func() map[string]*Rule { return index(Rules()) })

func index(families ...[]Rule) map[string]*Rule {
	out := map[string]*Rule{}
	for _, rules := range families {
		for i := range rules {
			out[rules[i].ID] = &rules[i]
		}
	}
	return out
}
