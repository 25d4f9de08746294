package live

import (
	"fmt"
	"strings"
	"time"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/credential"
	"github.com/org/claude-sandbox/internal/visible"
)

// Status is what the running firewall says of itself. Its JSON form is stable:
// fields are added, never changed.
type Status struct {
	SchemaVersion int            `json:"schemaVersion"`
	Ready         bool           `json:"ready"`
	Topology      string         `json:"topology"` // of Options
	Mode          firewall.Mode  `json:"mode"`
	Backend       string         `json:"backend"` // "nft" or "legacy"
	IPv6          bool           `json:"ipv6"`
	Started       time.Time      `json:"started"`
	Policy        PolicyStatus   `json:"policy"`
	Resolver      ResolverStatus `json:"resolver"`
	Guard         GuardStatus    `json:"guard"`
	Allowed       int64          `json:"allowed"` // decisions since the start
	Denied        int64          `json:"denied"`
	Drift         DriftStatus    `json:"drift"`
	// Keys are those that this process holds, without their values, and what they did
	// since the start.
	Keys  []credential.Use `json:"keys,omitempty"`
	Error string           `json:"error,omitempty"` // why it is not ready
}

// PolicyStatus is about the policy in force.
type PolicyStatus struct {
	File    string    `json:"file"`
	SHA256  string    `json:"sha256"` // of the file and the lists that it names
	Since   time.Time `json:"since"`
	Reloads int       `json:"reloads"`
}

// ResolverStatus is about the resolver.
type ResolverStatus struct {
	Port      uint16   `json:"port"` // 0 = no policy has needed it yet
	Upstreams []string `json:"upstreams"`
}

// GuardStatus is about the guard.
type GuardStatus struct {
	On   bool   `json:"on"`   // the policy in force asks it
	Port uint16 `json:"port"` // 0 = it is not on
}

// DriftStatus is about rules that another program changed.
type DriftStatus struct {
	Restored int        `json:"restored"` // how often they were restored
	Last     *time.Time `json:"last,omitempty"`
}

// Status says what the firewall does. It waits for a change that is under way.
func (f *Firewall) Status() Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := f.options.Kernel
	s := Status{
		SchemaVersion: 1,
		Ready:         f.drift.broken == nil,
		Topology:      f.options.Topology,
		Mode:          f.now.policy.Mode(),
		Backend:       string(k.Backend()),
		IPv6:          k.Facts().IPv6,
		Started:       f.started.UTC(),
		Policy:        PolicyStatus{f.now.policy.File, f.now.policy.SHA256, f.now.since.UTC(), f.now.reloads},
		Resolver:      ResolverStatus{portOf(f.servers.resolverAt), []string{}},
		Allowed:       f.decisions.allowed.Load(),
		Denied:        f.decisions.denied.Load(),
		Drift:         DriftStatus{Restored: f.drift.restored},
		Keys:          f.servers.uses(),
	}
	if f.now.policy.Guarded() {
		s.Guard = GuardStatus{true, portOf(f.servers.guardAt)}
	}
	for _, a := range f.options.Resolvers.Addrs {
		s.Resolver.Upstreams = append(s.Resolver.Upstreams, a.String())
	}
	if f.drift.restored > 0 {
		last := f.drift.last.UTC()
		s.Drift.Last = &last
	}
	if f.drift.broken != nil {
		s.Error = visible.Folded(f.drift.broken.Error())
	}
	return s
}

// Text is the status for people, some lines in local time.
func (s Status) Text() string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-10s %s\n", name, fmt.Sprintf(format, args...))
	}
	when := func(t time.Time) string { return t.Local().Format(time.DateTime) }
	line("ready", "%t", s.Ready)
	if s.Error != "" {
		line("error", "%s", s.Error)
	}
	line("topology", "%s", s.Topology)
	line("mode", "%s", s.Mode)
	line("backend", "iptables-%s, IPv6 %t", s.Backend, s.IPv6)
	line("policy", "%s (sha256 %.12s), since %s, reloaded %d times", s.Policy.File, s.Policy.SHA256, when(s.Policy.Since), s.Policy.Reloads)
	if s.Resolver.Port != 0 {
		line("resolver", "port %d, asks %s", s.Resolver.Port, strings.Join(s.Resolver.Upstreams, ", "))
	}
	switch {
	case s.Guard.On:
		line("guard", "port %d", s.Guard.Port)
	default:
		line("guard", "off")
	}
	line("decisions", "%d allowed, %d denied since %s", s.Allowed, s.Denied, when(s.Started))
	for _, key := range s.Keys {
		n := 0
		for _, r := range key.Requests {
			n += r.Count
		}
		line("key", "%s, for %s: went with %s", visible.Line(key.Name), visible.Line(key.For), visible.Count(n, "request"))
	}
	drift := fmt.Sprintf("restored %d times", s.Drift.Restored)
	if s.Drift.Last != nil {
		drift += ", last at " + when(*s.Drift.Last)
	}
	line("drift", "%s", drift)
	return b.String()
}
