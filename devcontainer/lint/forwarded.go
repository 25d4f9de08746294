package lint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

var hostAndPort = lazyregexp.New(`^(\d+):(\d+)$`)

// forwardedPairs reports ports that are written as docker's -p takes them.
func forwardedPairs(v *rule.View) (out []rule.Finding) {
	for _, n := range rights.Texts(v.Root.Member("forwardPorts")) {
		if m := hostAndPort.FindStringSubmatch(n.Text); m != nil {
			out = append(out, v.AtValue(n, fmt.Sprintf("%s means port %s of a host called %q", n.Text, m[2], m[1]),
				fmt.Sprintf("write %s; the editor chooses the port on this machine, or appPort publishes one", m[2])))
		}
	}
	return append(out, forwardedHosts(v)...)
}

var namedPort = lazyregexp.New(`^([A-Za-z][A-Za-z0-9_.-]*):\d+$`)

// forwardedHosts reports ports of a host that no service of Compose is called, by its name or otherwise.
func forwardedHosts(v *rule.View) (out []rule.Finding) {
	if !v.ByCompose() {
		return forwardedAlone(v)
	}
	if !composeRead(v) || joinsOthers(v.Composed.Project) {
		return nil
	}
	var names []string
	for _, n := range rights.Texts(v.Root.Member("forwardPorts")) {
		m := namedPort.FindStringSubmatch(n.Text)
		if m == nil || m[1] == "localhost" || strings.Contains(m[1], ".") {
			continue
		}
		if names == nil {
			names = hostsOf(v.Composed.Project)
		}
		if !slices.Contains(names, m[1]) {
			hint := "write HOST:PORT with one of " + strings.Join(names[:min(len(names), 8)], ", ")
			if best := diag.Suggest(m[1], names); best != "" {
				hint = fmt.Sprintf("did you mean %q?", best+strings.TrimPrefix(n.Text, m[1]))
			}
			out = append(out, v.AtValue(n, fmt.Sprintf("the Compose files have no service %q", m[1]), hint))
		}
	}
	return out
}

// forwardedAlone reports the same where there is one container, which finds no other by a name without dots.
func forwardedAlone(v *rule.View) (out []rule.Finding) {
	if slices.ContainsFunc(v.RunArgs, func(a rights.Arg) bool {
		return slices.Contains([]string{"network", "net", "add-host", "link", "hostname", "h", "dns", "dns-search", "name"}, a.Flag)
	}) {
		return nil
	}
	for _, n := range rights.Texts(v.Root.Member("forwardPorts")) {
		m := namedPort.FindStringSubmatch(n.Text)
		if m == nil || m[1] == "localhost" || strings.Contains(m[1], ".") {
			continue
		}
		hint := "a port of this container is a number from 1 to 65535"
		if port, err := strconv.Atoi(strings.TrimPrefix(n.Text, m[1]+":")); err == nil && port >= 1 && port <= 65535 {
			hint = fmt.Sprintf("write %d for a port of this container", port)
		}
		out = append(out, v.AtValue(n, fmt.Sprintf("nothing is called %q: without Compose there is one container, on a network of its own", m[1]),
			hint))
	}
	return out
}

// joinsOthers reports whether a project uses a network from outside, where other containers may be.
func joinsOthers(p *compose.Project) (found bool) {
	p.Root.Get("networks").Walk(func(n *compose.Node) { found = found || n.Get("external") != nil })
	return found
}

// hostsOf returns the names by which containers of a project may find each other.
func hostsOf(p *compose.Project) (names []string) {
	for _, s := range p.Services() {
		names = append(names, s.Name)
	}
	p.Root.Get("services").Walk(func(n *compose.Node) {
		for _, key := range []string{"container_name", "hostname"} {
			names = append(names, n.Get(key).String())
		}
		for _, key := range []string{"aliases", "links", "external_links", "extra_hosts"} {
			for _, item := range n.Get(key).Scalars() { // links: NAME:ALIAS; extra_hosts: NAME:ADDRESS
				names = append(names, strings.FieldsFunc(item.Text, func(c rune) bool { return c == ':' || c == '=' })...)
			}
			if list := n.Get(key); list != nil {
				for _, m := range list.Members {
					names = append(names, m.Name)
				}
			}
		}
	})
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}
