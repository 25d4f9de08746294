package main

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
)

// exitDenied is the exit code of check for a host that is not allowed.
const exitDenied = 1

// check says what the policy does with a host, with the matcher that enforces.
func (p *program) check(args []string) error {
	fs := newFlags("check")
	path := fs.String("policy", filepath.Join(filepath.Dir(defaultAudit), effectivePolicy), "")
	rest, err := parseFlags(fs, args)
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return usageError("check takes one HOST[:PORT]")
	}
	t, err := parseTarget(rest[0])
	if err != nil {
		return usageError("check: %w", err)
	}
	pol, err := p.loadPolicy(*path, nil)
	if err != nil {
		return err
	}
	d := t.decide(pol.Policy)
	word := "denied"
	if d.Allowed() {
		word = "allowed"
	}
	text := fmt.Sprintf("%s: %s\nreason: %s\n", word, rest[0], d.Reason)
	if d.Rule != "" {
		text += fmt.Sprintf("rule: %s\n", d.Rule)
	}
	if fix := t.fix(pol, d); fix != "" {
		text += fmt.Sprintf("to open it, add this line to \"allow\": %q\n", fix)
	}
	if _, err := fmt.Fprint(p.stdout, text); err != nil {
		return err
	}
	if !d.Allowed() {
		return exitWith(exitDenied, nil)
	}
	return nil
}

// target is what check was asked about: a name or an address.
type target struct {
	name  string
	addr  netip.Addr
	port  uint16 // 0 = any
	proto firewall.Proto
}

func parseTarget(s string) (target, error) {
	t := target{proto: firewall.TCP}
	s, proto, hasProto := strings.Cut(s, "/")
	if hasProto {
		if t.proto = firewall.Proto(proto); t.proto != firewall.TCP && t.proto != firewall.UDP {
			return t, fmt.Errorf("%q is neither tcp nor udp", proto)
		}
	}
	host, port := s, ""
	if addr, err := netip.ParseAddr(s); err == nil {
		t.addr = addr
		return t, nil
	}
	if i := strings.LastIndexByte(s, ':'); i >= 0 {
		host, port = s[:i], s[i+1:]
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return t, fmt.Errorf("%q is no port from 1 to 65535", port)
		}
		t.port = uint16(n)
	}
	if hasProto && t.port == 0 {
		return t, errors.New("a protocol needs a port: HOST:PORT/udp")
	}
	if addr, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		t.addr = addr
		return t, nil
	}
	var err error
	t.name, err = firewall.CanonicalName(host)
	return t, err
}

// decide asks the policy. A name without a port is allowed when it may be
// resolved; an address without a port when one of the two web ports is open.
func (t target) decide(p *firewall.Policy) firewall.Decision {
	switch {
	case t.name != "" && t.port == 0:
		return p.DecideName(t.name)
	case t.port == 0:
		if d := p.Decide("", t.addr, 443, t.proto); d.Allowed() {
			return d
		}
		return p.Decide("", t.addr, 80, t.proto)
	}
	return p.Decide(t.name, t.addr, t.port, t.proto)
}

// fix returns the entry that would open the target, or "" when it is open or
// no entry can, because "deny" has it. It tries the entry instead of guessing.
func (t target) fix(pol policy, d firewall.Decision) string {
	if d.Allowed() {
		return ""
	}
	host := t.name
	if host == "" {
		host = t.addr.String()
	}
	entry := audit.AllowEntry(host, t.port, t.proto)
	wider := pol.network
	wider.Allow = append(append([]string(nil), wider.Allow...), entry)
	p, errs := firewall.NewPolicy(wider)
	if len(errs) > 0 || !t.decide(p).Allowed() {
		return ""
	}
	return entry
}
