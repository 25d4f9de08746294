package rule

import (
	"github.com/org/claude-sandbox/devcontainer/pages"
	"github.com/org/claude-sandbox/internal/diag"
)

// Rule is one check: an entry in its family's table.
type Rule struct {
	ID         string        // "SBX402"; stable, findings carry it
	Name       string        // the same for people: "privileged"
	Severity   diag.Severity // of its findings; some of them are notes
	Category   Category      // what it protects; "" in a table = its family's
	pages.Page               // filled in by package lint

	// Check looks for this rule in a project, and for nothing else.
	Check Check
	// FoundBy names what finds it while the files are read: "jsonc", "schema",
	// "settings"; "" when only check does.
	FoundBy string
	// About are the kinds of files that check judges; 0 = configurations.
	About Subject
	// Corrects are the properties that its correction changes, besides that of the finding.
	Corrects []string
	// Spoils says what a finding of it means for other rules.
	Spoils Spoiling
	// OfPolicy says that it compares with an organisation's policy: nothing in a project excuses it.
	OfPolicy bool
	// Last says that the checks of other rules find out how much there is to see.
	Last bool
	// OfServices says that it judges services as all Compose files together make them: it waits while one lacks.
	OfServices bool
	// RestsOn are the properties that the promise of the sandbox rests on which the
	// rule says is broken: with something wrong in them nothing is known of it.
	RestsOn []string
}

// Category says why a rule is there. People choose rules by it.
type Category string

// The categories of rules.
const (
	Correctness Category = "correctness"  // it does not start, or does not do what was meant
	Security    Category = "security"     // it opens the host, the sandbox or a secret
	SupplyChain Category = "supply-chain" // what is fetched may change, or be somebody else's
	Style       Category = "style"        // it works, and could be smaller or clearer
)

// Categories are all of them.
var Categories = []Category{Correctness, Security, SupplyChain, Style}

// Subject is a set of kinds of files.
type Subject int

// The kinds of files that a check can judge.
const (
	Configurations Subject = 1 << iota
	Features
	Templates
	Dockerfiles // alone, without a configuration; rules of their family need no word
)

// Spoiling says what else nothing is known of when a rule has a finding.
type Spoiling int

// The part that a finding spoils.
const (
	Nothing   Spoiling = iota
	Mistyped           // the value is not what belongs there: no other rule judges it
	Malformed          // something is wrong inside the property
	Misspelt           // the name is wrong: the property that was meant is not there
)
