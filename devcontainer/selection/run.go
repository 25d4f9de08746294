package selection

import (
	"errors"
	"fmt"
	"slices"

	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/devcontainer/org"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
)

// Run judges the findings of one run. Its zero value goes by the project's files alone.
type Run struct {
	only, ignored []string // ids, of the command line
	held          map[string]floor
	Off, Known    int // findings that were not shown: switched off, in a baseline
}

// floor is the least severity of a rule that a policy holds.
type floor struct {
	own   bool          // as severe as the rule says
	least diag.Severity // "" = the policy names none
}

// under returns the worse of a severity and of the least one of a finding that the rule itself gives the severity own.
func (f floor) under(severity, own diag.Severity) diag.Severity {
	if f.own {
		severity = worse(severity, own)
	}
	if f.least != "" {
		severity = worse(severity, f.least)
	}
	return severity
}

// ErrPolicy reports a policy that names a rule that does not exist.
var ErrPolicy = errors.New("the policy is not valid")

// NewRun returns the judge of a run: only, unless empty, are words of the rules that are
// asked for, ignored are words of those that are not, and policy, unless nil, holds some.
// It errs when a word names no rule, and when the policy holds what is to be ignored.
func NewRun(only, ignored []string, policy *org.Policy) (*Run, error) {
	r := &Run{held: map[string]floor{}}
	for _, m := range bySpecificity(policy.Rules()) {
		ids := RulesOf(m.Name)
		if ids == nil {
			return nil, diag.WithHint(fmt.Errorf("%w: %s: there is no rule %q", ErrPolicy, policy.AtName(m), m.Name),
				"%s", unknownHint(m.Name))
		}
		for _, id := range ids {
			r.held[id] = floor{least: diag.Severity(m.Value.Text)}
			if m.Value.Text == string(on) {
				r.held[id] = floor{own: true}
			}
		}
	}
	if policy != nil {
		for _, id := range heldByAny() {
			r.held[id] = floor{own: true, least: r.held[id].least}
		}
	}
	for _, list := range []struct {
		words []string
		ids   *[]string
	}{{only, &r.only}, {ignored, &r.ignored}} {
		for _, word := range list.words {
			ids := RulesOf(word)
			if ids == nil {
				return nil, diag.WithHint(fmt.Errorf("there is no rule %q", word), "%s", unknownHint(word))
			}
			*list.ids = append(*list.ids, ids...)
		}
	}
	for _, word := range ignored {
		if !slices.ContainsFunc(RulesOf(word), func(id string) bool { return !r.Holds(id) }) {
			return nil, diag.WithHint(fmt.Errorf("the organisation's policy holds %s: it cannot be ignored", word),
				"ask the policy's owner to take it out there")
		}
	}
	return r, nil
}

// heldByAny are the rules that every policy holds: its own, and those that say that
// something could not be read or judged, because then the policy was not compared with it.
func heldByAny() (ids []string) {
	for _, r := range lint.Rules() {
		unread := r.ID[3] == '1' && r.Severity == diag.SeverityError || r.FoundBy == "reading"
		if unread || r.Spoils == rule.Mistyped || r.Spoils == rule.Malformed || r.OfPolicy || slices.Contains(unsure, r.ID) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// unsure are further rules about what the tools may take otherwise than the policy was compared with: defaults that they cut, what
// Compose refuses or merges, and lines that the reference CLI alone takes for FROM.
var unsure = []string{"SBX305", "SBX316", "SBX711"}

// Holds reports whether the policy holds a rule.
func (r *Run) Holds(id string) bool {
	_, held := r.held[id]
	return held
}

// asks reports whether a rule is among those that the person who asks wants.
func (r *Run) asks(id string) bool {
	return (r.only == nil || slices.Contains(r.only, id)) && !slices.Contains(r.ignored, id)
}

// level is what becomes of a finding by the words of the person who asks and of the project.
func (r *Run) level(s *Selection, f diag.Finding) level {
	l := s.level(f)
	switch {
	case !r.asks(f.Rule):
		return off
	case r.only != nil && (l == off || l == advice):
		return on
	}
	return l
}

// Lessens reports whether a finding is not shown, or as less than the rule says. It counts nothing, and may be asked at any time.
func (r *Run) Lessens(s *Selection, known *Baseline, f diag.Finding) bool {
	lower := false
	switch l := r.level(s, f); l {
	case on:
	case off:
		lower = true
	case advice:
		lower = f.Severity == diag.SeverityWarning
	default:
		lower = worse(f.Severity, diag.Severity(l)) != diag.Severity(l)
	}
	return !r.Holds(f.Rule) && (lower || known.has(s, f))
}

// Judge returns a finding as it is shown, and whether it is. contained says that its
// configuration is a sandbox or an agent's container. known are the findings of the
// project's baseline; nil = none. A finding that the policy holds is never milder than
// without the project's file: words there only make it worse.
func (r *Run) Judge(s *Selection, known *Baseline, contained bool, f diag.Finding) (diag.Finding, bool) {
	l, own := r.level(s, f), f.Severity
	f.Severity = l.severity(own, contained)
	if held, ok := r.held[f.Rule]; ok {
		plain := defaultLevel(f.Rule).severity(own, contained)
		if l == off {
			f.Severity = plain
		}
		f.Severity = held.under(worse(f.Severity, plain), own)
		return f, true
	}
	if l == off {
		r.Off++
		return f, false
	}
	if known.take(s, f) {
		r.Known++
		return f, false
	}
	return f, true
}

// severity is what a finding is shown as.
func (l level) severity(own diag.Severity, contained bool) diag.Severity {
	switch {
	case l == advice && own == diag.SeverityWarning && !contained:
		return diag.SeverityNote
	case l == on || l == off || l == advice:
		return own
	}
	return diag.Severity(l)
}
