package credproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Waits between two tries of a request, when the upstream does not say how long.
const (
	firstWait = time.Second
	maxWait   = 30 * time.Second
	leastWait = 100 * time.Millisecond // also where the upstream says less
)

// passing are the answers of an upstream that is overloaded, or fails for a while.
var passing = []int{
	http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable,
	http.StatusGatewayTimeout, 529,
}

// outage is a time in which the upstream has answered nothing but failures that pass. It is
// one for all requests of a run, so that patience is not given to each anew.
type outage struct {
	mu    sync.Mutex
	since time.Time // zero = there is none
	told  news
	again bool // patience came to its end once before, after progress
}

// heard takes an answer, nil where the upstream could not be reached, and returns how long
// to wait before the request is sent again; again is false for an answer that the agent gets.
// over says that patience has come to its end: to ask again is of no use; wait is then what
// the upstream asks for, if it does. progress says that the upstream has answered this run
// before: once in a run patience begins anew then, because the work would be lost.
func (o *outage) heard(now time.Time, patience time.Duration, try int, progress bool, resp *http.Response) (
	wait time.Duration, again, over bool) {
	if patience <= 0 || resp == nil && !progress {
		return 0, false, false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	var header http.Header
	if resp != nil {
		header = resp.Header
	}
	switch {
	case resp != nil && !slices.Contains(passing, resp.StatusCode):
		o.since, o.told = time.Time{}, nothing
		return 0, false, false
	case header.Get("X-Should-Retry") == "false":
		return 0, false, true
	}
	if o.since.IsZero() {
		o.since = now
	}
	wait, said := retryAfter(now, header)
	if !said {
		wait = min(firstWait<<min(try, 10), maxWait)
		if left := o.since.Add(patience).Sub(now); left >= firstWait { // the last try is when patience ends
			wait = min(wait, left)
		}
	}
	wait = max(wait, leastWait)
	if now.Add(wait).After(o.since.Add(patience)) && progress && !o.again && wait <= patience {
		o.since, o.again = now, true
	}
	if now.Add(wait).After(o.since.Add(patience)) {
		if !said {
			wait = 0
		}
		return wait, false, true
	}
	return wait, true, false
}

// news is what the user knows of an outage.
type news int

const (
	nothing   news = iota
	goesOn         // requests are repeated
	isGivenUp      // they are no longer
)

// first reports true once an outage for each of its news: then the user is told.
func (o *outage) first(n news) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := o.told
	o.told = max(before, n)
	return before < n
}

// retryAfter is how long the upstream says that a client should wait (RFC 9110, 10.2.3).
func retryAfter(now time.Time, h http.Header) (wait time.Duration, said bool) {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms >= 0 && ms < 1e12 {
		return time.Duration(ms * float64(time.Millisecond)), true
	}
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds >= 0 && seconds < 1e9 {
		return time.Duration(seconds * float64(time.Second)), true
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(at.Sub(now), 0), true
	}
	return 0, false
}

// patientTransport sends requests to an upstream.
type patientTransport struct {
	*http.Transport
	patience time.Duration // see Options.Patience
	outage   outage
}

// maxDrained is how much is read of an answer that is not passed on, so that its
// connection can be used again.
const maxDrained = 64 << 10

// unconnected reports an error after which the upstream cannot have seen the request.
func unconnected(err error) bool {
	op := (*net.OpError)(nil)
	return errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect")
}

// renew has a token that lasts, and has answers searched for it.
func (p *Proxy) renew(ctx context.Context) error {
	if p.credential.minted == nil {
		return nil
	}
	return p.credential.minted.renew(ctx, p.blank.renew)
}

// ask sends a request until the upstream gives an answer for the agent. sent says whether
// the model may be at work on it. out makes the request.
func (p *Proxy) ask(ctx context.Context, out func() *http.Request, sent *atomic.Bool) (*http.Response, error) {
	for try := 0; ; try++ {
		if err := p.renew(ctx); err != nil {
			return nil, err
		}
		request := out()
		resp, err := p.transport.RoundTrip(request)
		if err != nil && !unconnected(err) {
			return nil, err
		}
		wait, again, over := p.transport.outage.heard(time.Now(), p.transport.patience, try, p.conversation.answered.Load() > 0, resp)
		problem := "cannot be reached"
		if resp != nil {
			problem = strings.TrimSpace(fmt.Sprintf("answers %d %s", resp.StatusCode, http.StatusText(resp.StatusCode)))
		}
		if over && resp != nil {
			resp.Header.Set("X-Should-Retry", "false") // Claude would ask ten times more
			if wait > 0 {
				problem += fmt.Sprintf(" and asks for a wait of %s", wait.Round(time.Second))
			}
			if p.transport.outage.first(isGivenUp) {
				p.warn(fmt.Sprintf("the model API, %s, %s; it is not asked again", p.upstream.Host, problem))
			}
		}
		if !again {
			return resp, err
		}
		if p.transport.outage.first(goesOn) {
			p.warn(fmt.Sprintf("the model API, %s, %s; it is asked again for %s", p.upstream.Host, problem, p.transport.patience))
		}
		if resp != nil {
			_, _ = io.CopyN(io.Discard, resp.Body, maxDrained) // of use to the connection alone
			_ = resp.Body.Close()
		}
		sent.Store(false)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
