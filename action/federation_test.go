package action

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/internal/diag"
)

// identityServer is a stand-in of GitHub's signer of identities and of the API's exchange.
// answers are those of the exchange, one after the other; the last one stays.
type identityServer struct {
	url     string
	hidden  []string
	asked   []exchange
	signed  int
	answers []http.HandlerFunc
}

func newIdentityServer(t *testing.T, answers ...http.HandlerFunc) *identityServer {
	s := &identityServer{answers: answers}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /identity", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer request-token" || r.URL.Query().Get("v") != "2" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		s.signed++
		_ = json.NewEncoder(w).Encode(map[string]string{"value": "identity-" + r.URL.Query().Get("audience") + strings.Repeat("!", s.signed)})
	})
	mux.HandleFunc("POST /v1/oauth/token", func(w http.ResponseWriter, r *http.Request) {
		var asked exchange
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil ||
			r.Header.Get("Anthropic-Beta") != "oauth-2025-04-20,oidc-federation-2026-04-01" {
			t.Errorf("the exchange is asked with %v, %v", r.Header, err)
		}
		s.asked = append(s.asked, asked)
		s.answers[min(len(s.asked), len(s.answers))-1](w, r)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *identityServer) mint(t *testing.T, in FederationInputs, env map[string]string) (string, time.Duration, error) {
	t.Helper()
	api, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	f := federation{FederationInputs: in, api: api, getenv: func(name string) string { return env[name] },
		hide:   func(secret string) { s.hidden = append(s.hidden, secret) },
		client: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	return f.mint(context.Background())
}

func answering(status int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Request-Id", "req_1")
		w.Header().Set("Location", "/identity")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text))
	}
}

const (
	mintedToken  = "sk-ant-oat01-minted-0123456789"
	mintedAnswer = `{"access_token":"` + mintedToken + `","token_type":"Bearer","expires_in":600,"scope":"workspace:developer"}`
)

func TestTheJobsIdentityIsExchanged(t *testing.T) {
	// The second try has an identity of its own: one is exchanged once.
	s := newIdentityServer(t, answering(529, "busy"), answering(200, mintedAnswer))
	in := FederationInputs{Rule: "fdrl_1", Organization: "org", Workspace: "wrkspc_1"}
	env := map[string]string{"ACTIONS_ID_TOKEN_REQUEST_URL": s.url + "/identity?v=2", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "request-token"}
	token, lasts, err := s.mint(t, in, env)
	if token != mintedToken || lasts != 10*time.Minute || err != nil {
		t.Fatalf("%q, %s, %v", token, lasts, err)
	}
	const identity = "identity-https://api.anthropic.com"
	want := exchange{Grant: "urn:ietf:params:oauth:grant-type:jwt-bearer", Assertion: identity + "!!", Rule: "fdrl_1",
		Organization: "org", Workspace: "wrkspc_1"}
	if len(s.asked) != 2 || s.asked[1] != want || s.asked[0].Assertion != identity+"!" {
		t.Errorf("the exchange was asked: %+v", s.asked)
	}
	if !slices.Equal(s.hidden, []string{identity + "!", identity + "!!", mintedToken}) {
		t.Errorf("masked: %q", s.hidden)
	}
}

func TestIdentitiesThatAreNotExchanged(t *testing.T) {
	env := func(s *identityServer) map[string]string {
		return map[string]string{"ACTIONS_ID_TOKEN_REQUEST_URL": s.url + "/identity?v=2", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "request-token"}
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		change map[string]string
		tries  int
		want   string // in the error and its hint
		later  bool   // another time it may be exchanged
	}{
		"no permission":  {change: map[string]string{"ACTIONS_ID_TOKEN_REQUEST_URL": ""}, want: "id-token: write"},
		"GitHub says no": {change: map[string]string{"ACTIONS_ID_TOKEN_REQUEST_TOKEN": "old"}, want: "it answers 401", later: true},
		"another rule": {answer: answering(401, `{"error":{"message":"identity-https"}}`), tries: 1,
			want: "answers 401 (request req_1); the rule has to match"},
		"busy":        {answer: answering(503, "identity-https"), tries: exchangeTries, want: "answers 503", later: true},
		"leads away":  {answer: answering(307, ""), tries: 1, want: "answers 307"},
		"no token":    {answer: answering(200, `{"expires_in":600}`), tries: 1, want: "no token"},
		"for no time": {answer: answering(200, `{"access_token":"`+mintedToken+`","expires_in":0}`), tries: 1, want: "no token"},
		"another type": {answer: answering(200, `{"access_token":"`+mintedToken+`","token_type":"mac","expires_in":9}`),
			tries: 1, want: "no token"},
		"no JSON": {answer: answering(200, "identity-https"), tries: 1, want: "no token"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newIdentityServer(t, c.answer)
			variables := env(s)
			for name, value := range c.change {
				variables[name] = value
			}
			token, _, err := s.mint(t, FederationInputs{Rule: "fdrl_1", Organization: "org"}, variables)
			if err == nil || token != "" || len(s.asked) != c.tries {
				t.Fatalf("%q, %v, asked %d times", token, err, len(s.asked))
			}
			said := err.Error() + "; " + diag.HintOf(err)
			if !strings.Contains(said, c.want) || strings.Contains(said, "identity-https") || strings.Contains(said, mintedToken) {
				t.Errorf("%s", said)
			}
			want := agent.AuthError
			if c.later {
				want = agent.APIError
			}
			if r, _ := notExchanged(err); r.Outcome.Conclusion != want {
				t.Errorf("%s: %s", r.Outcome.Conclusion, said)
			}
		})
	}
}
