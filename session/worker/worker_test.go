package worker

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/sandbox"
)

func TestParse(t *testing.T) {
	for line, want := range map[string]Code{
		`{"id":"1","op":"ensure"}`: "",
		`{"id":"1","op":"exec","command":["a"],"cwd":"b/c","timeout":"1m","stdin":"\u0000"}`: "",
		`{"id":"1","op":"prompt","prompt":"x","schema":{"type":"object"}}`:                   "",
		``:                                  InvalidJSON,
		`x`:                                 InvalidJSON,
		`[]`:                                InvalidJSON,
		`{"id":"1"`:                         InvalidJSON,
		`{"id":"1"} {}`:                     InvalidJSON,
		"{\"id\":\"1\xff\"}":                InvalidJSON,
		`{}`:                                InvalidRequest,
		`{"op":"ensure"}`:                   InvalidRequest,
		`{"id":1,"op":"stop"}`:              InvalidRequest,
		`{"id":"a b","op":"ensure"}`:        InvalidRequest,
		`{"ID":"1","op":"ensure"}`:          InvalidRequest,
		`{"id":"1","id":"2","op":"ensure"}`: InvalidRequest,
		`{"id":"1","op":"fly"}`:             InvalidRequest,
		`{"id":"1","op":"ensure","command":["a"]}`:                                   InvalidRequest,
		`{"id":"1","op":"ensure","Op":"stop"}`:                                       InvalidRequest,
		`{"id":"1","op":"ensure","privileged":true}`:                                 InvalidRequest,
		`{"id":"1","op":"exec"}`:                                                     InvalidRequest,
		`{"id":"1","op":"exec","command":"ls"}`:                                      InvalidRequest,
		`{"id":"1","op":"exec","command":["a\u0000b"]}`:                              InvalidRequest,
		`{"id":"1","op":"exec","command":["a"],"cwd":"/etc"}`:                        InvalidRequest,
		`{"id":"1","op":"exec","command":["a"],"cwd":"../.."}`:                       InvalidRequest,
		`{"id":"1","op":"exec","command":["a"],"timeout":"-1s"}`:                     InvalidRequest,
		`{"id":"1","op":"exec","command":["a"],"workflow":"../x"}`:                   InvalidRequest,
		`{"id":"1","op":"exec","command":["a"],"workflow":"-x"}`:                     InvalidRequest,
		`{"id":"1","op":"exec","command":["a"],"workflow":"a..b"}`:                   InvalidRequest,
		`{"id":"1","op":"finish"}`:                                                   InvalidRequest,
		`{"id":"1","op":"cancel"}`:                                                   InvalidRequest,
		`{"id":"1","op":"prompt","prompt":" \n"}`:                                    EmptyPrompt,
		`{"id":"1","op":"prompt"}`:                                                   EmptyPrompt,
		`{"id":"1","op":"prompt","prompt":"x","mode":"wild"}`:                        InvalidRequest,
		`{"id":"1","op":"prompt","prompt":"x","model":"--bare"}`:                     InvalidRequest,
		`{"id":"1","op":"prompt","prompt":"x","max_turns":-1}`:                       InvalidRequest,
		`{"id":"1","op":"prompt","prompt":"x","allowed_tools":["a b"]}`:              InvalidRequest,
		`{"id":"1","op":"prompt","prompt":"x","allowed_tools":["--x"]}`:              InvalidRequest,
		`{"id":"1","op":"prompt","prompt":"x","mode":"generate","allowed_tools":[]}`: InvalidRequest,
		`{"id":"1","op":"prompt","prompt":"x","schema":{"$ref":"file:///etc"}}`:      InvalidSchema,
	} {
		_, err := Parse([]byte(line))
		var e *Error
		errors.As(err, &e)
		if (err == nil) != (want == "") || err != nil && e.Code != want {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
	long := `{"id":"1","op":"exec","command":["` + strings.Repeat("x", MaxLine)
	if r, err := Parse([]byte(long)); asError(err).Code != LineTooLong || r.ID != "1" {
		t.Errorf("a long line: %+v %v", r.ID, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"id":"1","op":"exec","command":["a"],"cwd":"b"}`))
	f.Add([]byte(`{"id":"1","op":"prompt","prompt":"x","schema":{"type":"object"}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := Parse(line)
		if err != nil {
			return
		}
		if !goodID.MatchString(r.ID) || strings.Contains("/"+r.Dir+"/", "/../") {
			t.Errorf("%q is taken: %+v", line, r)
		}
		again, _ := json.Marshal(r)
		if second, err := Parse(again); err != nil || second.Op != r.Op || second.ID != r.ID {
			t.Errorf("%q is read as %s, which is %v", line, again, err)
		}
	})
}

// fake is a sandbox of this test.
type fake struct {
	mu     sync.Mutex
	ended  chan error
	exec   func(ctx context.Context, o sandbox.ExecOptions) (int, error)
	prompt func(ctx context.Context, o sandbox.PromptOptions) (*sandbox.Prompted, error)
	ends   int
}

func (f *fake) ID() string { return "run-1" }

func (f *fake) Exec(ctx context.Context, o sandbox.ExecOptions) (int, error) { return f.exec(ctx, o) }

func (f *fake) Prompt(ctx context.Context, o sandbox.PromptOptions) (*sandbox.Prompted, error) {
	return f.prompt(ctx, o)
}

func (f *fake) End() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ends++; f.ends == 1 {
		f.ended <- nil
	}
}

// talk is a client at a server with a fake sandbox.
type talk struct {
	*testing.T
	in   *io.PipeWriter
	out  *bufio.Reader
	done chan error
}

func newTalk(t *testing.T, start Start) *talk {
	in, to := io.Pipe()
	from, out := io.Pipe()
	k := &talk{T: t, in: to, out: bufio.NewReader(from), done: make(chan error, 1)}
	go func() {
		err := Serve(t.Context(), in, out, start)
		out.Close()
		k.done <- err
	}()
	t.Cleanup(func() { to.Close(); from.Close() })
	return k
}

func (k *talk) send(line string) {
	k.Helper()
	if _, err := fmt.Fprintln(k.in, line); err != nil {
		k.Fatal(err)
	}
}

func (k *talk) next() Message {
	k.Helper()
	line, err := k.out.ReadBytes('\n')
	var m Message
	if err == nil {
		err = json.Unmarshal(line, &m)
	}
	if err != nil {
		k.Fatalf("%v: %s", err, line)
	}
	return m
}

// want sends a request, and its last message must be of a type, and with a code.
func (k *talk) want(line, kind string, code Code) Message {
	k.Helper()
	k.send(line)
	for {
		if m := k.next(); m.Last {
			if m.Type != kind || m.Error != code {
				k.Errorf("%.100s: %+v, want %s %s", line, m, kind, code)
			}
			return m
		}
	}
}

func startFake(f *fake) Start {
	f.ended = make(chan error, 1)
	return func(context.Context) (*Running, error) {
		return &Running{Sandbox: f, Folder: "/workspace", Ended: f.ended}, nil
	}
}

// A line that is no request is answered, and the worker goes on.
func TestBadLinesEndNothing(t *testing.T) {
	f := &fake{exec: func(context.Context, sandbox.ExecOptions) (int, error) { return 3, nil }}
	k := newTalk(t, startFake(f))
	k.want(`{"id":"0","op":"exec","command":["a"]}`, "error", NotRunning)
	k.want(`not json`, "error", InvalidJSON)
	k.want(`{"id":"1","op":"ensure"}`, "ready", "")
	k.want(`{"id":"2","op":"ensure","x":1}`, "error", InvalidRequest)
	if m := k.want(`{"id":"3","op":"exec","command":["`+strings.Repeat("x", MaxLine+10)+`"]}`, "error", LineTooLong); m.ID != "3" {
		t.Errorf("the long line's answer has the id %q", m.ID)
	}
	k.send("")
	if m := k.want(`{"id":"4","op":"exec","command":["a"]}`, "exit", ""); *m.Exit != 3 {
		t.Errorf("%+v", m)
	}
	k.want(`{"id":"4","op":"exec","command":["a"],"workflow":"w"}`, "error", NoWorktree)
	k.want(`{"id":"5","op":"cancel","target":"4"}`, "error", NoSuch)
	k.want(`{"id":"6","op":"finish","workflow":"w"}`, "error", NoSuch)
	k.want(`{"id":"7","op":"stop"}`, "stopped", "")
	k.want(`{"id":"8","op":"stop"}`, "stopped", "")
}

// Each reason that a sandbox does not start for has a code of its own.
func TestFailuresToStartAreDistinct(t *testing.T) {
	seen := map[Code]bool{}
	for number, want := range startCodes {
		k := newTalk(t, func(context.Context) (*Running, error) { return nil, exitcode.With(number, errors.New("why")) })
		if m := k.want(`{"id":"1","op":"ensure"}`, "error", want); m.Message != "why" {
			t.Errorf("%+v", m)
		}
		seen[want] = true
	}
	if len(seen) < 8 {
		t.Errorf("only %d codes", len(seen))
	}
}

// blocking runs until its request ends.
func blocking(ctx context.Context, o sandbox.ExecOptions) (int, error) {
	fmt.Fprint(o.Stdout, "begun")
	<-ctx.Done()
	return 0, context.Cause(ctx)
}

// Each way in which a request ends early has a code of its own.
func TestRequestsThatEndEarly(t *testing.T) {
	f := &fake{exec: blocking}
	k := newTalk(t, startFake(f))
	k.want(`{"id":"1","op":"ensure"}`, "ready", "")
	begin := func(id string) {
		k.send(`{"id":"` + id + `","op":"exec","command":["a"]}`)
		if m := k.next(); m.Type != "stdout" || m.Text != "begun" {
			t.Fatalf("%+v", m)
		}
	}
	k.want(`{"id":"t","op":"exec","command":["a"],"timeout":"1ms"}`, "error", TimedOut)
	begin("a")
	k.want(`{"id":"a","op":"exec","command":["a"]}`, "error", IDInUse)
	k.send(`{"id":"c","op":"cancel","target":"a"}`)
	for range 2 {
		if m := k.next(); m.ID == "a" && m.Error != Cancelled || m.ID == "c" && m.Type != "cancelled" {
			t.Errorf("%+v", m)
		}
	}
	begin("b")
	k.send(`{"id":"s","op":"stop"}`)
	for range 2 {
		if m := k.next(); m.ID == "b" && m.Error != Stopped || m.ID == "s" && m.Type != "stopped" {
			t.Errorf("%+v", m)
		}
	}
	*f = fake{exec: blocking, ended: f.ended}
	k.want(`{"id":"1","op":"ensure"}`, "ready", "")
	begin("d")
	f.ended <- exitcode.With(exitcode.Internal, errors.New("the firewall ended"))
	for range 2 {
		if m := k.next(); m.ID == "d" && m.Error != SandboxEnded || m.ID == "" && (m.Type != "ended" || m.Message != "the firewall ended") {
			t.Errorf("%+v", m)
		}
	}
	k.want(`{"id":"e","op":"exec","command":["a"]}`, "error", NotRunning)
}

// The conclusions of a prompt are data, or failures with codes of their own; the usage is
// the last message of all.
func TestPrompts(t *testing.T) {
	var outcome agent.Conclusion
	var failure error
	f := &fake{prompt: func(ctx context.Context, o sandbox.PromptOptions) (*sandbox.Prompted, error) {
		fmt.Fprint(o.Stdout, "{\"type\":\"system\"}\nno json\n{\"type\":\"a\xff\"}\n{\"type\":\"result\"}\n")
		return &sandbox.Prompted{Outcome: agent.Outcome{Conclusion: outcome, Message: "so"}, Answers: 2, USD: 0.5,
			Agent: &agent.Result{Text: "answer", Structured: []byte(`{"a": 1}`)}}, failure
	}}
	k := newTalk(t, startFake(f))
	k.want(`{"id":"1","op":"ensure"}`, "ready", "")
	for conclusion, want := range map[agent.Conclusion]Code{
		agent.Success: "", agent.Failure: "", agent.MaxTurns: "", agent.MaxBudget: "", agent.MaxRepeats: "",
		agent.SchemaMismatch: SchemaMismatch, agent.APIError: APIError, agent.AuthError: AuthError, agent.NoResult: NoResult,
		agent.Tampered: Tampered,
	} {
		outcome = conclusion
		k.send(`{"id":"p","op":"prompt","prompt":"x","schema":{"type":"object"}}`)
		for range 2 {
			if m := k.next(); m.Type != "event" {
				t.Errorf("%s: %+v", conclusion, m)
			}
		}
		m := k.next()
		switch {
		case m.Error != want || m.Last:
			t.Errorf("%s: %+v", conclusion, m)
		case want == "" && (m.Conclusion != string(conclusion) || *m.OK != (conclusion == agent.Success) || m.Text != "answer"):
			t.Errorf("%s: %+v", conclusion, m)
		case (m.Structured != nil) != (conclusion == agent.Success):
			t.Errorf("%s: %s", conclusion, m.Structured)
		}
		if m := k.next(); m.Type != "usage" || !m.Last || m.Requests != 2 || m.USD != 0.5 {
			t.Errorf("%s: %+v", conclusion, m)
		}
	}
	failure = errors.New("the engine is gone")
	k.want(`{"id":"p","op":"prompt","prompt":"x"}`, "usage", "")
}

// A prompt that does not begin ends as others do: an error that says why, and the usage.
func TestPromptsThatDoNotBegin(t *testing.T) {
	f := &fake{
		exec: func(context.Context, sandbox.ExecOptions) (int, error) { return 1, nil }, // there is no folder
		prompt: func(context.Context, sandbox.PromptOptions) (*sandbox.Prompted, error) {
			return nil, sandbox.ErrNotRunning
		},
	}
	k := newTalk(t, startFake(f))
	refused := func(line string, code Code) {
		t.Helper()
		k.send(line)
		if m := k.next(); m.Type != "error" || m.Error != code || m.ID != "p" || m.Last {
			t.Fatalf("%s: %+v, want %s", line, m, code)
		}
		if m := k.next(); m.Type != "usage" || m.ID != "p" || !m.Last || m.Usage == nil || m.Requests != 0 || m.Models == nil {
			t.Errorf("%s: the last message is %+v", line, m)
		}
	}
	refused(`{"id":"p","op":"prompt","prompt":"x"}`, NotRunning)
	k.want(`{"id":"1","op":"ensure"}`, "ready", "")
	refused(`{"id":"p","op":"prompt","prompt":" "}`, EmptyPrompt)
	refused(`{"id":"p","op":"prompt","prompt":"x","schema":1}`, InvalidSchema)
	refused(`{"id":"p","op":"prompt","prompt":"x","command":["a"]}`, InvalidRequest)
	refused(`{"id":"p","op":"prompt","prompt":"x","prompt":"y"}`, InvalidRequest)
	refused(`{"id":"p","op":"prompt","prompt":"x","cwd":"nowhere"}`, BadCwd)
	refused(`{"id":"p","op":"prompt","prompt":"x","workflow":"w"}`, NoWorktree)
	refused(`{"id":"p","op":"prompt","prompt":"x"}`, SandboxEnded)
	f.exec = blocking
	k.send(`{"id":"p","op":"exec","command":["a"]}`)
	k.next()
	k.want(`{"id":"p","op":"prompt","prompt":" "}`, "error", EmptyPrompt) // the usage would be the other request's
	k.want(`{"id":"p","op":"prompt","prompt":"x"}`, "error", IDInUse)
}

func TestHeadless(t *testing.T) {
	base := agent.Headless{Model: "m", AppendSystemPrompt: "network", MCPConfigs: []string{"f"}, MaxTurns: 5}
	for line, want := range map[string]string{
		`{"id":"1","op":"prompt","prompt":"x","instructions":"be brief","allowed_tools":["Bash","Read"],"max_turns":2}`: "--tools=Bash,Read " +
			"network\nbe brief --max-turns 2 --mcp-config=f --model m",
		`{"id":"1","op":"prompt","prompt":"x","allowed_tools":[]}`:                           "--tools= network --max-turns 5",
		`{"id":"1","op":"prompt","prompt":"x","mode":"generate","instructions":"be a poet"}`: "--tools= --system-prompt be a poet",
	} {
		r, err := Parse([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		args := strings.Join(r.headless(base).Args(), " ")
		for word := range strings.SplitSeq(want, " ") {
			if !strings.Contains(args, word) {
				t.Errorf("%s: %s lacks %s", line, args, word)
			}
		}
		if r.Mode == Generate && (strings.Contains(args, "network") || strings.Contains(args, "--mcp-config")) {
			t.Errorf("%s: %s", line, args)
		}
	}
}

// Attack: the client leaves, by its input or by its output, and what it started lives on.
func TestAttackNothingOutlivesTheClient(t *testing.T) {
	for name, leave := range map[string]func(k *talk, from *io.PipeReader){
		"input":  func(k *talk, _ *io.PipeReader) { k.in.Close(); io.Copy(io.Discard, k.out) },
		"output": func(k *talk, from *io.PipeReader) { from.Close(); k.send("x"); k.Cleanup(func() { k.in.Close() }) },
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{exec: blocking}
			start := startFake(f)
			in, to := io.Pipe()
			from, out := io.Pipe()
			k := &talk{T: t, in: to, out: bufio.NewReader(from), done: make(chan error, 1)}
			go func() { k.done <- Serve(t.Context(), in, out, start); out.Close() }()
			k.want(`{"id":"1","op":"ensure"}`, "ready", "")
			k.send(`{"id":"2","op":"exec","command":["a"]}`)
			k.next()
			leave(k, from)
			select {
			case <-k.done:
			case <-time.After(20 * time.Second):
				t.Fatal("the worker goes on")
			}
			if f.ends == 0 {
				t.Error("the sandbox goes on")
			}
		})
	}
}

// Bytes of programs arrive as they are, whatever they are and however they are cut.
func TestTextIsWhole(t *testing.T) {
	want := []byte("ä€😀\xff\xfe\x00 plain \xe2\x82")
	for size := 1; size <= len(want); size++ {
		var lines bytes.Buffer
		out := &text{to: &writer{out: &lines}, id: "1", kind: "stdout"}
		for rest := want; len(rest) > 0; rest = rest[min(size, len(rest)):] {
			out.Write(rest[:min(size, len(rest))])
		}
		out.flush()
		var got []byte
		for decoder := json.NewDecoder(&lines); decoder.More(); {
			var m struct {
				Text   string
				Base64 []byte
			}
			if err := decoder.Decode(&m); err != nil {
				t.Fatal(err)
			}
			got = append(append(got, m.Text...), m.Base64...)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("in pieces of %d: %q", size, got)
		}
	}
}
