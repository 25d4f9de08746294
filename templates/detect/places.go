package detect

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/firewall"
)

// places knows which well-known list a host is on.
type places struct{ lists []list }

type list struct {
	preset string
	policy *firewall.Policy
}

// wellKnown are the presets that a file's mention of a host may bring in
// without a person's word: package ecosystems and git hosting. Everything else
// that exists as a preset is still a host that somebody has to agree to.
func wellKnown() []string {
	names := []string{"github", "gitlab", "bitbucket"}
	for _, lang := range languages {
		for _, group := range lang.presets {
			if preset := existing(group); preset != "" {
				names = append(names, preset)
			}
		}
	}
	return names
}

func newPlaces() *places {
	p := &places{}
	for _, name := range wellKnown() {
		if policy, bad := firewall.Closed().With(firewall.Network{Presets: []string{name}}); len(bad) == 0 {
			p.lists = append(p.lists, list{name, policy})
		}
	}
	return p
}

// of returns the well-known list that covers the host and port, or "".
func (p *places) of(host string, port uint16) string {
	for _, l := range p.lists {
		if l.policy.Decide(host, netip.Addr{}, port, firewall.TCP).Allowed() {
			return l.preset
		}
	}
	return ""
}

// offer proposes the place that an address in a file names: its well-known
// list, or the host itself. It keeps only host and port of the address; it
// does not look at a user and a password in it.
func (l *look) offer(address, reason, file string, line int) {
	host, port, ok := splitAddress(address)
	if !ok {
		return
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		l.note(file, line, "the address %s (%s) is not proposed; --allow takes addresses too", addr, reason)
		return
	}
	name, err := firewall.CanonicalName(host)
	if err != nil || !strings.Contains(name, ".") {
		return // localhost, a container's name, or no name at all
	}
	if preset := l.places.of(name, port); preset != "" {
		add(&l.report.Presets, Proposal{Value: preset, Reason: reason, File: file, Line: line})
		return
	}
	entry := name
	if port != 443 && port != 80 {
		entry = fmt.Sprintf("%s:%d", name, port)
	}
	if firewall.ValidAllow(entry) {
		add(&l.report.Hosts, Proposal{Value: entry, Reason: reason, File: file, Line: line})
	}
}

// splitAddress reads https://host[:port]/…, ssh://[user@]host[:port]/… and
// git's short form user@host:path.
func splitAddress(address string) (host string, port uint16, ok bool) {
	address = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(address), "sparse+"), "git+")
	if !strings.Contains(address, "://") {
		userHost, _, found := strings.Cut(address, ":")
		_, host, hasUser := strings.Cut(userHost, "@")
		return host, 22, found && hasUser && host != ""
	}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return "", 0, false
	}
	switch u.Scheme {
	case "https":
		port = 443
	case "http":
		port = 80
	case "ssh":
		port = 22
	case "git":
		port = 9418
	default:
		return "", 0, false
	}
	if p := u.Port(); p != "" {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 {
			return "", 0, false
		}
		port = uint16(n)
	}
	return u.Hostname(), port, true
}
