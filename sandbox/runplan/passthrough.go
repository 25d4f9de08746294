package runplan

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/tunnel"
	"github.com/org/claude-sandbox/settings"
)

// Passthrough is one MCP server that runs on this machine and that the agent may ask, by
// streamable HTTP. Every program in the sandbox may.
type Passthrough struct {
	Name   string
	URL    *url.URL // requests go to this address and path, and to no other
	Socket string   // where it listens, instead of the host of URL; "" = there
}

// PassthroughPath begins the paths by which the tunnel leads to passthroughs.
const PassthroughPath = "/mcp-passthrough/"

// ParsePassthrough reads NAME=http://127.0.0.1:PORT/PATH or NAME=unix:/PATH/OF/SOCKET, whose
// requests go to /mcp.
func ParsePassthrough(text string) (Passthrough, error) {
	name, to, _ := strings.Cut(text, "=")
	fail := func(why string) (Passthrough, error) {
		return Passthrough{}, diag.WithHint(fmt.Errorf("%q: %s", text, why), "accepted: NAME=http://127.0.0.1:PORT/PATH or NAME=unix:/PATH")
	}
	if !settings.IsMCPName(name) {
		return fail("the name has letters, digits, _ and -")
	}
	if socket, ok := strings.CutPrefix(to, "unix:"); ok {
		if !strings.HasPrefix(socket, "/") {
			return fail("the path of the socket is not absolute")
		}
		return Passthrough{name, &url.URL{Scheme: "http", Host: "localhost", Path: "/mcp"}, socket}, nil
	}
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "http" || u.Port() == "" || !isPlain(u) {
		return fail("it is no http address with a port")
	}
	if addr, err := netip.ParseAddr(u.Hostname()); u.Hostname() != "localhost" && (err != nil || !addr.IsLoopback()) {
		return fail("it is not on this machine; open other hosts with --allow")
	}
	return Passthrough{Name: name, URL: u}, nil
}

// isPlain reports whether an address has no user, query or fragment.
func isPlain(u *url.URL) bool { return u.User == nil && u.RawQuery == "" && u.Fragment == "" }

// server is how Claude is told of it.
func (p Passthrough) server() settings.MCPServer {
	return settings.MCPServer{Name: p.Name, Type: "http", URL: "http://" + tunnel.ListenAddress + PassthroughPath + p.Name}
}
