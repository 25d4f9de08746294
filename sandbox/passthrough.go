package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/tunnel"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/workspace"
)

// Passthrough is one MCP server that runs on this machine and that the agent may ask, by
// streamable HTTP. Every program in the sandbox may.
type Passthrough struct {
	Name   string
	URL    *url.URL // requests go to this address and path, and to no other
	Socket string   // where it listens, instead of the host of URL; "" = there
}

// passthroughPath begins the paths by which the tunnel leads to passthroughs.
const passthroughPath = "/mcp-passthrough/"

// maxPassthrough bounds one request to a passthrough, in bytes.
const maxPassthrough = 32 << 20

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
	if err != nil || u.Scheme != "http" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Port() == "" {
		return fail("it is no http address with a port")
	}
	if addr, err := netip.ParseAddr(u.Hostname()); u.Hostname() != "localhost" && (err != nil || !addr.IsLoopback()) {
		return fail("it is not on this machine; open other hosts with --allow")
	}
	return Passthrough{Name: name, URL: u}, nil
}

// server is how Claude is told of it.
func (p Passthrough) server() settings.MCPServer {
	return settings.MCPServer{Name: p.Name, Type: "http", URL: "http://" + tunnel.ListenAddress + passthroughPath + p.Name}
}

// handler leads requests to the server, with nothing of the sandbox's but what they ask.
func (p Passthrough) handler() http.Handler {
	transport := &http.Transport{DisableCompression: true} // and no proxy of the environment
	if p.Socket != "" {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", p.Socket)
		}
	}
	return &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			target := *p.URL
			r.Out.URL, r.Out.Host = &target, target.Host
			if r.Out.Body != nil {
				r.Out.Body = http.MaxBytesReader(nil, r.Out.Body, maxPassthrough)
			}
			for _, name := range []string{"Origin", "Referer", "Cookie", "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
				r.Out.Header.Del(name)
			}
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
				w.WriteHeader(http.StatusRequestEntityTooLarge)
				return
			}
			w.WriteHeader(http.StatusBadGateway)
		},
	}
}

// answerTimeout bounds the wait for a server of this machine.
const answerTimeout = 3 * time.Second

// answers errs when nobody listens where the server is said to be: the agent would work
// without it, and nobody would know.
func (p Passthrough) answers(ctx context.Context) error {
	network, address := "tcp", p.URL.Host
	if p.Socket != "" {
		network, address = "unix", p.Socket
	}
	conn, err := (&net.Dialer{Timeout: answerTimeout}).DialContext(ctx, network, address)
	if err != nil {
		return diag.WithHint(fmt.Errorf("%w: the MCP server %s does not answer: %w", workspace.ErrInput, p.Name, err),
			"start it first, or leave out --mcp-passthrough %s=…", p.Name)
	}
	return conn.Close()
}

// passthroughs is next, and the servers of this machine's that the run may ask.
func (p *Plan) passthroughs(next http.Handler) http.Handler {
	handlers := map[string]http.Handler{}
	for _, one := range p.asked.Passthroughs {
		handlers[passthroughPath+one.Name] = one.handler()
	}
	methods := []string{http.MethodGet, http.MethodPost, http.MethodDelete}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := handlers[r.URL.EscapedPath()] // as it came: nothing is cleaned or decoded
		switch {
		case to == nil:
			next.ServeHTTP(w, r)
		case !slices.Contains(methods, r.Method):
			w.WriteHeader(http.StatusMethodNotAllowed)
		default:
			to.ServeHTTP(w, r)
		}
	})
}

// tunneled answers what comes through the tunnel, with model for the model API. Claude keeps
// a request to a passthrough open for as long as it runs: only those to the model say that
// it does something.
func (r *run) tunneled(model http.Handler) http.Handler {
	return r.plan.passthroughs(r.activity.handler(model))
}
