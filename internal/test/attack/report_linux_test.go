package attack

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
)

var update = flag.Bool("update", false, "write docs/attacks.md from what the attacks achieved")

const reportFile = "../../../docs/attacks.md"

// report is what the attacks achieved, by column and attack.
type report struct {
	none   map[string]outcome // without a firewall
	design map[string]outcome // with the design of init-firewall.sh
	walls  map[string]outcome // as root against ours
	ours   map[string]outcome // as the agent against ours
	life   map[string]outcome // of ours, while something befell it
}

// check errs where the list says something else than what happened, and
// compares the report with the one in docs.
func (r report) check(t *testing.T) {
	t.Helper()
	for _, a := range All() {
		switch o, ran := r.control(a); {
		case !ran:
			if !a.Slow {
				t.Errorf("%s has not run in the control", a.ID)
			}
		case a.Wall && a.Vacuous == "" && o.said != "ok":
			t.Errorf("%s: root cannot do it either, so it is no attempt: %s", a.ID, o.said)
		case a.Wall && a.Holds != (len(o.leaks) == 0) && a.Vacuous == "":
			t.Errorf("%s: as root: %d leaks, but holds is %v; root's agent said: %s", a.ID, len(o.leaks), a.Holds, o.said)
		case !a.Wall && (a.Vacuous == "") != (len(o.leaks) > 0):
			t.Errorf("%s: %d leaks without a firewall, but vacuous is %q; the agent said: %s", a.ID, len(o.leaks), a.Vacuous, o.said)
		}
	}
	text := r.String()
	if *update && !t.Failed() {
		if err := os.WriteFile(reportFile, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(reportFile)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if string(have) != text {
		t.Errorf("docs/attacks.md is not what happened; write it with -update\n%s", diff.Diff("docs/attacks.md", have, "now", []byte(text)))
	}
}

// control is the outcome that shows that an attack is one.
func (r report) control(a Attack) (outcome, bool) {
	from := r.none
	if a.Wall {
		from = r.walls
	}
	o, ok := from[a.ID]
	return o, ok
}

// String is the page for people.
func (r report) String() string {
	var b strings.Builder
	list := All()
	count := map[string]int{}
	for _, a := range list {
		if a.Vacuous != "" {
			count["vacuous"]++
		}
		if a.Wall && a.Holds {
			count["holds"]++
		}
		if len(r.none[a.ID].leaks) > 0 || a.Slow {
			count["none"]++
		}
		if a.Wall && !a.Holds && a.Vacuous == "" {
			count["walls"]++
		}
		if len(r.design[a.ID].leaks) > 0 || a.Slow {
			count["design"]++
		}
		if len(r.ours[a.ID].leaks) > 0 {
			count["ours"]++
		}
	}
	fmt.Fprintf(&b, `# Attacks

This page lists attempts of an agent against the sandbox's network, and their results. Each line is a program in `+"`internal/test/attack`"+
		` that `+"`make test`"+
		` runs from inside as the agent's user; the judge is the other end of the wire, not the program. This page is written by that test.

- **none**: the same attempt without a firewall. An attempt that needs a right the agent does not have runs as root there. `+
		`Attempts to take the firewall down run as root against ours.
- **init-firewall**: the design of the much copied `+"`init-firewall.sh`"+
		`, in rules of our own: IPv4 alone, DNS and SSH to anywhere, the host's network, addresses resolved once. The attempts run as the `+
		`agent's user. One that goes several ways leaks when one of them does; where it uses both families, that is often IPv6.
- **sandbox**: claude-sandbox. One column stands for the firewall in the agent's own network (nft and legacy iptables), `+
		`as a sidecar, and for both in containers.

| | attempts | leak |
|---|---|---|
| none | %d | %d, and %d more as root against ours |
| init-firewall | %d | %d |
| sandbox | %d | %d |

%d attempts hold even as root against ours: they do what they say, and nothing opens. %d cannot be shown to leak in this lab; `+
		`the reason stands there instead. %d kinds of honest traffic pass in every sandbox, before and after the attacks. `+
		`The attempt that waits for more than a minute (expired-address) runs with `+"`make test-slow`"+` alone.
`, len(list), count["none"], count["walls"], len(list), count["design"], len(list), count["ours"], count["holds"],
		count["vacuous"], len(Benign()))
	family := ""
	for _, a := range list {
		if a.Family != family {
			family = a.Family
			fmt.Fprintf(&b, "\n## %s\n\n| attack | tries | none | init-firewall | sandbox |\n|---|---|---|---|---|\n",
				strings.ToUpper(family[:1])+family[1:])
		}
		tries := a.Tries
		if a.Source != "" {
			tries += " (" + a.Source + ")"
		}
		design, ours := word(r.design[a.ID]), word(r.ours[a.ID])
		if a.Slow {
			design = "**leaks**"
		}
		if a.Vacuous != "" && ours == "stopped" {
			ours = "nothing arrives"
		}
		if a.Vacuous != "" && design == "stopped" {
			design = "nothing arrives"
		}
		if a.Wall {
			design = ""
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", a.ID, tries, r.controlWord(a), design, ours)
	}
	return b.String()
}

func word(o outcome) string {
	if len(o.leaks) > 0 {
		return "**leaks**"
	}
	return "stopped"
}

func (r report) controlWord(a Attack) string {
	switch {
	case a.Vacuous != "":
		return "not shown: " + a.Vacuous
	case a.Slow:
		return "leaks"
	case a.Wall && a.Holds:
		return "holds as root"
	case a.Wall:
		return "leaks as root"
	case a.Needs != "":
		return "leaks with " + a.Needs
	}
	return "leaks"
}
