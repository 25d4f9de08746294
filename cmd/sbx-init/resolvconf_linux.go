package main

import (
	"net/netip"
	"os"
	"strings"
)

// resolvConf is the file that names the machine's resolvers.
const resolvConf = "/etc/resolv.conf"

// resolvers is what we use of a resolv.conf(5) file.
type resolvers struct {
	addrs  []netip.Addr
	search []string // lower case, no trailing dot
}

// readResolvers reads the file at path. A missing file names nobody, as for
// the C library.
func readResolvers(path string) (resolvers, error) {
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return resolvers{}, err
	}
	var r resolvers
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		switch fields[0] {
		case "nameserver":
			// A line that is no address is skipped, as the C library does.
			if addr, err := netip.ParseAddr(fields[1]); err == nil {
				r.addrs = append(r.addrs, addr)
			}
		case "search", "domain": // the last of either wins
			r.search = nil
			for _, domain := range fields[1:] {
				if domain = strings.ToLower(strings.Trim(domain, ".")); domain != "" {
					r.search = append(r.search, domain)
				}
			}
		}
	}
	return r, nil
}
