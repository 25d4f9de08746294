package tunnel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"time"

	"github.com/org/claude-sandbox/internal/apierror"
)

// ListenAddress is where the guest listens unless told otherwise: loopback of
// the network namespace that the agent's container shares.
const ListenAddress = "127.0.0.1:8790"

// goodbye is how long requests under way get to be answered with 502 after the
// stream died.
const goodbye = 2 * time.Second

// ServeGuest listens on listen ("127.0.0.1:8790") and forwards every request
// over stdin and stdout to the host. Nothing else may write to stdout. It
// returns nil when ctx ends or the host ends the stream, and an error when the
// port cannot be opened or the stream fails or holds no tunnel.
//
// A handler on the host should read a body before it answers: once an answer
// begins, the rest of an HTTP/1 body is lost. (net/http's full-duplex mode
// would keep it, but panics when a body is not read to its end, as of Go
// 1.26, and an early refusal must reach the client.)
//
// It closes stdin and stdout if they are io.Closers.
func ServeGuest(ctx context.Context, listen string, stdin io.Reader, stdout io.Writer) error {
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("opening the tunnel's port: %w", err)
	}
	return serveGuest(ctx, listener, stdin, stdout)
}

func serveGuest(ctx context.Context, listener net.Listener, stdin io.Reader, stdout io.Writer) error {
	conn := newStreamConn(stdin, stdout, func() error { return errors.Join(closeIf(stdin), closeIf(stdout)) })
	defer conn.Close()
	transport := hostTransport(conn)
	quiet := log.New(io.Discard, "", 0) // stdout is the stream and stderr the engine's
	server := &http.Server{
		Handler: forward(&httputil.ReverseProxy{
			Transport:     transport,
			FlushInterval: -1, // server-sent events must arrive as they are sent
			ErrorLog:      quiet,
			Rewrite: func(pr *httputil.ProxyRequest) {
				pr.Out.URL.Scheme, pr.Out.URL.Host, pr.Out.Host = "http", streamHost, agentHost
			},
			ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
				apierror.Write(w, http.StatusBadGateway, apierror.API, "the tunnel to the host is broken: "+err.Error())
			},
		}),
		ReadHeaderTimeout: 30 * time.Second,
		ErrorLog:          quiet,
	}
	served := make(chan struct{})
	go func() {
		_ = server.Serve(listener) // ends with Shutdown or Close below
		close(served)
	}()
	defer func() { _ = server.Close(); <-served }()

	if err := announce(ctx, transport); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case <-conn.done:
	}
	// Let requests that the dead stream broke get their answer. A request that
	// comes now fails at once: the transport has no connection.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	_ = server.Shutdown(last)
	if conn.err != nil {
		return fmt.Errorf("the tunnel's stream failed: %w", conn.err)
	}
	return nil
}

// announce tells the host that the port is open. It also makes the transport
// connect and read, so that the end of the stream is noticed from now on.
func announce(ctx context.Context, transport http.RoundTripper) error {
	body, heard := io.Pipe()
	defer heard.Close()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+streamHost+readyPath, body)
	if err != nil {
		return err
	}
	req.Host = readyHost
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return fmt.Errorf("no tunnel host on standard input and output: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the tunnel's host answered %s", resp.Status)
	}
	_ = heard.Close()                     // a PipeWriter's Close never fails
	_, _ = io.Copy(io.Discard, resp.Body) // the host may be gone already; that is its right
	return nil
}

// hostTransport speaks HTTP/2 on conn and never dials anything else.
func hostTransport(conn *streamConn) *http.Transport {
	first := make(chan net.Conn, 1)
	first <- conn
	return &http.Transport{
		Protocols:          onlyHTTP2(),
		HTTP2:              http2Config(),
		DisableCompression: true, // bodies pass as they are
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			select {
			case c := <-first:
				return c, nil
			default:
			}
			// The transport dials again when a request comes after the first
			// one has begun but before the connection is in its pool. It
			// takes whichever is there first, so this must not fail.
			select {
			case <-conn.done:
				return nil, errors.New("the host has ended it")
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
	}
}

// forward refuses what is meant for a proxy and hands the rest to next: the
// tunnel is no way to other hosts, whatever handler serves at its end.
func forward(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodConnect || !strings.HasPrefix(r.RequestURI, "/") {
			apierror.Write(w, http.StatusForbidden, apierror.Permission, "this is not a forward proxy")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func closeIf(stream any) error {
	if c, ok := stream.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
