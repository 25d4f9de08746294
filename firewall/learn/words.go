package learn

import (
	"fmt"
	"strings"

	"github.com/org/claude-sandbox/internal/visible"
)

// maxLeft bounds what is said about one lesson, in lines.
const maxLeft = 20

// Notes are what a person should know before the entries are added, one line each. Names
// are the agent's words, so control characters in them are shown as text.
func (l *Lesson) Notes() (notes []string) {
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	for _, p := range l.Add {
		if p.Note != "" {
			add("note: %s: %s", p.Entry, p.Note)
		}
	}
	for i, h := range l.Left {
		if i == maxLeft {
			add("left out: %d more", len(l.Left)-i)
			break
		}
		add("left out: %s: %s", visible.ASCII(h.Host), visible.ASCII(h.Why))
	}
	switch {
	case l.Refused > 0:
		add("left out: refused destinations; --include denied proposes %d more", l.Refused)
	case len(l.Add) == 0:
		add("the allowlist lacks nothing of what was seen")
	}
	return notes
}

// Flags are the entries as flags of 'sbx-devc run', on one line; "" = there are none.
func (l *Lesson) Flags() string {
	names := map[string]string{"presets": "--preset", "allow": "--allow", "private": "--private"}
	var flags []string
	for _, p := range l.Add {
		flags = append(flags, names[p.List]+" '"+p.Entry+"'") // an entry holds no quote
	}
	return strings.Join(flags, " ")
}

// Hosts are the entries for a list of hosts, and others those that such a list cannot
// hold.
func (l *Lesson) Hosts() (hosts []string, others []Proposal) {
	for _, p := range l.Add {
		if p.List == "allow" {
			hosts = append(hosts, p.Entry)
		} else {
			others = append(others, p)
		}
	}
	return hosts, others
}
