package live

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
)

// ResolvConf is the file that names the machine's resolvers.
const ResolvConf = "/etc/resolv.conf"

// Resolvers is what we use of a resolv.conf(5) file.
type Resolvers struct {
	Addrs  []netip.Addr
	Search []string // lower case, no trailing dot
}

// Servers are the resolvers' addresses with their port.
func (r Resolvers) Servers() []netip.AddrPort {
	out := make([]netip.AddrPort, len(r.Addrs))
	for i, a := range r.Addrs {
		out[i] = netip.AddrPortFrom(a, 53)
	}
	return out
}

// ReadResolvers reads the file at path. A missing file names no resolver, as for
// the C library.
func ReadResolvers(path string) (Resolvers, error) {
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return Resolvers{}, err
	}
	var r Resolvers
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		switch fields[0] {
		case "nameserver":
			// A line that is no address is skipped, as the C library does.
			if addr, err := netip.ParseAddr(fields[1]); err == nil {
				r.Addrs = append(r.Addrs, addr)
			}
		case "search", "domain": // the last of either wins
			r.Search = nil
			for _, domain := range fields[1:] {
				if domain = strings.ToLower(strings.Trim(domain, ".")); domain != "" {
					r.Search = append(r.Search, domain)
				}
			}
		}
	}
	return r, nil
}

// portRange is the file with the ports that the kernel gives to sockets that
// ask for none in particular (ip(7), ip_local_port_range).
const portRange = "/proc/sys/net/ipv4/ip_local_port_range"

// Ports that need no right, and how many there must be at least to guess among.
const (
	firstFreePort = 1024
	enoughPorts   = 4096
)

// portsOutside returns the larger range of ports below or above the one in the
// file, for the resolver's own questions; 0 when neither is large enough.
func portsOutside(path string) (first, last uint16, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, 0, fmt.Errorf("finding ports for the resolver's questions: %w", err)
	}
	var low, high int
	if _, err := fmt.Sscan(string(text), &low, &high); err != nil {
		return 0, 0, fmt.Errorf("finding ports for the resolver's questions: %q: %w", text, err)
	}
	below, above := low-firstFreePort, 65535-high
	switch {
	case below >= above && below >= enoughPorts:
		return firstFreePort, uint16(low - 1), nil
	case above >= enoughPorts:
		return uint16(high + 1), 65535, nil
	}
	return 0, 0, nil
}
