package amend

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/settings"
)

// maxNamed bounds the entries of a preset that a sentence names.
const maxNamed = 3

// Line says for people what a request has come to in one firewall: by the policy that
// is in force there now, whatever led to it.
func (f Firewall) Line(r Request, o Outcome) string {
	policy, bad := firewall.NewPolicy(o.Answer.Network)
	if bad != nil {
		return f.Name + " answered with a policy that is none"
	}
	say := map[string]func(*firewall.Policy, string) string{"allow": openness, "deny": denial, "presets": presetOpenness}[r.List]
	// Entries of which the same is true share a sentence.
	var truths []string
	about := map[string][]string{}
	for _, entry := range r.Entries {
		truth := say(policy, entry)
		if about[truth] == nil {
			truths = append(truths, truth)
		}
		about[truth] = append(about[truth], entry)
	}
	var parts []string
	for i, truth := range truths {
		verb := "is"
		if len(about[truth]) > 1 {
			verb = "are"
		}
		where := ""
		if i == 0 {
			where = " in " + f.Name
		}
		state, why, _ := strings.Cut(truth, ": ")
		if why != "" {
			why = ": " + why
		}
		parts = append(parts, fmt.Sprintf("%s %s %s%s%s", join(about[truth]), verb, state, where, why))
	}
	line := strings.Join(append(parts, o.Notes...), "; ")
	if o.Answer.Lost != "" {
		line += " (until it ends, because its policy file cannot be written: " + o.Answer.Lost + ")"
	}
	return line
}

// openness says whether an entry of "allow" is open, and why not.
func openness(policy *firewall.Policy, entry string) string {
	if open, by := opens(policy, entry); open {
		return "open now" + strings.Replace(by, ", by ", ": by ", 1)
	}
	return "closed now" + reason(policy, entry)
}

// denial says whether an entry of "deny" is closed.
func denial(policy *firewall.Policy, entry string) string {
	if policy.DeniedBy(entry) != "" || policy.Mode() == firewall.ModeNone {
		return "closed now"
	}
	return openness(policy, entry)
}

// presetOpenness says how much of a preset is open.
func presetOpenness(policy *firewall.Policy, name string) string {
	closed, bad := policy.Lacks(firewall.Network{Presets: []string{name}})
	if bad != nil {
		return "closed now"
	}
	entries, _ := firewall.Preset(name)
	switch {
	case len(closed) == 0:
		return "open now"
	case len(closed) >= len(entries) || policy.Mode() == firewall.ModeNone:
		if policy.Mode() == firewall.ModeNone {
			return "closed now: its mode is none"
		}
		return "closed now"
	}
	for i, entry := range closed {
		closed[i] = strings.TrimPrefix(entry, "preset:"+name+" ")
	}
	more := ""
	if len(closed) > maxNamed {
		more = fmt.Sprintf(" and %d more", len(closed)-maxNamed)
		closed = closed[:maxNamed]
	}
	return "open now: all but " + strings.Join(closed, ", ") + more
}

// reason says why an entry is closed where more than its absence is the reason.
func reason(policy *firewall.Policy, entry string) string {
	if policy.Mode() == firewall.ModeNone {
		return ": its mode is none"
	}
	if rule := policy.DeniedBy(entry); rule != "" {
		return ": it denies " + rule
	}
	if slices.ContainsFunc(policy.Network().Allow, func(have string) bool { return settings.SameEntry(have, entry) }) {
		return ": it denies a part of it"
	}
	return ""
}

// join lists words as people do.
func join(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
