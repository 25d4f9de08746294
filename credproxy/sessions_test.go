package credproxy

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Attack: a program that a prompt left behind asks the model with the token of that prompt,
// when it has ended, or is counted as another prompt.
func TestAttackATokenOfAPromptThatHasEnded(t *testing.T) {
	asked := 0
	upstream := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		io.WriteString(w, `{"type":"message","stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`)
	})
	tokens := []string{NewSessionToken(), NewSessionToken()}
	first := newFixture(t, upstream, func(o *Options) { o.SessionToken = tokens[0] }).proxy
	second := newFixture(t, upstream, func(o *Options) { o.SessionToken = tokens[1] }).proxy
	sessions := NewSessions(first)
	remove := sessions.Add(second)
	server := httptest.NewServer(sessions)
	defer server.Close()
	ask := func(token string) int {
		r, err := http.NewRequest(http.MethodPost, server.URL+"/v1/messages", strings.NewReader(hello))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	if got := ask(tokens[1]); got != 200 || second.Answered() != 1 || first.Answered() != 0 {
		t.Errorf("the second's token: %d, counted %d and %d", got, first.Answered(), second.Answered())
	}
	if got := ask(tokens[0]); got != 200 || first.Answered() != 1 {
		t.Errorf("the first's token: %d, counted %d", got, first.Answered())
	}
	remove()
	if got := ask(tokens[1]); got != 401 || asked != 2 {
		t.Errorf("a token that has ended: %d, and %d requests arrived", got, asked)
	}
	if got := ask("sbx-session-of-nobody"); got != 401 || asked != 2 {
		t.Errorf("an unknown token: %d, and %d requests arrived", got, asked)
	}
}
