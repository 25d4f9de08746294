package compose

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// healthTests are the words that a health check begins with, when it is a list.
var healthTests = []string{"NONE", "CMD", "CMD-SHELL"}

// health reports a health check that Compose refuses: a list without the word that says who
// runs it, and a time without its unit, which YAML takes for a number.
func (p *checker) health(s *Service) {
	check := s.Get("healthcheck")
	if test := check.Get("test"); test != nil && test.Kind == List && len(test.Items) > 0 {
		first := test.Items[0]
		if first.Kind == Scalar && !strings.Contains(first.Text, "$") && !slices.Contains(healthTests, first.Text) {
			p.refuse(first, fmt.Sprintf("a health check begins with CMD, CMD-SHELL or NONE, not with %q", first.Text))
		}
	}
	for _, key := range []string{"interval", "timeout", "start_period"} {
		if n := check.Get(key); n.String() != "" && n.Type() == "int" {
			p.refuse(n, fmt.Sprintf("%s needs a unit: write %ss", key, n.Text))
		}
	}
}

// twoNetworks reports a service with network_mode and networks, of which Compose takes one.
func (p *checker) twoNetworks(s *Service) {
	mode := s.Get("network_mode")
	if networks := s.Get("networks"); mode.String() != "" && (len(networks.names()) > 0 || len(networks.items()) > 0) {
		p.refuse(mode, fmt.Sprintf("the service %s has both network_mode and networks", s.Name))
	}
}

// SwitchedOff returns services that others wait for and that a profile keeps from starting.
func (p *Project) SwitchedOff() []Problem {
	c := &checker{Project: p}
	for _, s := range p.Services() {
		if s.Get("profiles") != nil {
			continue
		}
		for _, n := range s.Get("depends_on").names() {
			other := p.Service(n.Name)
			if other != nil && len(other.Get("profiles").items()) > 0 && n.Value.Get("required") == nil {
				c.refuse(n.place(s.Doc), fmt.Sprintf("%s waits for %s, which its profiles keep from starting", s.Name, n.Name))
			}
		}
	}
	return c.found
}

// circle reports services that wait for each other, once.
func (p *checker) circle() {
	waiting, done := map[string]bool{}, map[string]bool{}
	var visit func(s *Service) bool
	visit = func(s *Service) bool {
		waiting[s.Name] = true
		for _, m := range s.Get("depends_on").names() {
			if waiting[m.Name] {
				p.refuse(m.place(s.Doc), fmt.Sprintf("%s depends on %s, which waits for it in turn", s.Name, m.Name))
				return false
			}
			if other := p.Service(m.Name); other != nil && !done[m.Name] && !visit(other) {
				return false
			}
		}
		waiting[s.Name], done[s.Name] = false, true
		return true
	}
	for _, s := range p.Services() {
		if !done[s.Name] && !visit(s) {
			return
		}
	}
}

var (
	portShort = lazyregexp.New(`^((([^\s/]*):)?(\d+(-\d+)?)?:)?\d+(-\d+)?(/(?i:tcp|udp|sctp))?$`)
	// ofOneself are what a container with the network of another service cannot have: moby refuses
	// them (runconfig/hostconfig, validateNetContainerMode).
	ofOneself = []string{"ports", "expose", "hostname", "mac_address", "dns", "extra_hosts"}
)

// IsPort reports whether the engine reads a port in the short form, [[ADDRESS:]HOST:]CONTAINER[/PROTOCOL]. A text
// with a variable may be one.
func IsPort(text string) bool {
	if strings.Contains(text, "$") {
		return true
	}
	m := portShort.FindStringSubmatch(text)
	if m == nil || tooHigh(text) {
		return false
	}
	address, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(m[3], "["), "]"))
	return strings.Trim(m[3], "[]") == "" || err == nil && address.Zone() == ""
}

// PortHint says how to write what is no port.
func PortHint(text string) string {
	if rest, named := strings.CutPrefix(text, "localhost:"); named && IsPort("127.0.0.1:"+rest) {
		return "the address is a number: write 127.0.0.1:" + rest
	}
	if list := strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == ' ' }); len(list) > 1 &&
		!slices.ContainsFunc(list, func(one string) bool { return !IsPort(one) }) {
		return "write each port as an element of its own"
	}
	for _, protocol := range []string{"/tcp", "/udp"} {
		if once := strings.ReplaceAll(text, protocol, "") + protocol; strings.Contains(text, protocol+":") && IsPort(once) {
			return "the protocol is written once, at the end: write " + once
		}
	}
	return "write ADDRESS:HOST:CONTAINER/PROTOCOL; only CONTAINER is needed"
}

// tooHigh reports whether a port in the short form has a number that no port has.
func tooHigh(text string) bool {
	text, _, _ = strings.Cut(text, "/")
	parts := strings.Split(text, ":")
	for _, part := range parts[max(0, len(parts)-2):] { // the address is in front of them
		for number := range strings.SplitSeq(part, "-") {
			if n, err := strconv.Atoi(number); number != "" && strings.Trim(number, "0123456789") == "" && (err != nil || n > 65535) {
				return true
			}
		}
	}
	return false
}

// containerName is the form of the names that the engine takes for a container.
var containerName = lazyregexp.New(`^[a-zA-Z0-9][a-zA-Z0-9_.-]+$`)

// ofEngine reports values that Compose gives to the engine, which refuses them.
func (p *checker) ofEngine(s *Service) {
	for _, item := range s.Get("ports").items() {
		if item.Kind == Scalar && !IsPort(item.Text) {
			p.refuse(item, fmt.Sprintf("%q is no port; %s", item.Text, PortHint(item.Text)))
		}
	}
	for _, item := range s.Get("extra_hosts").items() {
		if item.Kind == Scalar && !strings.ContainsAny(item.Text, "$:=") {
			p.refuse(item, fmt.Sprintf("the address of %s is missing; write %[1]s:host-gateway for the host", item.Text))
		}
	}
	name := s.Get("container_name")
	if text := name.String(); text != "" && !strings.Contains(text, "$") && !containerName.MatchString(text) {
		p.refuse(name, fmt.Sprintf("the engine refuses the container's name %q: letters, digits, _ . and - only", name.String()))
	}
	for _, item := range s.Get("volumes").items() {
		if item.Kind != Scalar {
			continue
		}
		if parts := SplitVolume(item.Text); len(parts) > 1 && isRelative(parts[1]) {
			p.refuse(item, fmt.Sprintf("the engine refuses %s as a place in the container: it is no absolute path", parts[1]))
		}
	}
	if mode := s.Get("network_mode").String(); strings.HasPrefix(mode, "service:") || strings.HasPrefix(mode, "container:") {
		for _, key := range ofOneself {
			if n := s.Get(key); n.String() != "" || len(n.items()) > 0 {
				p.refuse(n, fmt.Sprintf("the service %s has the network of another; give %s to that one", s.Name, key))
			}
		}
	}
}

// several reports a service that would need several containers of one name.
func (p *checker) several(s *Service) {
	name := s.Get("container_name")
	for _, n := range []*Node{s.Get("scale"), s.Get("deploy").Get("replicas")} {
		if count, err := strconv.Atoi(n.String()); name.String() != "" && err == nil && count > 1 {
			p.refuse(name, fmt.Sprintf("%d containers of %s cannot have one name: leave container_name out", count, s.Name))
		}
	}
}

// namesTwice reports a name that the containers of two services would have. Services with profiles may not be started.
func (p *checker) namesTwice() {
	of := map[string]string{}
	for _, s := range p.Services() {
		n := s.Get("container_name")
		name := n.String()
		if name == "" || strings.Contains(name, "$") || len(s.Get("profiles").items()) > 0 {
			continue
		}
		if other := of[name]; other != "" {
			p.refuse(n, fmt.Sprintf("the container of the service %s has the name %s already", other, name))
		}
		of[name] = s.Name
	}
}

// reserved reports devices that are reserved without saying which, or in two ways.
func (p *checker) reserved(s *Service) {
	for _, item := range s.Get("deploy").Get("resources").Get("reservations").Get("devices").items() {
		if item.Kind == Map && item.Get("capabilities") == nil {
			p.refuse(item, "a reserved device needs its capabilities: add capabilities: [gpu]")
		}
		if ids := item.Get("device_ids"); ids != nil && item.Get("count") != nil {
			p.refuse(ids, "a reserved device has either count or device_ids")
		}
	}
}

// platform is OS/ARCHITECTURE[/VARIANT], or one of the two.
var platform = lazyregexp.New(`^[A-Za-z0-9_.]+(\([\w.]+\))?(/[A-Za-z0-9_.]+){0,2}$`)

// ranges reports a port whose two ranges have another length, which the engine refuses, and a platform of no form.
func (p *checker) ranges(s *Service) {
	for _, item := range s.Get("ports").items() {
		parts := strings.Split(publishedPart(item.Text), ":")
		if item.Kind != Scalar || strings.Contains(item.Text, "$") || len(parts) != 2 || !strings.Contains(parts[1], "-") {
			continue
		}
		if outside, inside := length(parts[0]), length(parts[1]); outside > 0 && inside > 0 && outside != inside {
			p.refuse(item, fmt.Sprintf("%d ports of the host cannot be %d of the container", outside, inside))
		}
	}
	if n := s.Get("platform"); n.String() != "" && !strings.Contains(n.Text, "$") && !platform.MatchString(n.Text) {
		p.refuse(n, fmt.Sprintf("%q is no platform; write one such as linux/amd64", n.Text))
	}
}

// length is the number of ports in a range, 0 for none.
func length(text string) int {
	first, last, is := strings.Cut(text, "-")
	if !is {
		last = first
	}
	from, err := strconv.Atoi(first)
	to, other := strconv.Atoi(last)
	if err != nil || other != nil {
		return 0
	}
	return to - from + 1
}

// isRelative reports whether a path is neither absolute nor one of a drive of Windows, and has no variable.
func isRelative(name string) bool {
	return name != "" && !strings.HasPrefix(name, "/") && !strings.ContainsAny(name, `$\:`)
}
