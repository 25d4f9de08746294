package agent

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// maxArgument bounds ToolUse.Argument, in bytes.
const maxArgument = 200

// wireLine has the fields of all line types that we read. Fields that may
// have other types in other versions are raw, so that one surprise does not
// lose the line.
type wireLine struct {
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	SessionID string `json:"session_id"`

	// system/init
	Model   string      `json:"model"`
	Version string      `json:"claude_code_version"`
	MCP     []MCPServer `json:"mcp_servers"`
	Tools   []string    `json:"tools"`

	// system/api_retry
	Attempt    int     `json:"attempt"`
	MaxRetries int     `json:"max_retries"`
	DelayMS    float64 `json:"retry_delay_ms"`
	Status     *int    `json:"error_status"`
	Error      any     `json:"error"`

	// system/permission_denied
	ToolName  string `json:"tool_name"`
	ToolUseID string `json:"tool_use_id"`
	Reason    any    `json:"message"` // a text there; a message object in assistant and user lines
}

// keptLine are the members of a line in a kept conversation that say who wrote it.
type keptLine struct {
	Type      string `json:"type"`
	ID        string `json:"sessionId"` // a line of the stream has session_id
	Meta      bool   `json:"isMeta"`    // Claude Code wrote it
	Summary   bool   `json:"isCompactSummary"`
	Sidechain bool   `json:"isSidechain"` // a model wrote it
}

// isTyped reports whether the texts of the line are a person's.
func (k keptLine) isTyped() bool {
	return k.Type == "user" && k.ID != "" && !k.Meta && !k.Summary && !k.Sidechain
}

// wireMessage is a line of an assistant or a user. Tools answer with megabytes, so it is read
// once, and no part of it twice.
type wireMessage struct {
	keptLine
	Message struct {
		Content json.RawMessage `json:"content"`
	} `json:"message"`
}

type wireBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     map[string]any  `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	IsError   bool            `json:"is_error"`
	Content   json.RawMessage `json:"content"`
}

type wireResult struct {
	Subtype        string          `json:"subtype"`
	IsError        bool            `json:"is_error"`
	Result         string          `json:"result"`
	Errors         []string        `json:"errors"`
	TerminalReason string          `json:"terminal_reason"`
	APIErrorStatus *int            `json:"api_error_status"`
	SessionID      string          `json:"session_id"`
	Turns          int             `json:"num_turns"`
	CostUSD        float64         `json:"total_cost_usd"`
	Structured     json.RawMessage `json:"structured_output"`
	LocalCommand   string          `json:"local_command"`
	ModelUsage     map[string]struct {
		Input      int64 `json:"inputTokens"`
		Output     int64 `json:"outputTokens"`
		CacheRead  int64 `json:"cacheReadInputTokens"`
		CacheWrite int64 `json:"cacheCreationInputTokens"`
	} `json:"modelUsage"`
	Denials []struct {
		ToolName  string `json:"tool_name"`
		ToolUseID string `json:"tool_use_id"`
	} `json:"permission_denials"`
}

// parseLine returns the events of one line. main says that it is a message of
// the conversation itself and not of a subagent; ok is false when it is not a
// JSON object with a type.
func parseLine(line []byte) (events []Event, main, ok bool) {
	var head struct {
		Type   string `json:"type"`
		Parent any    `json:"parent_tool_use_id"`
	}
	if json.Unmarshal(line, &head) != nil || head.Type == "" {
		return nil, false, false
	}
	switch head.Type {
	case "system":
		return parseSystem(line), false, true
	case "assistant", "user":
		return parseMessage(line), head.Parent == nil, true
	case "result":
		return parseResult(line), false, true
	}
	return nil, false, true
}

func parseSystem(line []byte) []Event {
	var w wireLine
	lenient(line, &w)
	switch w.Subtype {
	case "init":
		return []Event{Init{SessionID: w.SessionID, Model: w.Model, Version: w.Version, MCP: w.MCP, Tools: w.Tools}}
	case "api_retry":
		kind, _ := w.Error.(string)
		return []Event{APIRetry{
			Attempt: w.Attempt, MaxRetries: w.MaxRetries, Delay: millis(w.DelayMS), Status: value(w.Status), Error: kind,
		}}
	case "permission_denied":
		reason, _ := w.Reason.(string)
		return []Event{Denial{ToolUseID: w.ToolUseID, ToolName: w.ToolName, Message: reason}}
	}
	return nil
}

func parseMessage(line []byte) []Event {
	var w wireMessage
	lenient(line, &w)
	var events []Event
	for _, b := range blocks(w.Message.Content) {
		switch {
		case b.Type == "text" && w.Type == "assistant":
			events = append(events, Text{Text: b.Text})
		case b.Type == "tool_use" && w.Type == "assistant":
			events = append(events, ToolUse{ID: b.ID, Name: b.Name, Argument: argument(b.Input)})
		case b.Type == "tool_result" && w.Type == "user":
			events = append(events, ToolResult{ID: b.ToolUseID, IsError: b.IsError, Text: text(b.Content)})
		case b.Type == "text" && w.isTyped():
			if typed := typedText(b.Text); typed != "" {
				events = append(events, Typed{Text: typed})
			}
		}
	}
	return events
}

// commandPart matches a part of a command that a person typed, as Claude Code keeps it:
// <command-name>/compact</command-name> and <command-args>.
var commandPart = regexp.MustCompile(`(?s)<command-(name|args)>(.*?)</command-`)

// typedText is what a person typed, of a text that Claude Code keeps as the person's; "" =
// nothing: it is the answer to a command.
func typedText(text string) string {
	if strings.HasPrefix(text, "<local-command-") {
		return ""
	}
	if !strings.HasPrefix(text, "<command-") {
		return text
	}
	var name, args string
	for _, part := range commandPart.FindAllStringSubmatch(text, -1) {
		if part[1] == "name" {
			name = part[2]
		} else {
			args = part[2]
		}
	}
	return strings.TrimSpace(name + " " + args)
}

func parseResult(line []byte) []Event {
	// A missing is_error must not read as success.
	w := wireResult{IsError: true}
	lenient(line, &w)
	r := Result{
		Subtype: w.Subtype, IsError: w.IsError, Text: w.Result, Errors: w.Errors,
		TerminalReason: w.TerminalReason, APIErrorStatus: value(w.APIErrorStatus),
		SessionID: w.SessionID, Turns: w.Turns, CostUSD: w.CostUSD, LocalCommand: w.LocalCommand,
	}
	if string(w.Structured) != "null" && len(w.Structured) > 0 {
		r.Structured = append([]byte(nil), w.Structured...)
	}
	if len(w.ModelUsage) > 0 {
		r.Usage = make(map[string]ModelUsage, len(w.ModelUsage))
	}
	for model, u := range w.ModelUsage {
		r.Usage[model] = ModelUsage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}
	}
	for _, d := range w.Denials {
		r.Denials = append(r.Denials, Denial{ToolUseID: d.ToolUseID, ToolName: d.ToolName})
	}
	return []Event{r}
}

// lenient fills what fits: json.Unmarshal goes on past a field of the wrong
// type and reports it afterwards, and another version's odd field must not
// hide the rest of a line that is known to be valid JSON.
func lenient(line []byte, into any) { _ = json.Unmarshal(line, into) }

// blocks reads a message's content, which is a list of blocks or one text.
func blocks(content json.RawMessage) []wireBlock {
	var list []wireBlock
	if !bytes.HasPrefix(content, []byte(`"`)) { // json.RawMessage begins with no white space
		lenient(content, &list)
		return list
	}
	var s string
	if json.Unmarshal(content, &s) == nil {
		list = []wireBlock{{Type: "text", Text: s}}
	}
	return list
}

func text(content json.RawMessage) string {
	var b strings.Builder
	for _, block := range blocks(content) {
		if block.Type == "text" {
			b.WriteString(block.Text)
		}
	}
	return b.String()
}

// argument picks the one argument that tells a reader what a call does.
func argument(input map[string]any) string {
	for _, key := range []string{"command", "file_path", "notebook_path", "url", "query", "pattern", "path", "skill", "description",
		"prompt"} {
		if s, ok := input[key].(string); ok && s != "" {
			return oneLine(s, maxArgument)
		}
	}
	return ""
}

// oneLine makes agent-written text safe to show: control characters (which
// could drive a terminal) become spaces, and it is cut to limit bytes.
func oneLine(s string, limit int) string {
	cut := false
	if len(s) > 4*limit { // do not map a megabyte to show one line of it
		s, cut = s[:4*limit], true
	}
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " ")
	const ellipsis = "…"
	if len(s) > limit-len(ellipsis) && (cut || len(s) > limit) {
		end := limit - len(ellipsis)
		for end > 0 && !utf8.RuneStart(s[end]) {
			end--
		}
		s = s[:end] + ellipsis
	}
	return s
}

func millis(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

func value(p *int) int {
	if p == nil {
		return 0
	}
	return *p
}
