package credproxy

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"hash/maphash"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/org/claude-sandbox/credproxy/spending"
	"github.com/org/claude-sandbox/internal/diag"
)

// DefaultUpstream is the model API.
const DefaultUpstream = "https://api.anthropic.com"

// Limits of a request.
const (
	DefaultMaxBody = 32 << 20        // bytes; the API itself takes no more
	bodyTimeout    = 2 * time.Minute // to receive a request's body
)

// Options says where a Proxy forwards to and for whom.
type Options struct {
	Upstream     *url.URL   // required; https, or http on loopback
	Credential   Credential // required
	SessionToken string     // required; NewSessionToken

	// AllowHostedWeb lets the provider's own web search and web fetch through.
	// They read any page for the agent, whatever the firewall allows.
	AllowHostedWeb bool

	// Providers are further APIs that the agent may ask, each with its key.
	Providers []Provider
	// ProvidersToken is the session token for them; "" = SessionToken. It is worth nothing at
	// the model API.
	ProvidersToken string

	// Limits end a run that goes on past them.
	Limits Limits

	// Patience is for how long an upstream is asked again that answers nothing but 429, 500,
	// 502, 503, 504 or 529, before the agent hears of it; 0 = the agent hears at once, and asks
	// again itself.
	// After an answer to this run, one that cannot be connected to is asked again, too, and
	// once in a run the time begins anew.
	Patience time.Duration

	// Ledger is told all that the run spends, and knows what others spent; nil =
	// this run counts for itself.
	Ledger spending.Ledger

	// Warn gets a line for people when a limit is near, concurrently; nil =
	// no warnings.
	Warn func(string)

	Log     func(Entry)                           // called once for every request, concurrently; nil = no log
	MaxBody int64                                 // bytes; 0 = DefaultMaxBody
	Proxy   func(*http.Request) (*url.URL, error) // such as http.ProxyFromEnvironment; nil = connect directly
	RootCAs *x509.CertPool                        // nil = the system's
}

// Entry is what the log may know of a request: never a body, never a header.
type Entry struct {
	Method  string
	Path    string // as sent, at most 200 bytes, quoted when odd
	Status  int    // 0 = the client left before there was one
	Model   string // "" = the request names none
	Refused string // why the proxy itself refused or failed; "" = the upstream answered
	// Unreachable says that no answer of the upstream came at all: its port is
	// closed, its name is unknown, TLS failed, or the connection broke.
	Unreachable bool
}

// Proxy is an http.Handler. It is safe for concurrent use.
type Proxy struct {
	upstream   *url.URL
	credential Credential
	providers  providers
	token      [sha256.Size]byte
	log        func(Entry)
	maxBody    int64
	hostedWeb  bool
	buffered   atomic.Int64
	transport  *patientTransport
	blank      blank
	usage      meter
	limits     Limits
	budgets    []budget
	repeats    repeats
	warn       func(string)
	reading    chan struct{} // holds one value for each body that is being read
	// conversation remembers how the model answered.
	conversation conversation
}

// New returns a Proxy. It fails when a required option is missing or the
// credential would travel unencrypted to another machine.
func New(o Options) (*Proxy, error) {
	if err := CheckUpstream(o.Upstream); err != nil {
		return nil, err
	}
	if o.Credential.kind == noCredential {
		return nil, errors.New("the credential proxy has no credential")
	}
	if len(o.SessionToken) < 16 {
		return nil, errors.New("the credential proxy's session token is too short")
	}
	if o.SessionToken == o.Credential.secret {
		return nil, errors.New("the session token is the credential itself")
	}
	for _, b := range o.Limits.Budgets {
		if b.Per != spending.PerRun && o.Ledger == nil {
			return nil, fmt.Errorf("a budget per %q has no ledger", b.Per)
		}
	}
	providers, err := newProviders(o.Providers, cmp.Or(o.ProvidersToken, o.SessionToken))
	if err != nil {
		return nil, err
	}
	p := &Proxy{
		providers:  providers,
		upstream:   o.Upstream,
		credential: o.Credential,
		token:      sha256.Sum256([]byte(o.SessionToken)),
		log:        o.Log,
		maxBody:    o.MaxBody,
		hostedWeb:  o.AllowHostedWeb,
		limits:     o.Limits,
		budgets:    make([]budget, len(o.Limits.all())),
		repeats:    repeats{limit: o.Limits.Repeats, seed: maphash.MakeSeed()},
		warn:       o.Warn,
		usage:      meter{ledger: o.Ledger},
		reading:    make(chan struct{}, maxReading),
		transport: &patientTransport{patience: o.Patience, Transport: &http.Transport{
			Proxy:             o.Proxy,
			TLSClientConfig:   &tls.Config{RootCAs: o.RootCAs},
			ForceAttemptHTTP2: true,
			DialContext:       (&net.Dialer{Timeout: 15 * time.Second}).DialContext,
			// Compressed answers could not be searched for the credential.
			DisableCompression:  true,
			TLSHandshakeTimeout: 15 * time.Second,
			// An answer that is not streamed takes as long as the model does.
			ResponseHeaderTimeout: 15 * time.Minute,
			IdleConnTimeout:       90 * time.Second,
			MaxIdleConnsPerHost:   16,
		}},
	}
	for i, b := range o.Limits.all() {
		p.budgets[i].Budget = b
	}
	p.blank.secrets = func() []string {
		secrets := o.Credential.secrets()
		for _, one := range o.Providers {
			secrets = append(secrets, one.Key.secrets()...)
		}
		return secrets
	}
	p.blank.renew()
	if p.log == nil {
		p.log = func(Entry) {}
	}
	if p.warn == nil {
		p.warn = func(string) {}
	}
	if p.maxBody <= 0 {
		p.maxBody = DefaultMaxBody
	}
	return p, nil
}

// Usage returns the tokens used so far. The last answer is in it once its
// handler has returned, so close the tunnel first to have them all.
func (p *Proxy) Usage() Usage { return p.usage.total().Usage }

// Models returns what was spent so far by model, the dearest first, as CostUSD
// counts it.
func (p *Proxy) Models() []spending.Spent { return p.usage.models() }

// CostUSD returns what was spent so far, in US dollars at list price: the tokens
// that the upstream reported, by the price of the model that it names. For an
// answer that was cut it is an estimate, and the dearest price for a model that
// the table of prices does not hold.
func (p *Proxy) CostUSD() float64 { return p.usage.total().USD }

// LastAnswer returns how the newest request of Claude's main conversation was
// answered; the zero Answer when it was not, or not to its end. Close the tunnel
// first.
func (p *Proxy) LastAnswer() Answer { last, _, _ := p.conversation.state(); return last }

// HookOpen reports whether the newest request of a hook of Claude's was not
// answered to its end, or its answer calls tools of the sandbox. Close the tunnel
// first.
func (p *Proxy) HookOpen() bool { _, open, _ := p.conversation.state(); return open }

// Reached returns the limit for which requests were refused; "" = none.
func (p *Proxy) Reached() Reached { _, _, reached := p.conversation.state(); return reached }

// Answered counts the requests for a message that the upstream answered with
// a status of 2xx. An answer is counted before the agent receives it.
func (p *Proxy) Answered() int64 { return p.conversation.answered.Load() }

// Quiet waits until no request for a message is under way, so that the answers that were
// passed on are counted and known, or until ctx ends.
func (p *Proxy) Quiet(ctx context.Context) {
	look := time.NewTicker(quietPause)
	defer look.Stop()
	for p.conversation.busy() {
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}

// quietPause is the time between two looks of Quiet.
const quietPause = 5 * time.Millisecond

// Close drops idle connections to the upstream.
func (p *Proxy) Close() error { p.transport.CloseIdleConnections(); return nil }

// CheckUpstream errs for the address of an API to which no credential may go: one that is no URL
// of https, or of http on this machine.
func CheckUpstream(u *url.URL) error {
	if u == nil || u.Host == "" {
		return errors.New("the credential proxy has no upstream")
	}
	// Redacted: a password in the URL must not reach a terminal.
	fail := func(why string) error { return fmt.Errorf("the model API's address %s: %s", u.Redacted(), why) }
	switch {
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return fail("it must have no user, query or fragment")
	case u.Scheme == "https":
		return nil
	case u.Scheme != "http":
		return fail("it must begin with https://")
	case !loopback(u.Hostname()):
		return diag.WithHint(fail("the credential would travel unencrypted"), "use https://")
	}
	return nil
}

func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// authorized reports whether r carries the session token, as a bearer token
// or as X-Api-Key. Every credential that is there must be the token, once:
// readers that differ in which of two they take have nothing to differ on.
func (p *Proxy) authorized(r *http.Request) bool {
	bearer, keys := r.Header.Values("Authorization"), r.Header.Values("X-Api-Key")
	if len(bearer) > 1 || len(keys) > 1 || len(bearer)+len(keys) == 0 {
		return false
	}
	good, wanted := 1, p.token
	if strings.HasPrefix(r.URL.EscapedPath(), providersPath) {
		wanted = p.providers.token
	}
	for _, value := range bearer {
		scheme, token, _ := strings.Cut(value, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return false
		}
		good &= isToken(token, wanted)
	}
	for _, value := range keys {
		good &= isToken(value, wanted)
	}
	return good == 1
}

// isToken compares digests, in time that depends on neither text nor length.
func isToken(s string, token [sha256.Size]byte) int {
	sum := sha256.Sum256([]byte(s))
	return subtle.ConstantTimeCompare(sum[:], token[:])
}
