package firewall

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/firewall/hostname"
	"github.com/org/claude-sandbox/internal/diag"
)

// Target is what somebody asks a policy about: a name or an address, with or
// without a port.
type Target struct {
	Name  string     // canonical; "" for an address
	Addr  netip.Addr // not valid for a name
	Odd   string     // a number that programs read as an address, as it is written; then there is neither Name nor Addr
	Port  uint16     // 0 = not said
	Proto Proto
}

// ParseTarget reads HOST, HOST:PORT or HOST:PORT/udp, where HOST is a name, an
// address, or an IPv6 address in brackets. The error for a URL has the host to
// write as its hint. Numbers such as 2130706433 and 0x7f.1, which programs take for
// IPv4 addresses, are no error: they are what somebody tried, see Target.Odd.
func ParseTarget(s string) (Target, error) {
	t := Target{Proto: TCP}
	if scheme, rest, ok := strings.Cut(s, "://"); ok {
		return t, urlError(strings.ToLower(scheme), hostOfURL(rest))
	}
	s, proto, hasProto := strings.Cut(s, "/")
	if hasProto {
		if t.Proto = Proto(proto); t.Proto != TCP && t.Proto != UDP {
			return t, fmt.Errorf("%q is neither tcp nor udp", proto)
		}
	}
	host, bare := s, s
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		bare = s[1 : len(s)-1]
	}
	if addr, err := netip.ParseAddr(bare); err == nil {
		t.Addr = addr
		return t, nil
	}
	if i := strings.LastIndexByte(s, ':'); i >= 0 {
		host = s[:i]
		n, err := strconv.ParseUint(s[i+1:], 10, 16)
		if err != nil || n == 0 {
			return t, fmt.Errorf("%q is no port from 1 to 65535", s[i+1:])
		}
		t.Port = uint16(n)
	}
	if hasProto && t.Port == 0 {
		return t, errors.New("a protocol needs a port: HOST:PORT/udp")
	}
	if addr, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		t.Addr = addr
		return t, nil
	}
	var err error
	t.Name, err = CanonicalName(host)
	if errors.Is(err, hostname.ErrNumeric) {
		t.Odd, err = host, nil
	}
	return t, err
}

// schemePorts are the ports of the schemes that people paste.
var schemePorts = map[string]uint16{"http": 80, "ws": 80, "https": 443, "wss": 443, "ssh": 22, "git": 9418, "ftp": 21}

// urlError says what to write in the place of a URL.
func urlError(scheme, host string) error {
	err := errors.New("it is a URL")
	const advice = "give a host, or a host and a port"
	t, bad := ParseTarget(host)
	if bad != nil {
		return diag.WithHint(err, advice)
	}
	if port := schemePorts[scheme]; t.Port == 0 && port != 0 {
		if t.Name == "" && t.Addr.Is6() {
			host = "[" + strings.Trim(host, "[]") + "]"
		}
		host = fmt.Sprintf("%s:%d", host, port)
	}
	return diag.WithHint(err, "%s: %s", advice, host)
}

// Host returns the name, or the address as it is written.
func (t Target) Host() string {
	if t.Odd != "" || t.Name != "" {
		return cmp.Or(t.Odd, t.Name)
	}
	return t.Addr.String()
}

// Decide asks the policy. A name without a port is allowed when it may be
// resolved; an address without a port when one of the two web ports is open.
//
// A number that stands for an address is denied, whatever the address: no name and
// no entry is written so. Loopback is the sandbox's own.
func (t Target) Decide(p *Policy) Decision {
	if d, done := p.byMode(); done && d.Allowed() {
		return d
	}
	switch {
	case t.Odd != "":
		return Decision{Deny, "no such spelling", fmt.Sprintf("%q is no name and no usual form of an address%s", t.Odd, meantBy(t.Odd))}
	case t.Loopback():
		return Decision{Allow, RuleLoopback, t.Host() + " is the sandbox itself: loopback is always open inside it"}
	case t.Name != "" && t.Port == 0:
		return p.DecideName(t.Name)
	case t.Port == 0:
		if d := p.Decide("", t.Addr, 443, t.Proto); d.Allowed() {
			return d
		}
		return p.Decide("", t.Addr, 80, t.Proto)
	}
	return p.Decide(t.Name, t.Addr, t.Port, t.Proto)
}

// Loopback reports whether the target is the sandbox itself. The container engine's
// resolver is not, though its address is a loopback one. Names below localhost are
// loopback's (RFC 6761 section 6.3).
func (t Target) Loopback() bool {
	if t.Addr.IsValid() {
		addr := t.Addr.Unmap().WithZone("")
		return addr.IsLoopback() && addr != engineResolver
	}
	return t.Name == "localhost" || strings.HasSuffix(t.Name, ".localhost")
}

// meantBy says for which address programs take a number, as inet_aton(3) does: up
// to four parts, each decimal, octal or hexadecimal, of which the last fills the
// bytes that are left. It is "" for what is no address.
func meantBy(number string) string {
	parts := strings.Split(strings.TrimSuffix(number, "."), ".")
	if len(parts) > 4 {
		return ""
	}
	var addr uint64
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 0, 32)
		bits := 8
		if i == len(parts)-1 {
			bits = 32 - 8*i
		}
		if err != nil || n >= 1<<bits {
			return ""
		}
		addr = addr<<bits | n
	}
	meant := netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, uint32(addr))))
	return fmt.Sprintf(": programs read it as %s, so ask about that", meant)
}

// Mentioned returns the ports that entries matching the target speak of, in
// allow or in deny, sorted, each once.
func (p *Policy) Mentioned(t Target) []Port {
	var ports []Port
	collect := func(e *entry) bool {
		ports = append(ports, e.ports...)
		return true
	}
	for _, m := range []*matcher{&p.allow, &p.deny} {
		if t.Name != "" {
			m.byName(t.Name, collect)
		} else {
			m.byAddr(t.Addr.Unmap().WithZone(""), collect)
		}
	}
	sortPorts(ports)
	return slices.Compact(ports)
}

// MayBePrivate returns the entry of "private" by which name may lead to private
// addresses, "" when there is none.
func (p *Policy) MayBePrivate(name string) string {
	if e := p.private.name(name, anyEntry); e != nil {
		return e.rule
	}
	return ""
}
