package rule

import (
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
	Check check
	// foundBy names what finds it while the files are read: "jsonc", "schema",
	// "settings"; "" when only check does.
	FoundBy string
	// about are the kinds of files that check judges; 0 = configurations.
	About subject
	// spoils says what a finding of it means for other rules.
	Spoils spoiling
	// last says that the checks of other rules find out how much there is to see.
	Last bool
	// restsOn are the properties that the promise of the sandbox rests on which the
	// rule says is broken: with something wrong in them nothing is known of it.
	RestsOn []string
}

// subject is a set of kinds of files.
type subject int

const (
	Configurations subject = 1 << iota
	Features
	Templates
)

// spoiling says what else nothing is known of when a rule has a finding.
type spoiling int

const (
	Nothing   spoiling = iota
	Mistyped           // the value is not what belongs there: no other rule judges it
	Malformed          // something is wrong inside the property
	Misspelt           // the name is wrong: the property that was meant is not there
)
