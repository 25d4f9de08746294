package agent

import (
	"fmt"
	"math"
	"time"
)

// Event is something the agent's output says: Init, Typed, Text, ToolUse, ToolResult,
// APIRetry, Denial or Result. Lines of other types raise no event.
type Event interface{ isEvent() }

// Init is the start of a session. Hooks can write lines before it.
type Init struct {
	SessionID string
	Model     string
	Version   string // of Claude Code
	MCP       []MCPServer
	Tools     []string // names
}

// MCPServer is a server of the Model Context Protocol as the session begins.
type MCPServer struct {
	Name   string `json:"name"`
	Status string `json:"status"` // such as "connected", "pending" or "failed"
}

// Typed is something that a person said on the terminal: a prompt, or a command of
// Claude Code's such as "/compact". Only kept conversations have it, see package
// conversation.
type Typed struct{ Text string }

// Text is something the assistant said, or an API error, which claude prints as an
// assistant's message too.
type Text struct{ Text string }

// ToolUse is a tool call.
type ToolUse struct {
	ID       string
	Name     string // such as "Bash"
	Argument string // the telling argument (command, path, URL, pattern), one line, at most 200 bytes
}

// ToolResult is the answer to the tool call with the same id.
type ToolResult struct {
	ID      string
	IsError bool
	Text    string // as the agent sees it; "" when it holds no text
}

// APIRetry says that a request to the model API failed and will be repeated.
type APIRetry struct {
	Attempt    int // 1-based
	MaxRetries int
	Delay      time.Duration
	Status     int    // HTTP status; 0 when no answer came
	Error      string // kind of the error
}

// Hopeless reports that no repetition can help: the credential is
// wrong. Claude would go on for about three minutes; a caller ends the process
// and judges with EndedAuth.
func (r APIRetry) Hopeless() bool { return r.Status == 401 || r.Status == 403 }

// String says it in half a sentence. The error's kind is the agent's word: at
// most 60 bytes of it are shown, and the caller makes them safe.
func (r APIRetry) String() string {
	answer := fmt.Sprintf("answered %d (%s)", r.Status, r.Error[:min(len(r.Error), 60)])
	if r.Status == 0 {
		answer = "gave no whole answer"
	}
	return fmt.Sprintf("the model API %s: try %d of %d in %s", answer, r.Attempt, r.MaxRetries, r.Delay.Round(100*time.Millisecond))
}

// Denial is a tool call that claude's permission rules refused.
type Denial struct {
	ToolUseID string
	ToolName  string
	Message   string // why; "" in the list of a Result
}

// Result is the last word of a run.
type Result struct {
	Subtype        string // success, error_max_turns, error_max_budget_usd, error_during_execution, …; "success" alone means nothing
	IsError        bool
	Text           string   // the final answer, or the error's text
	Errors         []string // filled by subtypes other than success
	TerminalReason string   // completed, max_turns, budget_exhausted, api_error, …
	APIErrorStatus int      // HTTP status of the API's last error; 0 = none
	SessionID      string
	Turns          int
	CostUSD        float64 // at list price, as claude computes it
	Usage          map[string]ModelUsage
	Denials        []Denial
	Structured     []byte // JSON that follows claude's --json-schema; nil when the model gave none
	LocalCommand   string // the prompt was only this command of claude's own, which asks no model; such as "cost"
}

// ModelUsage counts one model's tokens, subagents included.
type ModelUsage struct {
	Input, Output, CacheRead, CacheWrite int64
}

// Tokens adds up what the result says of its models; 0 for a nil Result.
func (r *Result) Tokens() int64 {
	var sum int64
	if r != nil {
		for _, u := range r.Usage {
			sum += u.Input + u.Output + u.CacheRead + u.CacheWrite
		}
	}
	return sum
}

func (Init) isEvent()       {}
func (Typed) isEvent()      {}
func (Text) isEvent()       {}
func (ToolUse) isEvent()    {}
func (ToolResult) isEvent() {}
func (APIRetry) isEvent()   {}
func (Denial) isEvent()     {}
func (Result) isEvent()     {}

// RoundUSD rounds an amount to a millionth of a dollar. Sums of prices have
// more digits than anybody was charged for, such as 0.10683999999999999.
func RoundUSD(amount float64) float64 { return math.Round(amount*1e6) / 1e6 }
