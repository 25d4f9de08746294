package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/settings"
)

func (a *app) policyExplainCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain HOST[:PORT]",
		Short: "Show the decision for each port of a host, the line that decides, and the line that would open it",
		Long: `Show the firewall's decision for HOST on each relevant port: the ports that the
policy mentions for it, those of the web and of SSH, and PORT. Each line names
the entry that decides and its place; for a refusal it names the line to add.
It asks the same matcher that enforces the policy; nothing is resolved or
connected to.

Exit code 0: explained, whatever the answer; 2: wrong usage; 3: the settings
could not be read.`,
		Example: `  sbx-devc policy explain docs.example.com
  sbx-devc policy explain gist.github.com:443 --file sandbox.jsonc`,
		Args:        cobra.ExactArgs(1),
		Annotations: map[string]string{annotationChecker: ""},
	}
	file := policyFile(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error { return a.policyExplain(a.projectFile(*file), args[0]) }
	return cmd
}

func (a *app) policyExplain(file, target string) error {
	t, err := parseTarget(target)
	if err != nil {
		return err
	}
	policy, err := loadPolicy(file)
	if err != nil {
		return exitWith(exitNoCheck, err)
	}
	x := explanation{target: t, policy: policy}
	return x.write(a.stdout)
}

// explanation is what is known of one target.
type explanation struct {
	target firewall.Target
	policy projectPolicy
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
		switch hint, why := x.policy.fix(t, d.Verdict); {
		case hint != "":
			line("", "%s", hint)
		case why != "" && why != d.Reason:
			line("", "no entry is offered: %s", why)
		}
	}
	if hint := x.policy.privateFix(x.target); hint != "" {
		line("answers", "%s", hint)
	} else if x.target.Name != "" && x.policy.Resolves() && x.policy.DecideName(x.target.Name).Allowed() {
		switch rule := x.policy.MayBePrivate(x.target.Name); rule {
		case "":
			line("answers", "in private ranges are refused; add %q to %s to accept them", x.target.Name, x.policy.list("private"))
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

func (x *explanation) place(list, text string) string {
	i := slices.IndexFunc(x.policy.entries, func(e settings.Entry) bool { return e.List == list && e.Text == text })
	if i < 0 {
		return ""
	}
	e := x.policy.entries[i]
	return fmt.Sprintf(", %s:%d:%d", e.File, e.Line, e.Column)
}

// note remembers what is to be said of a preset.
func (x *explanation) note(preset string) {
	for _, p := range firewall.Presets() {
		if text := "preset " + p.Name + ": " + p.Note; p.Name == preset && p.Note != "" && !slices.Contains(x.notes, text) {
			x.notes = append(x.notes, text)
		}
	}
}
