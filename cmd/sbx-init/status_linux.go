package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/visible"
)

// status is what the running firewall says of itself. Its JSON form is stable:
// fields are added, never changed.
type status struct {
	SchemaVersion int            `json:"schemaVersion"`
	Ready         bool           `json:"ready"`
	Topology      string         `json:"topology"` // "single" or "sidecar"
	Mode          firewall.Mode  `json:"mode"`
	Backend       string         `json:"backend"` // "nft" or "legacy"
	IPv6          bool           `json:"ipv6"`
	Started       time.Time      `json:"started"`
	Policy        policyStatus   `json:"policy"`
	Resolver      resolverStatus `json:"resolver"`
	Guard         guardStatus    `json:"guard"`
	Allowed       int64          `json:"allowed"` // decisions since the start
	Denied        int64          `json:"denied"`
	Drift         driftStatus    `json:"drift"`
	Error         string         `json:"error,omitempty"` // why it is not ready
}

type policyStatus struct {
	File    string    `json:"file"`
	SHA256  string    `json:"sha256"` // of the file and the lists that it names
	Since   time.Time `json:"since"`
	Reloads int       `json:"reloads"`
}

type resolverStatus struct {
	Port      uint16   `json:"port"` // 0 = there is none
	Upstreams []string `json:"upstreams"`
}

type guardStatus struct {
	On   bool   `json:"on"`   // the policy in force asks it
	Port uint16 `json:"port"` // 0 = no policy has needed it yet
}

type driftStatus struct {
	Restored int        `json:"restored"` // how often rules that somebody changed were restored
	Last     *time.Time `json:"last,omitempty"`
}

func (k *keeper) status() status {
	w := k.wall
	s := status{
		SchemaVersion: 1,
		Ready:         k.broken == nil,
		Topology:      "single",
		Mode:          w.policy.Mode(),
		Backend:       string(w.kernel.Backend()),
		IPv6:          w.facts.IPv6,
		Started:       k.started.UTC(),
		Policy:        policyStatus{k.options.policy, w.policy.hash, k.since.UTC(), k.reloads},
		Resolver:      resolverStatus{w.facts.ResolverPort, []string{}},
		Allowed:       w.count.allowed.Load(),
		Denied:        w.count.denied.Load(),
		Drift:         driftStatus{Restored: k.restored},
	}
	if w.policy.Guarded() {
		s.Guard = guardStatus{true, w.facts.GuardPort}
	}
	if k.options.sidecar {
		s.Topology = "sidecar"
	}
	for _, u := range w.upstreams.addrs {
		s.Resolver.Upstreams = append(s.Resolver.Upstreams, u.String())
	}
	if k.restored > 0 {
		last := k.lastDrift.UTC()
		s.Drift.Last = &last
	}
	if k.broken != nil {
		s.Error = visible.Folded(k.broken.Error())
	}
	return s
}

func (s status) write(w io.Writer) error { return json.NewEncoder(w).Encode(s) }

// statusText writes a status, given as JSON, for people.
func statusText(text string) (string, error) {
	var s status
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return "", fmt.Errorf("reading the firewall's status: %w", err)
	}
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
	drift := fmt.Sprintf("restored %d times", s.Drift.Restored)
	if s.Drift.Last != nil {
		drift += ", last at " + when(*s.Drift.Last)
	}
	line("drift", "%s", drift)
	return b.String(), nil
}
