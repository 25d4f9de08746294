package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"time"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/workspace"
)

// maxPassthrough bounds one request to a passthrough, in bytes.
const maxPassthrough = 32 << 20

// passthroughHandler leads requests to the server, with nothing of the sandbox's but what they ask.
func passthroughHandler(p runplan.Passthrough) http.Handler {
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

// passthroughAnswers errs when no server listens at its address: the agent would work without
// it, and the user would not know.
func passthroughAnswers(ctx context.Context, p runplan.Passthrough) error {
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
func passthroughs(list []runplan.Passthrough, next http.Handler) http.Handler {
	handlers := map[string]http.Handler{}
	for _, one := range list {
		handlers[runplan.PassthroughPath+one.Name] = passthroughHandler(one)
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
func tunneled(list []runplan.Passthrough, does *activity, model http.Handler) http.Handler {
	return passthroughs(list, does.handler(model))
}
