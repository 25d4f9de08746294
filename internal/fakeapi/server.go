package fakeapi

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/org/claude-sandbox/internal/apierror"
)

// Token counts of every answer, so that a test can add them up.
const (
	InputTokens      = 100
	OutputTokens     = 20
	CacheReadTokens  = 7
	CacheWriteTokens = 3
)

// Fault is an answer that goes wrong.
type Fault struct {
	Status   int    `json:"status,omitempty"`   // such as 401, 404, 429 or 529; 0 = none of that
	Retry    string `json:"retry,omitempty"`    // Retry-After header, seconds
	Hang     bool   `json:"hang,omitempty"`     // says nothing until the client leaves
	Truncate bool   `json:"truncate,omitempty"` // breaks the connection in the middle of the answer
}

// Server is the API, an http.Handler. Set its fields before it serves. It is
// safe for concurrent use.
type Server struct {
	Script Script
	// Reply returns the answer to a messages request; nil = the script's. It is
	// called concurrently.
	Reply  func(Request) *Reply
	APIKey string  // required in X-Api-Key; "" = not checked
	Bearer string  // required in Authorization, with the OAuth beta; "" = not checked
	Faults []Fault // of the first messages requests, one each
	Always *Fault  // of all messages requests after those; nil = none

	mu       sync.Mutex
	messages int
	requests []Request
}

// Request is what the server remembers of a request: no secret.
type Request struct {
	Method, Path, Query  string
	Header               http.Header // without Authorization and X-Api-Key
	HasBearer, HasAPIKey bool
	Authorized           bool // it carried the required credential
	Model                string
	ToolResults          int
	Body                 string // of a messages request
	Status               int
}

// Requests returns a copy of what came so far, in order of arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// ServeHTTP answers as the Messages API does, from the script.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client left
	}
	var req request
	_ = json.Unmarshal(body, &req) // checked below, once it is known what was asked
	seen := Request{
		Method: r.Method, Path: r.URL.EscapedPath(), Query: r.URL.RawQuery, Header: r.Header.Clone(),
		HasBearer: r.Header.Get("Authorization") != "", HasAPIKey: r.Header.Get("X-Api-Key") != "",
		Authorized: s.authorized(r.Header), Model: req.Model, ToolResults: req.toolResults(), Body: string(body),
		Status: http.StatusOK,
	}
	seen.Header.Del("Authorization")
	seen.Header.Del("X-Api-Key")
	known := r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/v1/messages")
	counts := r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/v1/messages/count_tokens")
	var fault Fault
	switch {
	case r.Method == http.MethodHead:
	case !seen.Authorized:
		seen.Status = http.StatusUnauthorized
	case !known && !counts:
		seen.Status = http.StatusNotFound
	case len(req.Messages) == 0:
		seen.Status = http.StatusBadRequest
	case known:
		if fault = s.fault(); fault.Status != 0 {
			seen.Status = fault.Status
		}
	}
	s.mu.Lock()
	s.requests = append(s.requests, seen)
	s.mu.Unlock()

	w.Header().Set("Request-Id", "req_scripted")
	switch {
	case seen.Status != http.StatusOK:
		if fault.Retry != "" {
			w.Header().Set("Retry-After", fault.Retry)
		}
		apierror.Write(w, seen.Status, kindOf(seen.Status), fmt.Sprintf("scripted error %d", seen.Status))
	case r.Method == http.MethodHead:
	case fault.Hang:
		<-r.Context().Done()
	case counts:
		writeJSON(w, map[string]int{"input_tokens": InputTokens})
	case req.Stream:
		stream(w, s.reply(seen), fault.Truncate)
	default:
		if fault.Truncate {
			panic(http.ErrAbortHandler)
		}
		reply := s.reply(seen)
		message := newMessage(reply)
		message["content"], message["stop_reason"] = reply.Content, reply.Stop
		writeJSON(w, message)
	}
}

func (s *Server) reply(q Request) Reply {
	if s.Reply != nil {
		if r := s.Reply(q); r != nil {
			return *r
		}
	}
	return s.Script.answer(q.ToolResults)
}

// fault returns what is wrong with the next messages request.
func (s *Server) fault() Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.messages
	s.messages++
	switch {
	case n < len(s.Faults):
		return s.Faults[n]
	case s.Always != nil:
		return *s.Always
	}
	return Fault{}
}

func (s *Server) authorized(h http.Header) bool {
	if s.APIKey != "" && h.Get("X-Api-Key") != s.APIKey {
		return false
	}
	if s.Bearer == "" {
		return true
	}
	return h.Get("Authorization") == "Bearer "+s.Bearer && strings.Contains(h.Get("Anthropic-Beta"), "oauth-2025-04-20")
}

func kindOf(status int) apierror.Kind {
	switch status {
	case http.StatusBadRequest:
		return apierror.InvalidRequest
	case http.StatusUnauthorized:
		return apierror.Authentication
	case http.StatusForbidden:
		return apierror.Permission
	case http.StatusNotFound:
		return apierror.NotFound
	case http.StatusTooManyRequests:
		return apierror.RateLimit
	case 529:
		return apierror.Overloaded
	}
	return apierror.API
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a client that left is not our error
}
