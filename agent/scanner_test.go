package agent

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

func sample(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/stream.jsonl") // recorded from Claude Code 2.1.329
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// scan feeds text in pieces of n bytes.
func scan(t testing.TB, text []byte, n int) (*Scanner, []Event, []byte) {
	t.Helper()
	var out bytes.Buffer
	var events []Event
	s := NewScanner(&out, func(e Event) { events = append(events, e) })
	for rest := text; len(rest) > 0; {
		k := min(n, len(rest))
		if _, err := s.Write(rest[:k]); err != nil {
			t.Fatal(err)
		}
		rest = rest[k:]
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return s, events, out.Bytes()
}

func TestScannerReadsARecordedRunAndKeepsEveryByte(t *testing.T) {
	text := sample(t)
	for _, n := range []int{1, 7, 4096, len(text)} {
		s, events, out := scan(t, text, n)
		if !bytes.Equal(out, text) {
			t.Fatalf("pieces of %d: the bytes changed", n)
		}
		var kinds []string
		for _, e := range events {
			kinds = append(kinds, strings.TrimPrefix(fmt.Sprintf("%T", e), "agent."))
		}
		if got := strings.Join(kinds, " "); got != "Init ToolUse ToolResult Text Result" {
			t.Fatalf("pieces of %d: %s", n, got)
		}
		if why := s.Tampered(); why != "" {
			t.Errorf("a recorded run is said to be tampered with: %s", why)
		}
		if init := s.Init(); init.Version != "2.1.329" || len(init.Tools) != 23 || init.Tools[1] != "Bash" {
			t.Errorf("%+v", init)
		}
		if use := events[1].(ToolUse); use.Name != "Bash" || use.Argument != "echo hello > out.txt; cat out.txt; id -un" {
			t.Errorf("%+v", use)
		}
		if result := events[2].(ToolResult); result.Text != "hello\nclaudetest" || result.IsError {
			t.Errorf("%+v", result)
		}
		r := s.Result()
		want := ModelUsage{Input: 24236, Output: 40}
		if r.Text != "All done." || r.IsError || r.Turns != 2 || r.CostUSD != 0.097744 || r.Usage["claude-opus-5-5"] != want {
			t.Errorf("%+v", r)
		}
	}
}

func TestScannerPassesOverWhatItDoesNotKnow(t *testing.T) {
	text := `{"type":"system","subtype":"hook_started","hook":"x"}
not json
{"type":"something_new","a":[1,2]}

[1,2,3]
{"type":"system","subtype":"api_retry","attempt":2,"max_retries":10,"retry_delay_ms":530.5,"error_status":401,` +
		`"error":"authentication_failed"}
{"type":"system","subtype":"api_retry","attempt":1,"error_status":null,"error":{"odd":1}}
{"type":"system","subtype":"permission_denied","tool_name":"Bash","tool_use_id":"t1","message":"no"}
{"type":"assistant","message":{"content":"just text"},"error":{"odd":true}}
{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"a\u001b[2Jb\nc"}},{"type":7},` +
		`{"type":"text","text":"still here"}]}}
{"type":"result","subtype":"error_max_turns","is_error":true,"num_turns":"odd","errors":["Reached maximum number of turns (2)"]}`
	_, events, out := scan(t, []byte(text), len(text))
	if string(out) != text {
		t.Errorf("the bytes changed:\n%s", out)
	}
	want := []Event{
		APIRetry{Attempt: 2, MaxRetries: 10, Delay: 530500 * time.Microsecond, Status: 401, Error: "authentication_failed"},
		APIRetry{Attempt: 1},
		Denial{ToolUseID: "t1", ToolName: "Bash", Message: "no"},
		Text{Text: "just text"},
		ToolUse{ID: "t2", Name: "Bash", Argument: "a [2Jb c"},
		Text{Text: "still here"},
		Result{Subtype: "error_max_turns", IsError: true, Errors: []string{"Reached maximum number of turns (2)"}},
	}
	if !reflect.DeepEqual(events, want) {
		t.Errorf("got\n%+v\nwant\n%+v", events, want)
	}
	if !events[0].(APIRetry).Hopeless() || events[1].(APIRetry).Hopeless() {
		t.Error("401 is hopeless, a network error is not")
	}
}

// A line without an end must not fill the memory, nor hide what follows it.
func TestEndlessLineIsPassedOnInBoundedMemory(t *testing.T) {
	passed := 0
	s := NewScanner(writerFunc(func(p []byte) (int, error) { passed += len(p); return len(p), nil }), nil)
	piece := bytes.Repeat([]byte("x"), 1<<20)
	for range 2 * maxLine >> 20 {
		if _, err := s.Write(piece); err != nil {
			t.Fatal(err)
		}
		if cap(s.line) > 2*maxLine {
			t.Fatalf("keeps %d bytes", cap(s.line))
		}
	}
	if _, err := s.Write([]byte("\n" + `{"type":"result","subtype":"success","is_error":false}` + "\n")); err != nil {
		t.Fatal(err)
	}
	if passed < 2*maxLine || s.Result() == nil {
		t.Errorf("%d bytes passed, result %v", passed, s.Result())
	}
}

// A closed pipe behind the caller must not lose the judgement.
func TestFailingOutputDoesNotStopTheReading(t *testing.T) {
	broken := errors.New("broken pipe")
	s := NewScanner(writerFunc(func([]byte) (int, error) { return 0, broken }), nil)
	if _, err := s.Write(sample(t)); !errors.Is(err, broken) {
		t.Errorf("Write: %v", err)
	}
	if err := s.Close(); !errors.Is(err, broken) || s.Result() == nil {
		t.Errorf("Close: %v, result %v", err, s.Result())
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func FuzzScannerKeepsBytesAndDoesNotDependOnPieces(f *testing.F) {
	f.Add(sample(f), 100)
	f.Add([]byte("{\"type\":\"result\"}\n\n{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"content\":[]}]}}"), 3)
	f.Fuzz(func(t *testing.T, text []byte, n int) {
		if n < 1 {
			t.Skip()
		}
		_, inPieces, out := scan(t, text, n)
		_, whole, _ := scan(t, text, len(text)+1)
		if !bytes.Equal(out, text) {
			t.Error("the bytes changed")
		}
		if !reflect.DeepEqual(inPieces, whole) {
			t.Errorf("in pieces %+v, whole %+v", inPieces, whole)
		}
		for _, e := range whole {
			if use, ok := e.(ToolUse); ok && (len(use.Argument) > maxArgument || strings.ContainsAny(use.Argument, "\x1b\r\n\u009b")) {
				t.Errorf("argument %q", use.Argument)
			}
			if r, ok := e.(Result); ok && Judge(Evidence{Result: &r, Answers: 1}).OK() && (r.IsError || r.Subtype != "success") {
				t.Errorf("success for %+v", r)
			}
		}
	})
}
