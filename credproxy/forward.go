package credproxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

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
}

// ServeHTTP serves one request of the agent.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	entry := Entry{Method: short(r.Method, 20), Path: short(p.blank.String(r.URL.EscapedPath()), 200)}
	start := time.Now()
	defer func() { // also when the answer is aborted by a panic
		entry.Duration = time.Since(start)
		p.log(entry)
	}()
	if r.Method == http.MethodHead && r.URL.EscapedPath() == "/api/hello" && r.URL.Host == "" {
		entry.Status = http.StatusOK // claude's reachability check; it tells nothing
		w.WriteHeader(entry.Status)
		return
	}
	body, refused := p.admit(w, r, &entry)
	if refused != nil {
		entry.Status, entry.Refused = refused.status, refused.message
		apierror.Write(w, refused.status, refused.kind, refused.message)
		return
	}
	defer p.buffered.Add(-body.reserved)
	p.forward(w, r, body.bytes, &entry)
}

type bodyBuffer struct {
	bytes    []byte
	reserved int64 // of Proxy.buffered
}

// admit decides on r and reads its body.
func (p *Proxy) admit(w http.ResponseWriter, r *http.Request, entry *Entry) (bodyBuffer, *refusal) {
	no := func(status int, kind apierror.Kind, message string) (bodyBuffer, *refusal) {
		return bodyBuffer{}, &refusal{status, kind, message}
	}
	if !p.authorized(r) {
		return no(http.StatusUnauthorized, apierror.Authentication, "the session token is missing or wrong")
	}
	if r.URL.Host != "" || r.URL.Scheme != "" {
		return no(http.StatusForbidden, apierror.Permission, "this is not a forward proxy")
	}
	switch r.URL.EscapedPath() {
	case messagesPath, messagesPath + "/count_tokens":
	default:
		return no(http.StatusForbidden, apierror.Permission, "the sandbox lets only /v1/messages through")
	}
	if r.Method != http.MethodPost {
		return no(http.StatusMethodNotAllowed, apierror.InvalidRequest, "the sandbox lets only POST through")
	}
	if r.URL.RawQuery != "" && r.URL.RawQuery != "beta=true" {
		return no(http.StatusForbidden, apierror.Permission, "the sandbox lets only the query beta=true through")
	}
	if r.Header.Get("Content-Encoding") != "" || len(r.Header.Values("Upgrade")) > 0 {
		return no(http.StatusBadRequest, apierror.InvalidRequest, "the sandbox takes plain request bodies only")
	}
	tooLarge := fmt.Sprintf("the request is larger than %d bytes", p.maxBody)
	if r.ContentLength > p.maxBody {
		return no(http.StatusRequestEntityTooLarge, apierror.TooLarge, tooLarge)
	}
	// Bodies are held in memory until the answer has begun, so that the
	// transport can repeat a request that a dying connection lost. The agent
	// must not use that to exhaust the host.
	reserve := r.ContentLength
	if reserve < 0 {
		reserve = p.maxBody
	}
	if p.buffered.Add(reserve) > maxBuffered*p.maxBody {
		p.buffered.Add(-reserve)
		return no(529, apierror.Overloaded, "too many large requests at a time")
	}
	// Not every ResponseWriter has deadlines; then the client's patience
	// costs one reservation.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, p.maxBody))
	if err != nil {
		p.buffered.Add(-reserve)
		var tooMany *http.MaxBytesError
		if errors.As(err, &tooMany) {
			return no(http.StatusRequestEntityTooLarge, apierror.TooLarge, tooLarge)
		}
		return no(http.StatusRequestTimeout, apierror.InvalidRequest, "the request's body did not arrive")
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	if err := p.screen(body); err != nil {
		p.buffered.Add(-reserve)
		return no(http.StatusBadRequest, apierror.InvalidRequest, p.blank.String(err.Error()))
	}
	var named struct {
		Model string `json:"model"`
	}
	if json.Unmarshal(body, &named) == nil {
		entry.Model = short(p.blank.String(named.Model), 100)
	}
	return bodyBuffer{body, reserve}, nil
}

// forward sends the request upstream and the answer back.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, body []byte, entry *Entry) {
	resp, err := p.transport.RoundTrip(p.outgoing(r, body))
	if err != nil {
		if r.Context().Err() != nil {
			entry.Refused = "the client left"
			panic(http.ErrAbortHandler)
		}
		p.fail(w, entry, "the model API cannot be reached: "+err.Error())
		return
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode < 200 || resp.StatusCode >= 300 && resp.StatusCode < 400:
		p.fail(w, entry, fmt.Sprintf("the model API answered %d; redirects are not followed", resp.StatusCode))
		return
	case resp.Header.Get("Content-Encoding") != "" && resp.Header.Get("Content-Encoding") != "identity":
		p.fail(w, entry, "the model API sent a compressed answer, which was not asked for")
		return
	}
	entry.Status = resp.StatusCode
	if resp.StatusCode < 300 && r.URL.EscapedPath() == messagesPath {
		p.answered.Add(1) // before the agent can know
	}
	p.copyHeaders(w.Header(), resp.Header)
	w.WriteHeader(resp.StatusCode)
	if err := p.copyBody(w, resp, r.URL.EscapedPath() == messagesPath); err != nil {
		entry.Refused = "the answer was cut short"
		// The client must not take it for whole.
		panic(http.ErrAbortHandler)
	}
}

// fail answers for an upstream that gave no usable answer.
func (p *Proxy) fail(w http.ResponseWriter, entry *Entry, message string) {
	message = p.blank.String(message)
	entry.Status, entry.Refused = http.StatusBadGateway, message
	apierror.Write(w, entry.Status, apierror.API, message)
}

// outgoing builds the upstream's request anew; nothing of r survives that is
// not listed.
func (p *Proxy) outgoing(r *http.Request, body []byte) *http.Request {
	target := *p.upstream
	target.Path = strings.TrimSuffix(target.Path, "/") + r.URL.Path
	target.RawPath = ""
	target.RawQuery = r.URL.RawQuery
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

// copyBody passes the answer on as it arrives, without the credential, and
// counts its tokens.
func (p *Proxy) copyBody(w http.ResponseWriter, resp *http.Response, message bool) error {
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	count := counter{events: media == "text/event-stream", usage: Usage{Requests: 1}}
	if message && resp.StatusCode == http.StatusOK {
		defer func() { // also for an answer that was cut: its tokens are spent
			count.finish()
			p.usage.add(count.usage)
		}()
	}
	blank := p.blank.Writer(w)
	flush := http.NewResponseController(w).Flush
	buf := make([]byte, 32<<10)
	for {
		n, err := resp.Body.Read(buf)
		if n > 0 {
			count.Write(buf[:n])
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
