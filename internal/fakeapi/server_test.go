package fakeapi

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// conversation is a request body with so many tool results.
func conversation(results int, stream bool) string {
	return fmt.Sprintf(`{"model":"m","stream":%v,"messages":[{"role":"user","content":"hi"}%s]}`, stream,
		strings.Repeat(`,{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":"ok"}]}`, results))
}

func post(t *testing.T, s *Server, body string, header ...string) (status int, answer string, err error) {
	t.Helper()
	front := httptest.NewServer(s)
	defer front.Close()
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, front.URL+"/v1/messages?beta=true", strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

// A repeated request must get the same turn, or claude's own retries would
// skip steps.
func TestTurnsFollowToolResultsAndNotRequests(t *testing.T) {
	s := &Server{
		Script: Script{Turns: []Turn{{Text: "two at once", Bash: []string{"one", "two"}}, {Bash: []string{"three"}}}, Final: "the end"}}
	for _, c := range []struct {
		results int
		want    []string
		stop    string
	}{{0, []string{"one", "two"}, "tool_use"}, {0, []string{"one", "two"}, "tool_use"}, {2, []string{"three"}, "tool_use"},
		{3, nil, "end_turn"}, {9, nil, "end_turn"}} {
		_, answer, err := post(t, s, conversation(c.results, false))
		var message struct {
			Model      string
			StopReason string `json:"stop_reason"`
			Content    []struct {
				Text  string
				Input struct{ Command string }
			}
		}
		if err != nil || json.Unmarshal([]byte(answer), &message) != nil {
			t.Fatal(err, answer)
		}
		var commands []string
		for _, b := range message.Content {
			if b.Input.Command != "" {
				commands = append(commands, b.Input.Command)
			}
		}
		if fmt.Sprint(commands) != fmt.Sprint(c.want) || message.StopReason != c.stop {
			t.Errorf("after %d results: %q, %s", c.results, commands, message.StopReason)
		}
		if message.Model != "scripted-demo" || c.results != 2 && !strings.HasPrefix(message.Content[0].Text, "[scripted] ") {
			t.Errorf("not labelled as scripted: %s", answer)
		}
	}
}

func TestStreamIsWellFormed(t *testing.T) {
	s := &Server{Script: Script{Turns: []Turn{{Text: "hello", Bash: []string{`echo "a"`}}}}}
	_, answer, err := post(t, s, conversation(0, true))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	input := ""
	for lines := bufio.NewScanner(strings.NewReader(answer)); lines.Scan(); {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			var e struct {
				Type  string
				Delta struct {
					PartialJSON string `json:"partial_json"`
				}
			}
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				t.Fatal(err, data)
			}
			names = append(names, e.Type)
			input += e.Delta.PartialJSON
		}
	}
	const block = " content_block_start ping content_block_delta content_block_stop"
	if got := strings.Join(names, " "); got != "message_start"+block+block+" message_delta message_stop" {
		t.Errorf("events: %s", got)
	}
	if input != `{"command":"echo \"a\"","description":"scripted step"}` {
		t.Errorf("input: %s", input)
	}
}

func TestWrongCredentialIsAnswered401AndNoneIsKept(t *testing.T) {
	s := &Server{APIKey: "right-key"}
	for key, want := range map[string]int{"right-key": 200, "wrong-key": 401, "": 401} {
		if status, body, _ := post(t, s, conversation(0, false), "X-Api-Key", key); status != want {
			t.Errorf("%q: %d %s", key, status, body)
		}
	}
	if kept := fmt.Sprintf("%+v", s.Requests()); strings.Contains(kept, "right-key") || strings.Contains(kept, "wrong-key") {
		t.Error("a credential is kept")
	}
	o := &Server{Bearer: "tok"}
	if status, _, _ := post(t, o, conversation(0, false), "Authorization", "Bearer tok"); status != 401 {
		t.Error("an OAuth token was taken without its beta header")
	}
}

func TestFaultsComeInOrder(t *testing.T) {
	s := &Server{Faults: []Fault{{Status: 529}, {Status: 429, Retry: "1"}, {Truncate: true}}}
	for i, want := range []int{529, 429, 200, 200} {
		status, body, err := post(t, s, conversation(0, true))
		if status != want || (err != nil) != (i == 2) {
			t.Errorf("request %d: %d %v %s", i, status, err, body)
		}
	}
	hang := &Server{Always: &Fault{Hang: true}}
	front := httptest.NewServer(hang)
	defer front.Close() // waits for the handler, which ends with its client
	ctx, leave := context.WithCancel(t.Context())
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, front.URL+"/v1/messages", strings.NewReader(conversation(0, true)))
	done := make(chan error, 1)
	go func() {
		_, err := http.DefaultClient.Do(req)
		done <- err
	}()
	for len(hang.Requests()) == 0 {
		select {
		case err := <-done:
			t.Fatal("answered:", err)
		default:
		}
	}
	leave()
	if err := <-done; err == nil {
		t.Error("a hanging request was answered")
	}
}
