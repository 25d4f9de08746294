package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/org/claude-sandbox/internal/diag"
)

// maxManifest bounds a manifest; registries refuse more than 4 MiB.
const maxManifest = 4 << 20

// Options are the effects that a client works with. All but Notice are required.
type Options struct {
	Credentials Credentials
	Transport   http.RoundTripper
	// Sleep waits before a repetition, or until the context ends.
	Sleep func(context.Context, time.Duration) error
	// Stall is how long a transfer may stand still before it is begun again.
	Stall time.Duration
	// Notice tells people about a repetition; nil = silent.
	Notice func(string)
}

// Real returns the options of a client for the world: a transport of its own
// and the wall clock.
func Real(c Credentials, notice func(string)) Options {
	return Options{
		Credentials: c,
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			ForceAttemptHTTP2:     true,
			MaxIdleConns:          64,
			MaxIdleConnsPerHost:   16,
			IdleConnTimeout:       90 * time.Second,
			TLSHandshakeTimeout:   20 * time.Second,
			ResponseHeaderTimeout: 5 * time.Minute, // committing a large blob takes a registry a while
			WriteBufferSize:       128 << 10,
			ReadBufferSize:        64 << 10,
		},
		Sleep: func(ctx context.Context, d time.Duration) error {
			t := time.NewTimer(d)
			defer t.Stop()
			select {
			case <-t.C:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		},
		Stall:  2 * time.Minute,
		Notice: notice,
	}
}

// Client talks to one repository. It is safe for concurrent use.
type Client struct {
	repo        name.Repository
	http        *http.Client
	o           Options
	source      string // where the credentials came from, for messages
	requests    atomic.Int64
	noReferrers atomic.Bool // the registry has no referrers API
}

// Dial finds credentials for the repository (REGISTRY/NAME) and logs in, for
// reading or, with push, also for writing. from are further repositories of the
// same registry that blobs may be mounted from.
func Dial(ctx context.Context, repo string, push bool, from []string, o Options) (*Client, error) {
	parsed, err := name.NewRepository(repo)
	if strings.Contains(repo, "://") {
		_, err = name.ParseReference(repo) // which alone refuses an address
	}
	if err != nil {
		return nil, diag.WithHint(fmt.Errorf("reading the repository %q: %w", repo, err),
			"write it as REGISTRY/NAME, for example ghcr.io/me/sandbox")
	}
	auth, source, err := o.Credentials.For(ctx, parsed)
	if err != nil {
		return nil, err
	}
	scope := transport.PullScope
	if push {
		scope = transport.PushScope
	}
	scopes := []string{parsed.Scope(scope)}
	for _, f := range from {
		if other, err := name.NewRepository(f); err == nil && other.RegistryStr() == parsed.RegistryStr() {
			scopes = append(scopes, other.Scope(transport.PullScope))
		}
	}
	c := &Client{repo: parsed, o: o, source: source}
	err = c.try(ctx, "logging in", func() error {
		rt, err := transport.NewWithContext(ctx, parsed.Registry, auth, transport.NewUserAgent(counting{o.Transport, &c.requests}, "sbx-devc"),
			scopes)
		if err == nil {
			c.http = &http.Client{Transport: rt}
		}
		return fromTransport(err)
	})
	if err != nil {
		return nil, c.explain("logging in to", parsed.RegistryStr(), err)
	}
	return c, nil
}

// Name returns the repository, REGISTRY/NAME.
func (c *Client) Name() string { return c.repo.Name() }

// Requests returns the number of HTTP requests so far.
func (c *Client) Requests() int64 { return c.requests.Load() }

type counting struct {
	inner http.RoundTripper
	n     *atomic.Int64
}

func (t counting) RoundTrip(r *http.Request) (*http.Response, error) {
	t.n.Add(1)
	return t.inner.RoundTrip(r)
}

func (c *Client) url(format string, args ...any) string {
	return c.repo.Scheme() + "://" + c.repo.RegistryStr() + "/v2/" + c.repo.RepositoryStr() + "/" + fmt.Sprintf(format, args...)
}

// send makes one request. The answer has one of the wanted codes; any other is
// a *Status and its body is closed.
func (c *Client) send(req *http.Request, want ...int) (*http.Response, error) {
	resp, err := c.http.Do(req)
	if err != nil {
		// The query of an upload's or a download's address can be a credential:
		// the registry's state, a store's signature.
		var at *url.Error
		if errors.As(err, &at) {
			at.URL, _, _ = strings.Cut(at.URL, "?")
		}
		return nil, fromTransport(err)
	}
	for _, code := range want {
		if resp.StatusCode == code {
			return resp, nil
		}
	}
	defer resp.Body.Close()
	return nil, readStatus(resp)
}

func (c *Client) do(
	ctx context.Context, method, address string, header map[string]string, body []byte, want ...int,
) (*http.Response, error) {
	var r io.Reader
	if body != nil {
		r = strings.NewReader(string(body))
	}
	req, err := http.NewRequestWithContext(ctx, method, address, r)
	if err != nil {
		return nil, err
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	resp, err := c.send(req, want...)
	if s := statusOf(err); s != nil && method == http.MethodHead && s.Code == http.StatusForbidden {
		// An answer to HEAD has no body, and only the body tells "later" from "never".
		req = req.Clone(ctx)
		req.Method = http.MethodGet
		req.Header.Set("Range", "bytes=0-0")
		full, fullErr := c.send(req, http.StatusOK, http.StatusPartialContent)
		if fullErr == nil {
			full.Body.Close()
			return nil, &garbled{fmt.Errorf("%w to HEAD, and not to GET", err)}
		}
		return nil, fullErr
	}
	return resp, err
}
