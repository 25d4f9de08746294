package credproxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/org/claude-sandbox/credproxy/spending"
	"github.com/org/claude-sandbox/internal/apierror"
)

const messagesPath = "/v1/messages"

// forwarded are the request headers that reach the upstream. Credentials are
// not among them; Accept-Encoding and Content-Length are the transport's.
var forwarded = []string{"Accept", "Content-Type", "User-Agent", "X-App"}

// forwardedPrefixes hold protocol versions, betas and labels.
var forwardedPrefixes = []string{"Anthropic-", "X-Stainless-", "X-Claude-"}

// returned are the response headers that reach the agent: what it needs to
// read an answer, to wait and to report a request. No cookie, no location.
var returned = []string{
	"Cache-Control", "Content-Length", "Content-Type", "Date",
	"Request-Id", "Retry-After", "Retry-After-Ms", "X-Should-Retry",
}

// refusal is an answer of the proxy's own.
type refusal struct {
	status  int
	kind    apierror.Kind
	message string
	final   bool // claude must not try again
}

// ServeHTTP serves one request of the agent.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	entry := Entry{Method: short(r.Method, 20), Path: short(p.blank.String(r.URL.EscapedPath()), 200)}
	defer func() { p.log(entry) }() // also when the answer is aborted by a panic
	if r.Method == http.MethodHead && r.URL.EscapedPath() == "/api/hello" && r.URL.Host == "" {
		entry.Status = http.StatusOK // claude's reachability check; it tells nothing
		w.WriteHeader(entry.Status)
		return
	}
	body, asked, refused := p.admit(w, r, &entry)
	if refused == nil {
		defer body.free()
	}
	var t *turn
	switch {
	case refused != nil:
	case asked.provider != nil:
		t, refused = p.begin(r.Context(), subagent, "", asked)
	case r.URL.EscapedPath() == messagesPath, asked.cloud != nil:
		t, refused = p.begin(r.Context(), askerOf(r.Header, asked), r.Header.Get(agentHeader), asked)
	}
	if refused != nil {
		entry.Status, entry.Refused = refused.status, refused.message
		if refused.final {
			w.Header().Set("X-Should-Retry", "false")
		}
		apierror.Write(w, refused.status, refused.kind, refused.message)
		return
	}
	p.forward(w, r, body.bytes, asked, t, &entry)
}

// begin counts a request for an answer, or refuses it. It waits where a budget has no room for
// it beside those that are under way.
func (p *Proxy) begin(ctx context.Context, from asker, agent string, asked request) (*turn, *refusal) {
	for _, allowed := range p.limits.Models {
		if !spending.ModelFits(allowed, asked.model) {
			return nil, &refusal{status: http.StatusNotFound, kind: apierror.NotFound, final: true, message: fmt.Sprintf(
				"model: %s is not among those that this sandbox may ask: %s", short(asked.model, 100), strings.Join(allowed, ", "))}
		}
	}
	loop, half := false, false
	if asked.provider == nil && (from == main || from == subagent) {
		loop, half = p.repeats.add(agent, asked.newest, asked.messages)
	}
	if half {
		p.warn(fmt.Sprintf("the agent made the same calls with the same results %d times; it is stopped after %d",
			p.repeats.limit/2, p.repeats.limit))
	}
	for {
		t, refused, wait := p.conversation.beginTurn(from, p.limits, asked, loop, p.overBudget)
		if wait == nil {
			return t, refused
		}
		select {
		case <-wait:
		case <-ctx.Done():
			panic(http.ErrAbortHandler) // the client is gone
		}
	}
}

// admit decides on r and reads its body.
func (p *Proxy) admit(w http.ResponseWriter, r *http.Request, entry *Entry) (*bodyBuffer, request, *refusal) {
	if refused := p.admitHead(r); refused != nil {
		return nil, request{}, refused
	}
	body, refused := p.readBody(w, r)
	if refused != nil {
		return nil, request{}, refused
	}
	screen := func(body []byte) (request, error) { return p.screen(p.credential.cloud.call(r), body) }
	if provider := p.providers.routes[r.URL.EscapedPath()]; provider != nil {
		screen = func(body []byte) (request, error) { return p.screenProvider(provider, r.URL.Path, body) }
	}
	asked, err := screen(body.bytes)
	if err != nil {
		body.free()
		return nil, request{}, &refusal{status: http.StatusBadRequest, kind: apierror.InvalidRequest, message: p.blank.String(err.Error())}
	}
	entry.Model = short(p.blank.String(asked.model), 100)
	return body, asked, nil
}

// admitHead decides on r without its body.
func (p *Proxy) admitHead(r *http.Request) *refusal {
	no := func(status int, kind apierror.Kind, message string) *refusal {
		return &refusal{status: status, kind: kind, message: message}
	}
	if !p.authorized(r) {
		return no(http.StatusUnauthorized, apierror.Authentication, "the session token is missing or wrong")
	}
	if r.URL.Host != "" || r.URL.Scheme != "" {
		return no(http.StatusForbidden, apierror.Permission, "this is not a forward proxy")
	}
	provider, call := p.providers.routes[r.URL.EscapedPath()], p.credential.cloud.call(r)
	switch path := r.URL.EscapedPath(); {
	case provider != nil, call != nil:
	case p.credential.cloud == nil && (path == messagesPath || path == messagesPath+"/count_tokens"):
	case strings.HasPrefix(path, providersPath):
		return no(http.StatusForbidden, apierror.Permission, "the sandbox has no such provider, or lets another route of it through: "+
			providersPath+"NAME"+chatRoute+" and "+embeddingsRoute)
	case p.credential.cloud != nil:
		return no(http.StatusForbidden, apierror.Permission, "the sandbox lets only requests for messages of "+p.credential.cloud.name+" through")
	default:
		return no(http.StatusForbidden, apierror.Permission, "the sandbox lets only /v1/messages through")
	}
	if r.Method != http.MethodPost {
		return no(http.StatusMethodNotAllowed, apierror.InvalidRequest, "the sandbox lets only POST through")
	}
	if r.URL.RawQuery != "" && (r.URL.RawQuery != "beta=true" || provider != nil || call != nil) {
		return no(http.StatusForbidden, apierror.Permission, "the sandbox lets only the query beta=true through")
	}
	if r.Header.Get("Content-Encoding") != "" || len(r.Header.Values("Upgrade")) > 0 {
		return no(http.StatusBadRequest, apierror.InvalidRequest, "the sandbox takes plain request bodies only")
	}
	if r.ContentLength > p.maxBody {
		return p.tooLarge()
	}
	return nil
}

func (p *Proxy) tooLarge() *refusal {
	return &refusal{
		status: http.StatusRequestEntityTooLarge, kind: apierror.TooLarge,
		message: fmt.Sprintf("the request is larger than %d bytes", p.maxBody),
	}
}

// forward sends the request upstream and the answer back. t is nil for a request
// that no model answers.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, body []byte, asked request, t *turn, entry *Entry) {
	answered := false
	if t != nil {
		defer func() { t.end(answered) }()
	}
	var sent atomic.Bool
	trace := &httptrace.ClientTrace{WroteRequest: func(info httptrace.WroteRequestInfo) { sent.Store(info.Err == nil) }}
	start := time.Now()
	traced := func(out *http.Request) *http.Request {
		return out.WithContext(httptrace.WithClientTrace(out.Context(), trace))
	}
	var resp *http.Response
	var err error
	api := "the model API"
	if asked.provider != nil {
		api = "the provider " + asked.provider.Name
		resp, err = p.transport.Transport.RoundTrip(traced(p.toProvider(r, body, asked)))
	} else {
		resp, err = p.ask(r.Context(), func() *http.Request { return traced(p.outgoing(r, body, asked)) }, &sent)
	}
	if err != nil {
		if r.Context().Err() != nil {
			entry.Refused = "the client left"
			if answered = sent.Load(); answered && t != nil { // the model may be at work
				p.chargeUnseen(asked, t, time.Since(start))
			}
			panic(http.ErrAbortHandler)
		}
		entry.Unreachable = asked.provider == nil
		p.fail(w, entry, api+" cannot be reached: "+err.Error())
		return
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode < 200 || resp.StatusCode >= 300 && resp.StatusCode < 400:
		p.fail(w, entry, fmt.Sprintf("%s answered %d; redirects are not followed", api, resp.StatusCode))
		return
	case resp.Header.Get("Content-Encoding") != "" && resp.Header.Get("Content-Encoding") != "identity":
		p.fail(w, entry, api+" sent a compressed answer, which was not asked for")
		return
	}
	entry.Status = resp.StatusCode
	if answered = resp.StatusCode < 300; answered && t != nil && asked.provider == nil {
		p.conversation.answered.Add(1) // before the agent can know
	}
	p.copyHeaders(w.Header(), resp.Header)
	if asked.addUsage { // what is sent is shorter than what comes
		w.Header().Del("Content-Length")
	}
	w.WriteHeader(resp.StatusCode)
	if err := p.copyBody(w, resp, asked, t); err != nil {
		entry.Refused = "the answer was cut short"
		// The client must not take it for whole.
		panic(http.ErrAbortHandler)
	}
}

// chargeUnseen counts an answer of which nothing came before its client left, after some
// time.
func (p *Proxy) chargeUnseen(asked request, t *turn, after time.Duration) {
	if asked.provider != nil {
		t.said(newChatReader(&p.usage, asked, true).close())
		return
	}
	answer := newAnswerReader(&p.usage, asked, true)
	answer.unseen = after
	t.said(answer.close())
}

// fail answers for an upstream that gave no usable answer.
func (p *Proxy) fail(w http.ResponseWriter, entry *Entry, message string) {
	message = p.blank.String(message)
	entry.Status, entry.Refused = http.StatusBadGateway, message
	apierror.Write(w, entry.Status, apierror.API, message)
}

// outgoing builds the upstream's request anew; nothing of r survives that is
// not listed.
func (p *Proxy) outgoing(r *http.Request, body []byte, asked request) *http.Request {
	target := *p.upstream
	if asked.cloud != nil {
		asked.cloud.to(&target)
	} else {
		target.Path = strings.TrimSuffix(target.Path, "/") + r.URL.Path
		target.RawPath = ""
		target.RawQuery = r.URL.RawQuery
	}
	out := &http.Request{
		Method: http.MethodPost, URL: &target, Host: target.Host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        make(http.Header),
		Body:          io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)),
		GetBody:       func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil },
	}
	for name, values := range r.Header {
		if slices.Contains(forwarded, name) || slices.ContainsFunc(forwardedPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			out.Header[name] = slices.Clone(values)
		}
	}
	p.filterBetas(out.Header)
	out.Header.Set("Accept-Encoding", "identity")
	p.credential.set(out.Header)
	return out.WithContext(r.Context())
}

func (p *Proxy) copyHeaders(to, from http.Header) {
	for name, values := range from {
		if !slices.Contains(returned, name) && !strings.HasPrefix(name, "Anthropic-") {
			continue
		}
		for _, v := range values {
			to.Add(name, p.blank.String(v))
		}
	}
}

// copyBody passes the answer on as it arrives, without the credential, counts its
// tokens and notes how it ends.
func (p *Proxy) copyBody(w http.ResponseWriter, resp *http.Response, asked request, t *turn) error {
	read := func([]byte) {}
	if t != nil && resp.StatusCode == http.StatusOK {
		media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
		var answer reader
		switch events := media == "text/event-stream" || media == eventStreamType; {
		case asked.provider != nil:
			answer = newChatReader(&p.usage, asked, events)
		case media == eventStreamType:
			answer = &eventStream{answerReader: newAnswerReader(&p.usage, asked, events)}
		default:
			answer = newAnswerReader(&p.usage, asked, events)
		}
		t.begun(asked)
		read = answer.Write
		// Also for an answer that was cut: its tokens are spent.
		defer func() {
			if resp.Request.Context().Err() != nil {
				answer.leave(time.Now())
			}
			t.said(answer.close())
		}()
	}
	var to io.Writer = w
	if asked.addUsage && resp.StatusCode == http.StatusOK {
		filter := &usageFilter{to: w}
		defer func() { _ = filter.flush() }()
		to = filter
	}
	blank := p.blank.Writer(to)
	flush := http.NewResponseController(w).Flush
	buf := make([]byte, 32<<10)
	for {
		n, err := resp.Body.Read(buf)
		if n > 0 {
			read(buf[:n])
			if _, werr := blank.Write(buf[:n]); werr != nil {
				return werr
			}
			if ferr := flush(); ferr != nil && !errors.Is(ferr, http.ErrNotSupported) {
				return ferr
			}
		}
		if err == io.EOF {
			return blank.Close()
		}
		if err != nil {
			return err
		}
	}
}

// short makes agent-written text fit for a log line.
func short(s string, limit int) string {
	if len(s) > limit {
		s = s[:limit]
	}
	if quoted := strconv.QuoteToASCII(s); len(quoted) != len(s)+2 {
		return quoted
	}
	return s
}
