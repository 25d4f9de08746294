package explain

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/credential"
	"github.com/org/claude-sandbox/firewall/operation"
)

// Explainer explains one policy, in the words of the place where its user keeps it.
type Explainer struct {
	*firewall.Policy
	// List names a list of entries, such as "allow", where the user keeps it.
	List func(list string) string
	// Place says where an entry of a list stands, as FILE:LINE:COLUMN; "" = the list has
	// no such entry, or its place is not known.
	Place func(list, entry string) string
	// Keys are the user's and the project's, as settings bind them.
	Keys []credential.Binding
}

// Fix says which entry opens a target, in mode allowlist if verdict says that it
// is open now; why says why none does.
func (p Explainer) Fix(t firewall.Target, verdict firewall.Verdict) (hint, why string) {
	entry, why := audit.Fix(p.Policy, t)
	if entry == "" {
		return "", why
	}
	to := "to open it"
	if verdict == firewall.Allow {
		to = `to open it in mode "allowlist" too`
	}
	return fmt.Sprintf("%s, add to %s: %q", to, p.List("allow"), entry), ""
}

// PrivateFix says which entry lets a name of a local network lead to a private
// address, as it most likely does; "" = none is needed.
func (p Explainer) PrivateFix(t firewall.Target) string {
	if !firewall.IsLocalName(t.Name) || !p.Resolves() || p.MayBePrivate(t.Name) != "" || firewall.IsMetadataName(t.Name) {
		return ""
	}
	return fmt.Sprintf("%s most likely leads to a private address: add %q to %s too", t.Name, t.Name, p.List("private"))
}

// Write explains the decisions about a target on each relevant port: those that the
// policy mentions for it, those of the web and of SSH, and the target's own.
func (p Explainer) Write(w io.Writer, t firewall.Target) error {
	x := explanation{target: t, policy: p}
	return x.write(w)
}

// explanation is what is known of one target.
type explanation struct {
	target firewall.Target
	policy Explainer
	notes  []string // of presets that decided
}

func (x *explanation) write(w io.Writer) error {
	var b strings.Builder
	line := func(what, format string, args ...any) {
		fmt.Fprintf(&b, "  %-9s %s\n", what, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(&b, "%s (mode %s)\n", x.target.Host(), x.policy.Mode())
	loopback := x.target.Loopback() // which neither the resolver nor the guard sees
	if x.target.Name != "" && !loopback {
		d := x.policy.DecideName(x.target.Name)
		word := "resolved"
		if !d.Allowed() {
			word = "refused"
		}
		line("name", "%s: %s%s", word, d.Reason, x.origin(d))
	}
	for _, port := range x.ports() {
		t := x.target
		t.Port, t.Proto = port.Number, port.Proto
		d := t.Decide(x.policy.Policy)
		line(port.String(), "%s: %s%s", d.Verdict, d.Reason, x.origin(d))
		if d.Allowed() && x.target.Name != "" && !loopback && x.policy.Guards(port) {
			line("", "the guard checks the name of each connection")
		}
		switch hint, why := x.policy.Fix(t, d.Verdict); {
		case hint != "":
			line("", "%s", hint)
		case why != "" && why != d.Reason:
			line("", "no entry is offered: %s", why)
		}
	}
	for _, entry := range x.policy.TypedEntries(x.target.Name) {
		text, _ := operation.Words(entry)
		line("may", "%s%s", text, x.origin(firewall.Decision{Verdict: firewall.Allow, Rule: entry}))
	}
	if hint := x.policy.PrivateFix(x.target); hint != "" {
		line("answers", "%s", hint)
	} else if x.target.Name != "" && x.policy.Resolves() && x.policy.DecideName(x.target.Name).Allowed() {
		switch rule := x.policy.MayBePrivate(x.target.Name); rule {
		case "":
			line("answers", "in private ranges are refused; add %q to %s to accept them", x.target.Name, x.policy.List("private"))
		default:
			line("answers", "may be private addresses%s", x.placed("private", rule))
		}
	}
	for _, note := range x.notes {
		fmt.Fprintf(&b, "  %s\n", note)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// ports are those that are worth a line, sorted.
func (x *explanation) ports() []firewall.Port {
	ports := append(x.policy.Mentioned(x.target),
		firewall.Port{Number: 22, Proto: firewall.TCP}, firewall.Port{Number: 80, Proto: firewall.TCP},
		firewall.Port{Number: 443, Proto: firewall.TCP}, firewall.Port{Number: 443, Proto: firewall.UDP})
	if x.target.Port != 0 {
		ports = append(ports, firewall.Port{Number: x.target.Port, Proto: x.target.Proto})
	}
	slices.SortFunc(ports, func(a, b firewall.Port) int {
		return cmp.Or(int(a.Number)-int(b.Number), cmp.Compare(a.Proto, b.Proto))
	})
	return slices.Compact(ports)
}

// origin says which entry decided and where it stands; "" when none did.
func (x *explanation) origin(d firewall.Decision) string {
	rule, isPreset := strings.CutPrefix(d.Rule, "preset:")
	if isPreset {
		name, entry, _ := strings.Cut(rule, " ")
		x.note(name)
		return fmt.Sprintf(" (%s of the preset %s%s)", entry, name, x.place("presets", name))
	}
	lists := []string{"deny"}
	if d.Allowed() {
		lists = []string{"allow"}
	}
	for _, list := range append(lists, "allow") {
		if p := x.placed(list, d.Rule); p != "" {
			return p
		}
	}
	return ""
}

// placed is " (ENTRY, FILE:LINE:COLUMN)"; "" when the list has no such entry.
func (x *explanation) placed(list, rule string) string {
	if p := x.place(list, rule); p != "" {
		return " (" + rule + p + ")"
	}
	return ""
}

func (x *explanation) place(list, entry string) string {
	if place := x.policy.Place(list, entry); place != "" {
		return ", " + place
	}
	return ""
}

// note remembers the note of a preset.
func (x *explanation) note(preset string) {
	for _, p := range firewall.Presets() {
		if text := "preset " + p.Name + ": " + p.Note; p.Name == preset && p.Note != "" && !slices.Contains(x.notes, text) {
			x.notes = append(x.notes, text)
		}
	}
}
