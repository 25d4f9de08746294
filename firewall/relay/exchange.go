package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/credential"
	"github.com/org/claude-sandbox/firewall/operation"
)

// HeaderRefused is a field of every response that is the relay's own.
const HeaderRefused = "X-Sandbox-Refused"

// exchange is one request that was allowed, on its way.
type exchange struct {
	session *session
	request *operation.Request
	body    *operation.Body
	observe func(status int, header http.Header) io.WriteCloser
	screen  func(body io.Reader) io.Reader
	key     *credential.Key // nil = none goes with it

	transport *http.Transport
	bodiless  bool // the answer
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange { return ctx.Value(exchangeKey{}).(*exchange) }

// handler judges each request and carries it out.
func (r *Relay) handler(silent *log.Logger) http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite:        rewrite,
		Transport:      perSession{},
		ModifyResponse: modifyResponse,
		ErrorHandler:   unanswered,
		FlushInterval:  -1,
		BufferPool:     &r.buffers,
		ErrorLog:       silent,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		s := req.Context().Value(sessionKey{}).(*session)
		select {
		case r.requests <- struct{}{}:
			defer func() { <-r.requests }()
		default:
			d := operation.Decision{Rule: ruleRelay, Reason: fmt.Sprintf("more than %d requests to opened hosts at a time", maxRequests)}
			_ = s.recordDecision(d)
			refuse(w, req, s.to, d, http.StatusServiceUnavailable)
			return
		}
		x := &exchange{session: s, body: r.room.Body(req.Body)}
		defer x.body.Free()
		d, status := s.judge(req, x)
		x.body.Judged()
		<-s.opening
		if d.Allowed && s.broken != nil {
			d.Allowed, d.Reason, status = false, s.why(s.broken), http.StatusBadGateway
			w.Header().Set("Connection", "close") // the next one tries again; in HTTP/2, too, net/http ends the connection
		}
		err := s.recordDecision(d)
		switch {
		case d.Allowed && err != nil:
			refuse(w, req, s.to, operation.Decision{Reason: "the decision could not be recorded"}, http.StatusServiceUnavailable)
		case !d.Allowed:
			refuse(w, req, s.to, d, status)
		default:
			if req.ProtoMajor == 1 { // the host may answer before it has read the whole body
				_ = http.NewResponseController(w).EnableFullDuplex()
			}
			var release func()
			x.transport, release = s.transportFor()
			defer release()
			x.screen = d.Screen
			if x.observe = d.Observe; x.key != nil {
				w = &masked{w, x.key}
			}
			proxy.ServeHTTP(whole{w, x}, req.WithContext(context.WithValue(req.Context(), exchangeKey{}, x)))
		}
	})
}

// judge decides about a request. status is of the refusal. In mode audit the
// entries refuse nothing, and what cannot be read is refused all the same.
func (s *session) judge(req *http.Request, x *exchange) (d operation.Decision, status int) {
	request, no := readRequest(req, s.to.Name, s.to.Dst.Port())
	if no != nil {
		return operation.Decision{Rule: ruleRelay, Reason: no.reason}, no.status
	}
	x.request = request
	if s.relay.options.keys != nil {
		x.key, d = s.chooseKey(request, x.body)
		return d, http.StatusForbidden
	}
	rules, audit := s.to.Rules()
	d = s.decide(rules, request, x.body)
	if !d.Allowed && audit {
		d.Allowed, d.Rule, d.Reason = true, firewall.RuleUnlisted, "would be denied: "+d.Reason
	}
	return d, http.StatusForbidden
}

// chooseKey finds the key of a request that the firewall allowed. Without one the
// request goes as the agent sent it.
func (s *session) chooseKey(request *operation.Request, body *operation.Body) (key *credential.Key, d operation.Decision) {
	defer func() {
		if p := recover(); p != nil {
			key, d = nil, operation.Decision{Reason: fmt.Sprintf("the request could not be judged: %v", p)}
		}
	}()
	o := s.relay.options
	if key, d = o.keys.Choose(o.Memory, request, body); key == nil {
		return nil, operation.Decision{Allowed: true}
	}
	o.used(key.Name, request.Host, d.Operation)
	return key, d
}

// decide asks the rules. One that fails refuses.
func (s *session) decide(rules *operation.Rules, request *operation.Request, body *operation.Body) (d operation.Decision) {
	defer func() {
		if p := recover(); p != nil {
			d = operation.Decision{Rule: ruleRelay, Reason: fmt.Sprintf("the request could not be judged: %v", p)}
		}
	}()
	if !rules.Opens(request.Host, request.Port) {
		return operation.Decision{Rule: ruleRelay, Reason: "no entry is about operations at " + request.Host + " any more"}
	}
	return rules.Decide(s.relay.options.Memory, request, body)
}

func (s *session) recordDecision(d operation.Decision) error {
	r := audit.Record{Verdict: firewall.Deny, Layer: audit.LayerHTTP, Rule: d.Rule, Reason: d.Reason, Operation: d.Operation, Wants: d.Wants}
	if d.Allowed {
		r.Verdict = firewall.Allow
	}
	return s.record(r)
}

// transportFor returns one for a request, until release.
func (s *session) transportFor() (t *http.Transport, release func()) {
	if s.wide != nil {
		select {
		case s.relay.wide <- struct{}{}:
			return s.wide, func() { <-s.relay.wide }
		default:
		}
	}
	return s.transport, func() {}
}

// perSession sends a request over the connections of its client.
type perSession struct{}

func (perSession) RoundTrip(r *http.Request) (*http.Response, error) {
	return exchangeOf(r.Context()).transport.RoundTrip(r)
}

// rewrite makes the request that goes out from what was judged.
func rewrite(p *httputil.ProxyRequest) {
	x := exchangeOf(p.In.Context())
	p.Out.Host = authorityOf(x.request.Host, x.request.Port)
	p.Out.URL = &url.URL{
		Scheme: "https", Host: x.request.Host + ":" + strconv.Itoa(int(x.request.Port)),
		Opaque: x.request.Path.Raw, RawQuery: x.request.Query, ForceQuery: strings.HasSuffix(p.In.RequestURI, "?"),
	}
	p.Out.Header.Del("Host")
	p.Out.Trailer = nil
	if p.Out.Body != nil {
		body := x.body.Rest()
		if x.screen != nil {
			body = x.screen(body)
		}
		// ReverseProxy's own Close does nothing. A host of gRPC may end a call before the client
		// does, and the transport then waits for the end of all reads of the client's body. In
		// HTTP/1 it does not wait, and a body's Close reads what is left.
		closer := io.Closer(p.Out.Body)
		if p.In.ProtoMajor == 2 {
			closer = p.In.Body
		}
		p.Out.Body = struct {
			io.Reader
			io.Closer
		}{body, closer}
	}
	if x.key != nil {
		for field := range p.Out.Header { // such as Grpc-Accept-Encoding; parts of an answer would each show a part of the key
			if strings.HasSuffix(field, "Accept-Encoding") || strings.HasSuffix(plainField(field), "range") {
				delete(p.Out.Header, field)
			}
		}
		p.Out.URL.RawQuery = x.key.Attach(p.Out.Header, p.Out.URL.RawQuery)
	}
	if x.observe != nil || x.key != nil {
		p.Out.Header.Set("Accept-Encoding", "identity")
	}
}

func modifyResponse(res *http.Response) error {
	x := exchangeOf(res.Request.Context())
	if res.StatusCode == http.StatusSwitchingProtocols && (x.request.Method != operation.WebSocket || !agreesToWebSocket(res)) {
		return errors.New("it leaves HTTP") // what comes behind that is not judged
	}
	x.bodiless = res.ContentLength == 0
	if x.key != nil {
		if err := maskBody(res, x.key); err != nil {
			return err
		}
	}
	if x.observe != nil {
		if w := x.observe(res.StatusCode, res.Header); w != nil {
			res.Body = &observed{ReadCloser: res.Body, to: w}
		}
	}
	return nil
}

// whole writes the head of an answer without a body only with the answer's end. ReverseProxy
// flushes early, and in HTTP/2 an empty body then follows the head: gRPC's libraries miss the
// status that a head alone may carry (Trailers-Only in gRPC over HTTP2, PROTOCOL-HTTP2.md).
type whole struct {
	http.ResponseWriter
	x *exchange
}

// WriteHeader leaves out Alt-Svc, of interim answers, too.
func (w whole) WriteHeader(status int) {
	w.Header().Del("Alt-Svc")
	w.ResponseWriter.WriteHeader(status)
}

// FlushError is for http.ResponseController.
func (w whole) FlushError() error {
	if w.x.bodiless {
		return nil
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap is for http.ResponseController.
func (w whole) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// observed shows a body to the judge who asked for it before the client gets it.
type observed struct {
	io.ReadCloser
	to io.WriteCloser // nil once the end was told
}

func (o *observed) Read(p []byte) (int, error) {
	n, err := o.ReadCloser.Read(p)
	if o.to != nil && n > 0 {
		_, _ = o.to.Write(p[:n])
	}
	if o.to != nil && errors.Is(err, io.EOF) {
		_ = o.to.Close()
		o.to = nil
	}
	return n, err
}

// unanswered tells the client of a host that did not answer.
func unanswered(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		panic(http.ErrAbortHandler) // the client is gone
	}
	x := exchangeOf(r.Context())
	if errors.Is(err, operation.ErrOverride) {
		d := operation.Decision{Rule: ruleRelay, Operation: x.request.Method + " " + x.request.Path.Raw, Reason: operation.ErrOverride.Error()}
		_ = x.session.recordDecision(d)
		refuse(w, r, x.session.to, d, http.StatusForbidden)
		return
	}
	reason := x.session.why(err)
	if x.key != nil {
		reason = x.key.Redactor().String(reason)
	}
	refuse(w, r, x.session.to, operation.Decision{Reason: reason}, http.StatusBadGateway)
}

// refuse answers a request in the host's place, for people and agents to read.
func refuse(w http.ResponseWriter, r *http.Request, to Connection, d operation.Decision, status int) {
	w.Header().Set(HeaderRefused, "relay")
	if a := d.Answer; a != nil {
		for field, values := range a.Header {
			w.Header()[field] = values
		}
		w.WriteHeader(a.Status)
		_, _ = w.Write(a.Body)
		return
	}
	text := fmt.Sprintf("claude-sandbox: refused: %s\nhost: %s\n", d.Reason, to.Name)
	if d.Operation != "" {
		text += fmt.Sprintf("operation: %s\n", d.Operation)
	}
	if d.Wants != "" {
		text += fmt.Sprintf("to allow it, add this line to \"allow\" in sandbox.jsonc: %q,\n", d.Wants)
	}
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), "+"); r.ProtoMajor == 2 && kind == grpcType {
		refuseGRPC(w, text, status)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}

const grpcType = "application/grpc"

// refuseGRPC is an answer without messages, whose words gRPC's libraries give to the caller
// (Trailers-Only in gRPC over HTTP2, PROTOCOL-HTTP2.md). They show none of a plain answer.
func refuseGRPC(w http.ResponseWriter, text string, status int) {
	code := "14" // UNAVAILABLE
	if status < http.StatusInternalServerError {
		code = "7" // PERMISSION_DENIED
	}
	w.Header().Set("Content-Type", grpcType)
	w.Header().Set("Grpc-Status", code)
	w.Header().Set("Grpc-Message", strings.ReplaceAll(url.QueryEscape(strings.TrimSpace(text)), "+", "%20"))
	w.WriteHeader(http.StatusOK)
}
