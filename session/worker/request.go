package worker

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/org/claude-sandbox/agent/structured"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/lazyregexp"
	"github.com/org/claude-sandbox/internal/visible"
)

// MaxLine is the longest line of a request, in bytes, without its end.
const MaxLine = 8 << 20

// Request is one line that the server reads.
type Request struct {
	ID string `json:"id"` // of the client's choice: 1 to 100 letters, digits and ._:-
	Op Op     `json:"op"`

	// Workflow names a git worktree in which the request works; "" = the project's folder.
	Workflow string `json:"workflow,omitempty"` // exec, prompt, finish
	// Dir is where in it, slash-separated; "" = at its root.
	Dir string `json:"cwd,omitempty"` // exec, prompt
	// Timeout is such as "90s" or "10m"; "" = no limit.
	Timeout string `json:"timeout,omitempty"` // exec, prompt

	Command []string `json:"command,omitempty"` // exec
	Stdin   string   `json:"stdin,omitempty"`   // exec

	Mode         Mode            `json:"mode,omitempty"`          // prompt; "" = Agentic
	Prompt       string          `json:"prompt,omitempty"`        // prompt
	Instructions string          `json:"instructions,omitempty"`  // prompt: of the system prompt
	AllowedTools []string        `json:"allowed_tools,omitempty"` // prompt: of Claude's own; none given = all
	Schema       json.RawMessage `json:"schema,omitempty"`        // prompt: a JSON Schema that the answer must fit
	Model        string          `json:"model,omitempty"`         // prompt
	MaxTurns     int             `json:"max_turns,omitempty"`     // prompt; 0 = the command's
	MaxBudgetUSD float64         `json:"max_budget_usd,omitempty"`

	Target string `json:"target,omitempty"` // cancel: the id of a request

	timeout time.Duration
	schema  *structured.Schema
}

// Op is what a request asks for.
type Op string

// The operations.
const (
	Ensure Op = "ensure" // have the sandbox running
	Exec   Op = "exec"   // run a program in it
	Prompt Op = "prompt" // have Claude answer
	Finish Op = "finish" // commit what a workflow left, and remove its worktree
	Cancel Op = "cancel" // end another request
	Stop   Op = "stop"   // end the sandbox
)

// Mode is how Claude answers a prompt.
type Mode string

// The modes.
const (
	Agentic  Mode = "agentic"  // it works with tools until it is done; instructions are added to its own
	Generate Mode = "generate" // it answers once without tools; instructions are the whole system prompt
)

// members are those of each operation, besides id and op.
var members = map[Op][]string{
	Ensure: {},
	Exec:   {"command", "stdin", "cwd", "workflow", "timeout"},
	Prompt: {"prompt", "mode", "instructions", "allowed_tools", "schema", "model", "max_turns", "max_budget_usd", "cwd", "workflow",
		"timeout"},
	Finish: {"workflow"},
	Cancel: {"target"},
	Stop:   {},
}

var (
	goodID       = lazyregexp.New(`^[A-Za-z0-9._:-]{1,100}$`)
	goodWorkflow = lazyregexp.New(`^[a-z0-9](?:[a-z0-9_-]|\.[a-z0-9_-]){0,59}$`)
	goodTool     = lazyregexp.New(`^[A-Za-z][A-Za-z0-9_]{0,99}$`)
)

// Error is why a request failed.
type Error struct {
	Code Code
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

func failure(code Code, hint, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	if hint != "" {
		err = diag.WithHint(err, "%s", hint)
	}
	return &Error{code, err}
}

// Parse reads a line. On an error the request has its id alone, where the line says one, and its
// operation, when no more than a member of that is wrong.
func Parse(line []byte) (Request, error) {
	id := idOf(line)
	fail := func(code Code, hint, format string, args ...any) (Request, error) {
		return Request{ID: id}, failure(code, hint, format, args...)
	}
	if len(line) > MaxLine {
		return fail(LineTooLong, "give large texts to a program of the sandbox in a file", "the line is longer than %d bytes", MaxLine)
	}
	if !utf8.Valid(line) {
		return fail(InvalidJSON, "", "the line is no UTF-8")
	}
	given, err := names(line)
	if err != nil {
		return fail(InvalidJSON, "a request is one JSON object on one line", "the line is no JSON object: %v", err)
	}
	var r Request
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&r); err != nil {
		wrong := (*json.UnmarshalTypeError)(nil)
		if errors.As(err, &wrong) {
			return fail(InvalidRequest, "", "the member %q is no %s", wrong.Field, kindOf(wrong.Type))
		}
		return fail(InvalidRequest, "", "%s", visible.Line(strings.TrimPrefix(err.Error(), "json: ")))
	}
	r.ID = id
	if !goodID.MatchString(id) {
		return fail(InvalidRequest, `give each request a name: "id": "1"`,
			"the id is missing, or has other characters than letters, digits and ._:-")
	}
	known, ok := members[r.Op]
	if !ok {
		return fail(InvalidRequest, "the operations are ensure, exec, prompt, finish, cancel and stop", "there is no operation %q", r.Op)
	}
	for i, name := range given {
		switch {
		case slices.Contains(given[:i], name):
			return Request{ID: id, Op: r.Op}, failure(InvalidRequest, "", "the member %q is there twice", name)
		case name != "id" && name != "op" && !slices.Contains(known, name):
			return Request{ID: id, Op: r.Op}, failure(InvalidRequest, "", "the operation %s takes no %q", r.Op, name)
		}
	}
	if err := r.check(); err != nil {
		return Request{ID: id, Op: r.Op}, err
	}
	return r, nil
}

// kindOf is a type in the words of JSON.
func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Slice:
		return "list of strings"
	case reflect.Int:
		return "whole number"
	case reflect.Float64:
		return "number"
	}
	return "object of this protocol"
}

// check checks the members of an operation.
func (r *Request) check() error {
	if r.Timeout != "" {
		var err error
		if r.timeout, err = time.ParseDuration(r.Timeout); err != nil || r.timeout <= 0 {
			return failure(InvalidRequest, `give a number and a unit, such as "10m"`, "timeout %q is no time", r.Timeout)
		}
	}
	if r.Workflow != "" && !goodWorkflow.MatchString(r.Workflow) {
		return failure(InvalidRequest, "", "the workflow's name %q has other characters than lower case letters, digits and ._-", r.Workflow)
	}
	if r.Dir != "" && (path.IsAbs(r.Dir) || path.Clean("/"+r.Dir) != "/"+strings.TrimSuffix(r.Dir, "/") || strings.ContainsRune(r.Dir, 0)) {
		return failure(InvalidRequest, "", "cwd %q is no path below the project's folder", r.Dir)
	}
	switch r.Op {
	case Exec:
		if len(r.Command) == 0 || r.Command[0] == "" {
			return failure(InvalidRequest, `such as "command": ["git", "status"]`, "there is no command")
		}
		if slices.ContainsFunc(r.Command, func(arg string) bool { return strings.ContainsRune(arg, 0) }) {
			return failure(InvalidRequest, "", "an argument of the command has a zero byte")
		}
	case Prompt:
		return r.checkPrompt()
	case Finish:
		if r.Workflow == "" {
			return failure(InvalidRequest, "", "finish names no workflow")
		}
	case Cancel:
		if r.Target == "" {
			return failure(InvalidRequest, "", "cancel names no target")
		}
	}
	return nil
}

func (r *Request) checkPrompt() (err error) {
	switch {
	case strings.TrimSpace(r.Prompt) == "":
		return failure(EmptyPrompt, "", "the prompt is empty")
	case r.Mode != "" && r.Mode != Agentic && r.Mode != Generate:
		return failure(InvalidRequest, "the modes are agentic and generate", "there is no mode %q", r.Mode)
	case r.Mode == Generate && r.AllowedTools != nil:
		return failure(InvalidRequest, "the mode agentic has tools", "the mode generate works without tools")
	case r.MaxTurns < 0 || r.MaxBudgetUSD < 0:
		return failure(InvalidRequest, "", "a limit is below 0")
	case strings.HasPrefix(r.Model, "-") || strings.ContainsAny(r.Model+r.Instructions, "\x00"):
		return failure(InvalidRequest, "", "the model or the instructions hold what no argument can")
	case len(r.Instructions) > MaxInstructions:
		return failure(InvalidRequest, "put the rest into the prompt", "the instructions are longer than %d bytes", MaxInstructions)
	}
	for _, tool := range r.AllowedTools {
		if !goodTool.MatchString(tool) {
			return failure(InvalidRequest, "", "%q is no name of a tool", tool)
		}
	}
	if r.Schema != nil {
		if r.schema, err = structured.Parse(r.Schema); err != nil {
			return &Error{InvalidSchema, err}
		}
	}
	return nil
}

// MaxInstructions bounds the instructions, in bytes: they are an argument of a program.
const MaxInstructions = 100 << 10

// names are the names of an object's members, in their order.
func names(text []byte) (given []string, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if t, err := decoder.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("it does not begin with {")
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, visibleError(err)
		}
		given = append(given, name.(string))
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, visibleError(err)
		}
	}
	if _, err := decoder.Token(); err != nil {
		return nil, visibleError(err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("something follows the object")
	}
	return given, nil
}

func visibleError(err error) error { return errors.New(visible.Line(err.Error())) }

// idOf is the id of a line that may be no request, or only the beginning of one; "" = it
// cannot be read.
func idOf(text []byte) string {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if t, err := decoder.Token(); err != nil || t != json.Delim('{') {
		return ""
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return ""
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return ""
		}
		var id string
		if name == "id" && json.Unmarshal(value, &id) == nil && goodID.MatchString(id) {
			return id
		}
	}
	return ""
}

// lines reads lines, and of one that is too long its beginning.
type lines struct{ in *bufio.Reader }

// next returns a line without its end; one that is longer than MaxLine is cut behind that.
func (l lines) next() (line []byte, err error) {
	for {
		part, more, err := l.in.ReadLine()
		if err != nil {
			return nil, err
		}
		line = append(line, part[:min(len(part), MaxLine+1-len(line))]...)
		if !more {
			return line, nil
		}
	}
}
