package worker

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/org/claude-sandbox/credproxy/spending"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/visible"
)

// Message is one line that the server writes. Members without a value are left out.
type Message struct {
	ID   string `json:"id,omitempty"` // of the request; "" = it could not be read, or the message is about no request
	Type string `json:"type"`
	Last bool   `json:"last,omitempty"` // no other message of this request comes

	Place
	Output
	Event json.RawMessage `json:"event,omitempty"` // event: a line of Claude's stream-json output
	Task
	*Usage
	Branch
	Target string `json:"target,omitempty"` // cancelled
	Failure
}

// Place is the sandbox.
type Place struct {
	Run     string `json:"run,omitempty"`     // ready, stopped, ended: by which sbx-devc's commands know the sandbox
	Folder  string `json:"folder,omitempty"`  // ready: of the project, in the sandbox
	Started *bool  `json:"started,omitempty"` // ready: the sandbox was not there before
}

// Output is of a program.
type Output struct {
	Text   string `json:"text,omitempty"`   // stdout, stderr; result: the answer
	Base64 string `json:"base64,omitempty"` // stdout, stderr: bytes that are no UTF-8, in the place of text
	Exit   *int   `json:"code,omitempty"`   // exit: the program's code, 128 and the number for a signal
}

// Task is how a prompt's task went.
type Task struct {
	OK         *bool           `json:"ok,omitempty"`         // result
	Conclusion string          `json:"conclusion,omitempty"` // result
	Structured json.RawMessage `json:"structured,omitempty"` // result: the answer, which fits the schema
}

// Branch is where a workflow's work is, in the sandbox's repository.
type Branch struct {
	Workflow string `json:"workflow,omitempty"` // finished, left
	Name     string `json:"branch,omitempty"`   // finished
	Head     string `json:"head,omitempty"`     // finished: its commit
}

// Failure is what went wrong.
type Failure struct {
	Error   Code   `json:"error,omitempty"`   // error, ended, left
	Message string `json:"message,omitempty"` // the same, and a result that is not ok
	Hint    string `json:"hint,omitempty"`    // error, ended, left
}

// Usage is what a prompt took, counted outside of the sandbox.
type Usage struct {
	Requests   int64        `json:"requests"`
	Input      int64        `json:"input_tokens"`
	Output     int64        `json:"output_tokens"`
	CacheRead  int64        `json:"cache_read_tokens"`
	CacheWrite int64        `json:"cache_write_tokens"`
	USD        float64      `json:"usd"` // at list price
	Models     []ModelUsage `json:"models"`
}

// ModelUsage is the part of a model.
type ModelUsage struct {
	Model string  `json:"model"`
	USD   float64 `json:"usd"`
}

func modelsOf(all []spending.Spent) []ModelUsage {
	models := []ModelUsage{}
	for _, m := range all {
		models = append(models, ModelUsage{m.Model, m.USD})
	}
	return models
}

// Code says why a request failed.
type Code string

// The codes of requests that are none, and of the sandbox.
const (
	InvalidJSON    Code = "invalid_json"    // the line is no JSON object
	LineTooLong    Code = "line_too_long"   // it is longer than MaxLine
	InvalidRequest Code = "invalid_request" // a member is missing, unknown or wrong
	IDInUse        Code = "id_in_use"       // a request of this id goes on
	TooMany        Code = "too_many"        // MaxRequests go on

	NotRunning   Code = "not_running"   // there is no sandbox: ensure starts one
	SandboxEnded Code = "sandbox_ended" // it ended by itself, or by its time limit
	Stopped      Code = "stopped"       // stop ended it
	Cancelled    Code = "cancelled"     // cancel ended the request
	TimedOut     Code = "timeout"       // the request's time was over

	BadConfig   Code = "config"     // start: the settings make no sense
	NoInput     Code = "no_input"   // start: a folder or file is missing
	NoEngine    Code = "no_engine"  // start: no container engine answers
	Refused     Code = "refused"    // start: the project's file asks for more than was allowed
	Locked      Code = "locked"     // start: somebody else uses it
	NoKey       Code = "no_key"     // start: there is no key for the model API
	NoStart     Code = "no_start"   // start: a container did not start
	Internal    Code = "internal"   // our own fault
	BadCwd      Code = "bad_cwd"    // the folder is not there
	NoSuch      Code = "no_such"    // cancel, finish: there is no such request or workflow
	NoWorktree  Code = "no_clone"   // a workflow needs a clone or a copy
	GitFailed   Code = "git_failed" // the worktree could not be made or removed
	EmptyPrompt Code = "empty_prompt"

	InvalidSchema  Code = "invalid_schema"  // the schema is none
	SchemaMismatch Code = "schema_mismatch" // the answer does not fit it
	NoResult       Code = "no_result"       // Claude ended without a result
	APIError       Code = "api_error"       // the model API failed, or does not answer
	AuthError      Code = "auth_error"      // it refused the key
	Tampered       Code = "tampered"        // the output cannot be Claude's alone
)

// writer writes messages, a line each. It is safe for concurrent use.
type writer struct {
	mu   sync.Mutex
	out  io.Writer
	lost error
	gone func() // called once when the reader has gone
}

func (w *writer) write(m Message) {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(m); err != nil { // of an event that is no JSON, which is looked at before
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lost != nil {
		return
	}
	if _, w.lost = w.out.Write(line.Bytes()); w.lost != nil {
		w.gone()
	}
}

// last writes the last message of a request.
func (w *writer) last(id string, m Message) {
	m.ID, m.Last = id, true
	w.write(m)
}

// errorMessage is the message of a failure.
func errorMessage(err error) Message {
	e := asError(err)
	return Message{Type: "error", Failure: Failure{e.Code, visible.Line(e.Error()), visible.Line(diag.HintOf(e.Err))}}
}

// text is a stream of a program, in messages of a type.
type text struct {
	to       *writer
	id, kind string
	rest     []byte // the beginning of a character
}

// maxText bounds the bytes of a program in one message.
const maxText = 64 << 10

func (t *text) Write(p []byte) (int, error) {
	all := append(t.rest, p...)
	t.rest = nil
	for len(all) > 0 {
		part := all[:min(len(all), maxText)]
		keep := len(part) - partial(part)
		if keep == 0 {
			break
		}
		t.send(part[:keep])
		all = all[keep:]
	}
	t.rest = bytes.Clone(all)
	return len(p), nil
}

func (t *text) flush() {
	if len(t.rest) > 0 {
		t.send(t.rest)
		t.rest = nil
	}
}

func (t *text) send(p []byte) {
	m := Message{ID: t.id, Type: t.kind, Output: Output{Text: string(p)}}
	if !utf8.Valid(p) {
		m.Output.Text, m.Base64 = "", base64.StdEncoding.EncodeToString(p)
	}
	t.to.write(m)
}

// partial is how many bytes at the end of p begin a character that is not whole.
func partial(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if last := p[len(p)-n]; utf8.RuneStart(last) {
			if last >= utf8.RuneSelf && !utf8.FullRune(p[len(p)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// events are the lines of a Claude, each in a message. A line that is no JSON object or too
// long is left out: the run's transcript has it.
type events struct {
	to   *writer
	id   string
	line []byte
	skip bool
}

func (e *events) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n')
		part := rest
		if end >= 0 {
			part = rest[:end]
		}
		if e.skip = e.skip || len(e.line)+len(part) > MaxLine; !e.skip {
			e.line = append(e.line, part...)
		}
		if end < 0 {
			break
		}
		if line := bytes.TrimSpace(e.line); !e.skip && len(line) > 0 && line[0] == '{' && utf8.Valid(line) && json.Valid(line) {
			e.to.write(Message{ID: e.id, Type: "event", Event: bytes.Clone(line)})
		}
		e.line, e.skip = e.line[:0], false
		rest = rest[end+1:]
	}
	return len(p), nil
}
