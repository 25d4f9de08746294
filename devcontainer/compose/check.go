package compose

import (
	"fmt"
	"strings"
	"sync"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// Refused returns what Compose, or the engine behind it, refuses of files that are well formed. Only what
// both versions of Compose refuse is said, and nothing when a file is missing, which
// may hold what is looked for; the caller knows whether that is so of the
// project's own.
func (p *Project) Refused() []Problem {
	if len(p.Problems) > 0 || len(p.Unread) > 0 || p.Root == nil {
		return nil
	}
	c := &checker{Project: p}
	c.check()
	return c.found
}

// Failing returns what Compose takes of files that it does not refuse, and what fails when it starts them.
func (p *Project) Failing() []Problem {
	if len(p.Problems) > 0 || len(p.Unread) > 0 || p.Root == nil {
		return nil
	}
	c := &checker{Project: p}
	for _, s := range p.Services() {
		c.unhealthy(s)
		c.folder(s)
		c.several(s)
	}
	c.portsTwice()
	c.namesTwice()
	return c.found
}

type checker struct {
	*Project
	found []Problem
}

func (p *checker) refuse(n *Node, message string) {
	p.found = append(p.found, Problem{n.Doc, n.Start, n.End, message})
}

func (p *checker) check() {
	services := map[string]bool{}
	for _, s := range p.Services() {
		services[s.Name] = true
	}
	for _, s := range p.Services() {
		name := &Node{Doc: s.Doc, Start: s.Start, End: s.End}
		if s.Get("image") == nil && s.Get("build") == nil && s.Get("provider") == nil {
			p.refuse(name, fmt.Sprintf("the service %s has neither an image nor a build", s.Name))
		}
		p.keys(s)
		s.Walk(func(n *Node) {
			if n.bad != "" {
				p.refuse(n, n.bad)
			}
		})
		for _, n := range s.Get("depends_on").names() {
			if required := n.Value.Get("required"); !services[n.Name] && !strings.Contains(n.Name, "$") && (required == nil || required.True()) {
				p.refuse(n.place(s.Doc), fmt.Sprintf("the service %s depends on %s, and there is no such service", s.Name, n.Name))
			}
		}
		for _, key := range []string{"network_mode", "pid", "ipc"} {
			n := s.Get(key)
			if other, ok := strings.CutPrefix(n.String(), "service:"); ok && !services[other] && !strings.Contains(other, "$") {
				p.refuse(n, fmt.Sprintf("%s names the service %s, and there is no such", key, other))
			}
		}
		for _, n := range s.Get("links").items() {
			name, _, _ := strings.Cut(n.String(), ":")
			if name != "" && !services[name] && !strings.Contains(name, "$") {
				p.refuse(n, fmt.Sprintf("links names the service %s, and there is no such", name))
			}
		}
		for _, n := range s.Get("volumes_from").items() {
			name, _, _ := strings.Cut(n.String(), ":")
			if name != "" && name != "container" && !services[name] && !strings.Contains(name, "$") {
				p.refuse(n, fmt.Sprintf("volumes_from names the service %s, and there is no such", name))
			}
		}
		p.volumes(s)
		p.declared(s)
		p.shapes(s)
		p.values(s)
		p.health(s)
		p.twoNetworks(s)
		p.ofEngine(s)
		p.reserved(s)
		p.ranges(s)
	}
	p.topForms()
	p.circle()
	p.misspelt()
}

// refuse adds a problem of a file.
func (p *Project) refuse(n *Node, message string) {
	p.Problems = append(p.Problems, Problem{n.Doc, n.Start, n.End, message})
}

// volumes reports named volumes that are not declared.
func (p *checker) volumes(s *Service) {
	volumes := s.Get("volumes")
	if volumes == nil {
		return
	}
	for _, item := range volumes.Items {
		source := item.Get("source")
		name, at := source.String(), source
		if item.Kind == Scalar {
			at = item
			ok := false
			if name, _, ok = strings.Cut(item.Text, ":"); !ok || name != "" && isDrive(item.Text) {
				continue // anonymous, or a drive of Windows
			}
		} else if t := item.Get("type").String(); t != "volume" && t != "" {
			continue
		}
		if name == "" || strings.ContainsAny(name, `\$`) || strings.ContainsAny(name[:1], "./~") || p.Root.Get("volumes").Get(name) != nil {
			continue
		}
		if strings.Contains(name, "/") {
			p.refuse(at, fmt.Sprintf("%s is taken for the name of a volume; write ./%[1]s for a folder", name))
			continue
		}
		p.refuse(at, fmt.Sprintf("the volume %s is not declared under volumes; write ./%[1]s for a folder", name))
	}
}

// serviceKeys are the keys of a service (compose-spec, "Services top-level
// element").
var serviceKeys = strings.Fields(`annotations attach blkio_config build cap_add cap_drop cgroup cgroup_parent command configs container_name
	cpu_count cpu_percent cpu_period cpu_quota cpu_rt_period cpu_rt_runtime cpu_shares cpus cpuset credential_spec depends_on deploy
	develop device_cgroup_rules devices dns dns_opt dns_search domainname driver_opts entrypoint env_file environment
	expose extends external_links extra_hosts gpus group_add healthcheck hostname image init ipc isolation label_file
	labels links logging mac_address mem_limit mem_reservation mem_swappiness memswap_limit models network_mode networks
	oom_kill_disable oom_score_adj pid pids_limit platform ports post_start pre_stop privileged profiles provider
	pull_policy read_only restart runtime scale secrets security_opt shm_size stdin_open stop_grace_period stop_signal
	storage_opt sysctls tmpfs tty ulimits use_api_socket user userns_mode uts volume_driver volumes volumes_from
	working_dir`)

var knownKeys = sync.OnceValue(func() map[string]bool { return setOf(strings.Join(serviceKeys, " ")) })

// keys reports names that are near to a key; a newer Compose may have others.
func (p *checker) keys(s *Service) {
	known := knownKeys()
	for _, key := range []string{"build", "healthcheck", "deploy"} {
		p.keysBelow(s, key, known)
	}
	for _, m := range s.Members {
		if known[m.Name] {
			continue
		}
		if place := placeOf[m.Name]; place != "" {
			p.refuse(m.place(s.Doc), fmt.Sprintf("a service has no %q: it belongs below %s", m.Name, place))
			continue
		}
		if best := diag.Suggest(m.Name, serviceKeys); best != "" && best != m.Name && !strings.HasPrefix(m.Name, "x-") {
			p.refuse(m.place(s.Doc), fmt.Sprintf("a service has no %q; did you mean %s?", m.Name, best))
		}
	}
}

// keysOf are the keys below one of a service's (compose-spec.json).
var keysOf = map[string]map[string]bool{
	"build": setOf(`additional_contexts args cache_from cache_to context dockerfile dockerfile_inline entitlements extra_hosts isolation labels
		network no_cache no_cache_filter platforms privileged provenance pull sbom secrets shm_size ssh tags target ulimits`),
	"healthcheck": setOf("disable interval retries start_interval start_period test timeout"),
	"deploy":      setOf("endpoint_mode labels mode placement replicas resources restart_policy rollback_config update_config"),
}

// placeOf says below which key of a service some keys stand.
var placeOf = map[string]string{"context": "build", "dockerfile": "build", "target": "build", "args": "build", "test": "healthcheck",
	"interval": "healthcheck", "retries": "healthcheck", "timeout": "healthcheck", "start_period": "healthcheck", "replicas": "deploy",
	"resources": "deploy"}

// keysBelow reports keys of a service that stand below one of its keys, where they are indented too much.
func (p *checker) keysBelow(s *Service, key string, known map[string]bool) {
	n := s.Get(key)
	if n == nil {
		return
	}
	for _, m := range n.Members {
		if known[m.Name] && !keysOf[key][m.Name] {
			p.refuse(m.place(s.Doc), fmt.Sprintf("%s has no %q: it belongs to the service, so indent it less", key, m.Name))
		}
	}
}

// place is a member's name as a place; doc is for members of a map that several
// files make up.
func (m Member) place(doc *jsonc.Document) *Node {
	if m.Value != nil && m.Value.Doc != nil {
		doc = m.Value.Doc
	}
	return &Node{Doc: doc, Start: m.Start, End: m.End}
}

// names reads a list of names or a map by name.
func (n *Node) names() []Member {
	if n == nil {
		return nil
	}
	out := n.Members
	for _, i := range n.Items {
		if i.Kind == Scalar {
			out = append(out, Member{i.Text, i.Start, i.End, i})
		}
	}
	return out
}

// Walk calls visit for n and all below it.
func (n *Node) Walk(visit func(*Node)) {
	if n == nil {
		return
	}
	visit(n)
	for _, m := range n.Members {
		m.Value.Walk(visit)
	}
	for _, i := range n.Items {
		i.Walk(visit)
	}
}

// badVariable returns the first "${" of a text that begins no variable. A dollar
// sign before anything else stays as it is in newer versions of Compose.
func badVariable(s string) string {
	for i := 0; i+1 < len(s); i++ {
		if s[i] != '$' {
			continue
		}
		if s[i+1] != '{' {
			i++ // also of "$$"
			continue
		}
		end := matching(s, i+2)
		if end < 0 {
			return s[i:]
		}
		inner := s[i+2 : end]
		name := 0
		for name < len(inner) && isName(inner[name], name == 0) {
			name++
		}
		rest := strings.TrimPrefix(inner[name:], ":")
		if name == 0 || inner[name:] != "" && (rest == "" || !strings.ContainsAny(rest[:1], "-?+")) {
			return s[i : end+1]
		}
		i = end
	}
	return ""
}
