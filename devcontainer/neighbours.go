package devcontainer

import (
	"fmt"
	"path"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/internal/diag"
)

const hintNeighbour = "let the two talk over a network, or share the one volume that is needed"

// joins says whose namespace an option of docker run joins: "host", another
// container's name, or "" for its own.
func joins(flag, value string) (host bool, other string) {
	if flag == "network" && strings.Contains(value, "=") { // name=NETWORK,alias=…
		for _, field := range mountFields(value) {
			if name, ok := strings.CutPrefix(strings.TrimSpace(field), "name="); ok {
				value = name
			}
		}
	}
	if name, ok := strings.CutPrefix(value, "container:"); ok {
		return false, name
	}
	return value == "host", ""
}

// hostNamespaces says, by the name of Docker's flag, what a container gets of the
// host with each of the host's namespaces, and how grave that is.
var hostNamespaces = map[string]struct {
	what, hint string
	severity   diag.Severity
}{
	"network":  {"shares the host's network namespace", "remove it; ports are reached with forwardPorts", diag.SeverityError},
	"pid":      {"shares the host's processes, which root in the container can end", "remove it; the container's own processes need no option", diag.SeverityError},
	"ipc":      {"shares the host's shared memory and message queues", "remove it; --shm-size gives the container more shared memory of its own", diag.SeverityError},
	"uts":      {"shares the host's host name", "remove it; --hostname names the container", diag.SeverityError},
	"cgroupns": {"shares the host's view of control groups", "remove it; the engine gives the container a namespace of its own", diag.SeverityError},
	"userns":   {"keeps the engine from mapping the container's users, if it is set up to", "remove it, so that the engine's setting holds", diag.SeverityNote},
}

// joinedArg reports a namespace that runArgs share with another container.
func (c *pass) joinedArg(a runArg) {
	if _, other := joins(a.flag, a.value); other != "" {
		c.at(a.node, "SBX409", fmt.Sprintf("--%s=%s shares the %s namespace of another container", a.flag, a.value, a.flag), hintNeighbour)
	}
}

// composeJoins reports what a service shares with other containers. The network
// of another service is how a firewall in a container of its own works, and what
// templates with a database do; processes and memory are nobody else's business.
func (c *pass) composeJoins(s *compose.Service) {
	for _, key := range namespaces {
		n := s.Get(key[0])
		name, service := strings.CutPrefix(n.String(), "service:")
		other, container := strings.CutPrefix(n.String(), "container:")
		switch {
		case container:
			c.inCompose(n, "SBX409", fmt.Sprintf("%s shares the %s namespace of the container %s, which is none of this project's", key[0], key[1], other), hintNeighbour)
		case service && key[0] != "network_mode":
			c.inCompose(n, "SBX409", fmt.Sprintf("%s shares the %s namespace of the service %s", key[0], key[1], name), hintNeighbour)
		}
	}
	for _, n := range c.networksOf(s) {
		if def := c.composed.project.Root.Get("networks").Get(n.Text); def.Get("external") != nil && def.Get("name").String() == "host" {
			c.inCompose(n, "SBX404", fmt.Sprintf("the network %s is the host's", n.Text), "remove it; ports are reached with forwardPorts")
		}
	}
	if n := s.Get("provider").Get("type"); n != nil {
		c.inCompose(n, "SBX418", fmt.Sprintf("Compose runs %q on the host for the service %s", n.String(), s.Name), "run the service in a container")
	}
	for _, hook := range []string{"post_start", "pre_stop"} {
		if list := s.Get(hook); list != nil {
			for _, item := range list.Items {
				if n := item.Get("privileged"); n.True() {
					c.inCompose(n, "SBX402", hook+" runs with all capabilities and all devices of the host", "remove it")
				}
			}
		}
	}
}

// networksOf returns the names of a service's networks, as places.
func (c *pass) networksOf(s *compose.Service) []*compose.Node {
	networks := s.Get("networks")
	out := networks.Scalars()
	if networks != nil {
		for _, m := range networks.Members {
			out = append(out, &compose.Node{Doc: m.Value.Doc, Start: m.Start, End: m.End, Text: m.Name})
		}
	}
	return out
}

// grant is a secret or config of Compose that a service gets from the host: a
// file, or else a variable.
type grant struct {
	kind, name, file, variable string
	at                         *compose.Node
}

func (c *pass) grantsOf(s *compose.Service) []grant {
	var out []grant
	for _, kind := range []string{"secrets", "configs"} {
		list := s.Get(kind)
		if list == nil {
			continue
		}
		for _, item := range list.Items {
			name, at := item.String(), item
			if item.Kind == compose.Map {
				name, at = item.Get("source").String(), item.Get("source")
			}
			def := c.composed.project.Root.Get(kind).Get(name)
			g := grant{kind, name, def.Get("file").String(), def.Get("environment").String(), at}
			if g.file != "" || g.variable != "" {
				out = append(out, g)
			}
		}
	}
	return out
}

// composeGrants reports what of the host a service gets as secrets or configs
// of Compose.
func (c *pass) composeGrants(s *compose.Service) {
	dev := c.composed.dev()
	contained := dev != nil && dev.Name == s.Name && (c.sandboxed() || c.agent())
	for _, g := range c.grantsOf(s) {
		const message, hint = "the agent can read %s of the host, which %s hands in as %q", "keep it outside: a proxy on the host, or a service of its own that the agent asks"
		switch {
		case g.file != "":
			if !c.composeSource(g.at, mount{kind: "bind", source: g.file, readonly: true}) && contained && c.outsideProject(g.file) {
				c.inCompose(g.at, "SBX507", fmt.Sprintf(message, g.file, g.kind, g.name), hint)
			}
		case contained:
			c.inCompose(g.at, "SBX507", fmt.Sprintf(message, "the variable "+g.variable, g.kind, g.name), hint)
		}
	}
}

// outsideProject reports whether a path in a Compose file leads out of the
// project, or depends on the host.
func (c *pass) outsideProject(name string) bool {
	p := origin(name)
	if p.base == "workspace" || p.base != "" || strings.Contains(name, "$") {
		return p.base != "workspace"
	}
	full := path.Join(c.Dir, path.Dir(c.composed.first), p.path)
	return leavesTree(full) || c.Home != "." && full != c.Home && !strings.HasPrefix(full, c.Home+"/")
}
