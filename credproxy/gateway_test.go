package credproxy

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// A gateway's token is a bearer token without the beta of OAuth, its headers go with each
// request, none of them replaces one of ours, and an echo of them does not reach the agent.
func TestGatewayTokenAndHeaders(t *testing.T) {
	const token, config = "gateway-token-1", "pc-config-canary"
	var got http.Header
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"type":"message","echo":"%s %s"}`, r.Header.Get("X-Gateway-Config"), r.Header.Get("Authorization"))
	})
	credential, err := BearerToken(token)
	if err == nil {
		credential, err = credential.WithHeaders([]string{"x-gateway-config: " + config, "X-Team: a b"})
	}
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, echo, func(o *Options) { o.Credential = credential })
	r := f.post(t)
	if got.Get("Authorization") != "Bearer "+token || got.Get("X-Gateway-Config") != config || got.Get("X-Team") != "a b" ||
		got.Get("X-Api-Key") != "" ||
		strings.Contains(got.Get("Anthropic-Beta"), "oauth") {
		t.Errorf("%v", got)
	}
	if r.status != http.StatusOK || strings.Contains(r.body, config) || strings.Contains(r.body, token) {
		t.Errorf("%d: %s", r.status, r.body)
	}
	if shown := fmt.Sprintf("%v %+v %#v %s", credential, credential, credential, credential); strings.Contains(shown, config) ||
		strings.Contains(shown, token) {
		t.Errorf("it shows itself: %s", shown)
	}
	for _, line := range []string{"Authorization: x", "x-api-key: x", "HOST: x", "anthropic-beta: x", "Content-Length: 5",
		"Transfer-Encoding: chunked", "Accept-Encoding: gzip",
		"X: a\r\nY: b", "X Y: b", ": b", "X:", "canary-value"} {
		if _, err := credential.WithHeaders([]string{line}); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: %v", line, err)
		}
	}
}
