package compose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// Keys of a service by the form of their value (compose-spec.json), as far as both versions of Compose refuse another.
var (
	onlyLists = strings.Fields("ports volumes cap_add cap_drop security_opt expose devices profiles links external_links secrets configs " +
		"device_cgroup_rules")
	listsOrMaps = strings.Fields("depends_on environment networks labels extra_hosts sysctls")
	onlyTexts   = strings.Fields("image working_dir network_mode container_name hostname restart")
	topMaps     = strings.Fields("networks volumes secrets configs")
	// neverEmpty are keys under which something stands, if they are there.
	neverEmpty = slices.Concat(onlyLists, listsOrMaps, onlyTexts,
		strings.Fields("env_file dns tmpfs user build healthcheck privileged tty init stdin_open logging ulimits"))
)

// shapes reports values of a service that have another form than their key wants.
func (p *checker) shapes(s *Service) {
	say := func(key string, ok func(Kind) bool, form string) {
		if n := s.Get(key); n != nil && !n.Null && !ok(n.Kind) {
			p.refuse(n, fmt.Sprintf("%s is %s", key, form))
		}
	}
	for _, key := range onlyLists {
		say(key, func(k Kind) bool { return k == List }, "a list: write a line for each element, with - in front")
	}
	for _, key := range listsOrMaps {
		say(key, func(k Kind) bool { return k != Scalar }, "a list, or a map")
	}
	for _, key := range onlyTexts {
		say(key, func(k Kind) bool { return k == Scalar }, "a text")
	}
	for _, key := range neverEmpty {
		if n := s.Get(key); n != nil && n.Null {
			p.refuse(n, fmt.Sprintf("%s says nothing: write its value, or leave it out", key))
		}
	}
	if args := s.Get("build").Get("args"); args != nil && args.Kind == Scalar && !args.Null {
		p.refuse(args, "args is a list, or a map")
	}
	for _, key := range []string{"mem_limit", "mem_reservation", "memswap_limit", "shm_size"} {
		if n := s.Get(key); n.String() != "" && !strings.Contains(n.Text, "$") && !sizeForm.MatchString(n.Text) {
			p.refuse(n, fmt.Sprintf("%s %q is no size; write one such as 512m or 2g", key, n.Text))
		}
	}
}

// folder reports a working_dir that the engine refuses.
func (p *checker) folder(s *Service) {
	if dir := s.Get("working_dir").String(); dir != "" && !strings.HasPrefix(dir, "/") && !strings.ContainsAny(dir, `$\:`) {
		p.refuse(s.Get("working_dir"), fmt.Sprintf("the engine refuses the working_dir %s: it is no absolute path", dir))
	}
}

var sizeForm = lazyregexp.New(`(?i)^-?\d+(\.\d+)? ?([kmgtp]?i?b?)?$`)

// topForms reports what stands below services, networks and their like in another form than a map by name.
func (p *checker) topForms() {
	for _, key := range topMaps {
		n := p.Root.Get(key)
		if n != nil && !n.Null && n.Kind != Map {
			p.refuse(n, fmt.Sprintf("%s is a map: write NAME: below it", key))
			continue
		}
		for _, m := range n.names() {
			if m.Value.Kind == Scalar && !m.Value.Null {
				p.refuse(m.Value, fmt.Sprintf("%s of %s is a map, or nothing", m.Name, key))
			}
		}
	}
	for _, m := range p.Root.Get("services").names() {
		if m.Value.Kind != Map && !m.Value.Null {
			p.refuse(m.place(m.Value.Doc), fmt.Sprintf("%s stands where services have their names; is it indented too little?", m.Name))
		}
	}
}

// published is the place on the host that a port of the short form takes.
type published struct{ address, port, protocol string }

// hostPort reads it; ok is false for a port that the engine chooses, a range, and what a variable says.
func hostPort(text string) (place published, ok bool) {
	if strings.Contains(text, "$") || !portShort.MatchString(text) {
		return published{}, false
	}
	text, protocol, _ := strings.Cut(text, "/")
	parts := strings.Split(text, ":")
	if len(parts) < 2 || len(parts) > 3 || parts[len(parts)-2] == "" || strings.Contains(parts[len(parts)-2], "-") {
		return published{}, false
	}
	if protocol == "" {
		protocol = "tcp"
	}
	place = published{"", parts[len(parts)-2], strings.ToLower(protocol)}
	if len(parts) == 3 && parts[0] != "0.0.0.0" {
		place.address = parts[0]
	}
	return place, true
}

// HostPorts are the ports of the host that are taken. Its zero value has none.
type HostPorts struct{ taken map[published]string }

// Take takes the place of a port of the short form, for whom a name stands, and returns the name for whom the place is
// taken already, "" for none: one port excludes another of the same address, or when one is for all addresses. Ports that
// the engine chooses, ranges, and what a variable says take none.
func (p *HostPorts) Take(text, name string) (before string) {
	place, ok := hostPort(text)
	if !ok {
		return ""
	}
	if p.taken == nil {
		p.taken = map[published]string{}
	}
	first, all := place, place
	first.address, all.address = "first", ""
	if before = p.taken[all]; before == "" {
		before = p.taken[place]
	}
	if before == "" && place == all {
		before = p.taken[first]
	}
	for _, key := range []published{place, first} {
		if p.taken[key] == "" {
			p.taken[key] = name
		}
	}
	return before
}

// portsTwice reports ports of the host that two services, or one of them twice, would take: the engine refuses the
// second. Services with profiles may not be started.
func (p *checker) portsTwice() {
	var taken HostPorts
	for _, s := range p.Services() {
		if len(s.Get("profiles").items()) > 0 || s.Get("network_mode").String() == "host" || s.Get("deploy").Get("replicas") != nil {
			continue
		}
		for _, item := range s.Get("ports").items() {
			if item.Kind != Scalar {
				continue
			}
			if before := taken.Take(item.Text, fmt.Sprintf("%s of the service %s", item.Text, s.Name)); before != "" {
				p.refuse(item, fmt.Sprintf("%s is taken on the host by %s", item.Text, before))
			}
		}
	}
}

// withoutHealth are official images, none of which brings a health check.
var withoutHealth = lazyregexp.New(`^(docker\.io/)?(library/)?(postgres|mysql|mariadb|redis|mongo|rabbitmq|memcached|nginx|httpd|` +
	`node|python|debian|ubuntu|alpine|busybox)` +
	`(:[^$]*)?$`)

// neverHealthy reports whether a service has no health check, as its image has none, or as it takes it away.
func (s *Service) neverHealthy() bool {
	check := s.Get("healthcheck")
	if check == nil {
		return s.Get("build") == nil && withoutHealth.MatchString(s.Get("image").String())
	}
	words := check.Get("test").Scalars()
	return check.Get("disable").True() || len(words) > 0 && words[0].Text == "NONE"
}

// unhealthy reports a service that another waits for to be healthy and that has no health check.
func (p *checker) unhealthy(s *Service) {
	for _, m := range s.Get("depends_on").names() {
		other := p.Service(m.Name)
		if m.Value.Kind != Map || m.Value.Get("condition").String() != "service_healthy" || other == nil || !other.neverHealthy() {
			continue
		}
		p.refuse(m.place(s.Doc), fmt.Sprintf("%s waits for %s to be healthy, which has no healthcheck", s.Name, m.Name))
	}
}
