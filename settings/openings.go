package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/operation"
	"github.com/org/claude-sandbox/internal/visible"
)

// Opening is one thing that settings give the agent, in words for a person. The
// texts are safe to show: everything but printable ASCII is an escape.
type Opening struct {
	Kind string // "host", "mount", "secret", "image", …: one word
	Text string
}

// maxOpenings bounds the openings of one kind, so that none hides behind thousands
// of others; a last one says how many more there are.
const maxOpenings = 12

// Openings says in words everything that s gives the agent, or takes from its sandbox,
// the gravest first. Settings that only narrow are not among it.
func (s *Settings) Openings() []Opening {
	var out []Opening
	add := func(kind string, texts ...string) {
		for i, text := range texts {
			if i == maxOpenings {
				out = append(out, Opening{kind, fmt.Sprintf("and %d more", len(texts)-i)})
				return
			}
			out = append(out, Opening{kind, text})
		}
	}
	switch s.Network.Mode {
	case firewall.ModeHost:
		add("network", "NO FIREWALL: everything that this machine can reach")
	case firewall.ModeAudit:
		add("network", "the whole internet; each destination is recorded")
	case firewall.ModeNone:
		add("network", "nothing, whatever the lists say")
	}
	if s.Workspace.Mode == "bind" {
		add("workspace", "the agent works on the project's files themselves")
	}
	add("mount", each(s.Mounts, Mount.inWords)...)
	add("secret", each(s.Secrets, Secret.inWords)...)
	add("variable", each(s.EnvPrefixes, func(p string) string { return "all of yours that begin with " + word(p) })...)
	if s.Network.Guard == "off" {
		add("network", "any site on an address of an open host: the guard is off")
	}
	add("private", each(s.Network.Private, func(n string) string { return word(n) + " may lead into your private networks" })...)
	add("inbound", each(s.Network.Inbound, func(port int) string { return fmt.Sprintf("port %d can be reached from outside", port) })...)
	if s.Image != "" {
		add("image", "the agent runs in "+word(s.Image))
	}
	if s.Topology == TopologySingle {
		add("topology", "firewall and agent share a container")
	}
	add("instructions", each(s.Instructions, func(name string) string { return "Claude reads your own " + word(name) })...)
	add("mcp", each(s.MCP.Servers, MCPServer.inWords)...)
	// Wildcards and networks open the most, and stand before single hosts.
	allow := slices.DeleteFunc(slices.Clone(s.Network.Allow), operation.Typed)
	slices.SortStableFunc(allow, func(a, b string) int { return breadth(b) - breadth(a) })
	add("host", each(allow, word)...)
	add("operation", operationsInWords(s.Network.Allow)...)
	add("preset", each(s.Network.Presets, presetInWords)...)
	add("env", each(slices.Sorted(maps.Keys(s.Env)), func(name string) string { return word(name) + "=" + word(s.Env[name]) })...)
	add("limit", s.Limits.inWords()...)
	return out
}

// KeyOpenings says which of the keys in own go with requests that s allows.
func (s *Settings) KeyOpenings(own []Secret) (out []Opening) {
	for _, k := range own {
		if k.For == "" {
			continue
		}
		for _, entry := range operation.Named(k.For, s.Network.Allow) {
			words, _ := operation.Words(entry)
			out = append(out, Opening{"key", fmt.Sprintf("your key %s goes with requests: %s", word(k.Name), visible.ASCII(words))})
		}
	}
	return out
}

func (m Mount) inWords() string {
	how := "writable"
	if m.ReadOnly {
		how = "read-only"
	}
	return fmt.Sprintf("%s of this machine as %s, %s", word(m.Host), word(m.Container), how)
}

func (s Secret) inWords() string {
	from := "your environment"
	if s.From != "" {
		from = word(s.From)
	}
	switch {
	case s.For != "":
		words, _ := operation.Words(s.For)
		return fmt.Sprintf("the key %s from %s goes with requests: %s", word(s.Name), from, visible.ASCII(words))
	case s.As == "file":
		from += ", as a file"
	}
	return fmt.Sprintf("%s from %s", word(s.Name), from)
}

func (s MCPServer) inWords() string {
	text := fmt.Sprintf("the server %s runs %s", word(s.Name), word(strings.Join(append([]string{s.Command}, s.Args...), " ")))
	if s.URL != "" {
		text = fmt.Sprintf("the server %s is asked at %s", word(s.Name), word(s.URL))
	}
	if names := slices.Concat(slices.Sorted(maps.Keys(s.Env)), slices.Sorted(maps.Keys(s.Headers))); len(names) > 0 { // values may be secrets
		text += ", with " + strings.Join(each(names, word), ", ")
	}
	return text
}

// operationsInWords says what the typed entries of an allowlist allow: what may write
// first, then wildcards. None is cut, so that nothing stands behind what is seen.
func operationsInWords(allow []string) (out []string) {
	type shown struct {
		text  string
		order int
	}
	var all []shown
	for _, entry := range allow {
		if !operation.Typed(entry) {
			continue
		}
		text, reads := operation.Words(entry)
		s := shown{text: visible.ASCII(text), order: 2}
		if strings.Contains(entry, "*") {
			s.order--
		}
		if reads {
			s.order += 2
		}
		all = append(all, s)
	}
	slices.SortStableFunc(all, func(a, b shown) int { return a.order - b.order })
	return each(all, func(s shown) string { return s.text })
}

// presetInWords names a preset with the hosts that it opens.
func presetInWords(name string) string {
	const most = 4
	entries, ok := firewall.Preset(name)
	if !ok {
		return word(name)
	}
	more := ""
	if len(entries) > most {
		more = fmt.Sprintf(" and %d more", len(entries)-most)
		entries = entries[:most]
	}
	return fmt.Sprintf("%s: %s%s", name, strings.Join(entries, ", "), more)
}

func (l Limits) inWords() (out []string) {
	if l.Memory > 0 {
		out = append(out, fmt.Sprintf("%.4g GiB of memory", float64(l.Memory)/(1<<30)))
	}
	if l.CPUs > 0 {
		out = append(out, fmt.Sprintf("%g processors", l.CPUs))
	}
	if l.PIDs > 0 {
		out = append(out, fmt.Sprintf("%d processes", l.PIDs))
	}
	if l.Disk > 0 {
		out = append(out, fmt.Sprintf("%.4g GiB of disk", float64(l.Disk)/(1<<30)))
	}
	if l.Timeout > 0 {
		out = append(out, "runs of "+l.Timeout.Round(time.Second).String())
	}
	return out
}

// breadth orders entries by how much they open.
func breadth(entry string) int {
	switch {
	case strings.Contains(entry, "/"):
		return 2
	case strings.Contains(entry, "*"):
		return 1
	}
	return 0
}

// word shows a text of a file: one that is no plain word stands in quotes, and a
// long one is cut.
func word(text string) string {
	const most = 200
	shown := visible.ASCII(text)
	if len(shown) > most {
		shown = shown[:most] + "…"
	}
	if text == "" || strings.ContainsAny(text, " \"'") {
		return `"` + shown + `"`
	}
	return shown
}

func each[T any](list []T, show func(T) string) (out []string) {
	for _, e := range list {
		out = append(out, show(e))
	}
	return out
}
