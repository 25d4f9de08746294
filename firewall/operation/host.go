package operation

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/firewall/hostname"
)

// webPort is the port of a typed entry that names none.
const webPort = 443

// parseHost reads the host of a typed entry: NAME or "*." NAME, and ":" PORT. An
// address is no host of one, for a certificate and a request name a site. message
// is "" when it is one.
func parseHost(text string) (h Host, message, hint string) {
	name, port, hasPort := strings.Cut(text, ":")
	h.Port = webPort
	if hasPort {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return h, fmt.Sprintf("%q is not a port", port), "use a port from 1 to 65535"
		}
		h.Port = uint16(n)
	}
	if _, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		return h, fmt.Sprintf("%q is an address, and operations are of a named site", text), "write the site's name"
	}
	name, h.Wildcard = strings.CutPrefix(name, "*.")
	if strings.ContainsAny(name, "/*@") {
		return h, fmt.Sprintf("%q is no host", text), ""
	}
	var err error
	if h.Name, err = hostname.Canonical(name); err != nil {
		return h, err.Error(), ""
	}
	return h, "", ""
}

// hostText writes the host of a request as an entry has it.
func hostText(req *Request) string {
	if req.Port == webPort {
		return req.Host
	}
	return req.Host + ":" + strconv.Itoa(int(req.Port))
}
