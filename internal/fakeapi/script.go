package fakeapi

import (
	"cmp"
	"encoding/json"
	"fmt"
)

// Model is the model name in every answer.
const Model = "scripted-demo"

// label begins every text of the assistant, so that no reader takes a transcript
// for a model's work.
const label = "[scripted] "

// Script is what the assistant does, in order.
type Script struct {
	Turns []Turn `json:"turns"`
	Final string `json:"final"` // the answer after the last turn; "" = a fixed text
}

// Turn is one answer that asks for tools: at least one command or call.
type Turn struct {
	Text  string   `json:"text,omitempty"` // said before the tools; "" = nothing
	Bash  []string `json:"bash,omitempty"` // commands for the Bash tool
	Calls []Call   `json:"calls,omitempty"`
}

// Call is a call of any tool.
type Call struct {
	Name  string         `json:"name"`
	Input map[string]any `json:"input"`
}

// calls returns the turn's tool calls, Bash commands first.
func (t Turn) calls() []Call {
	var list []Call
	for _, command := range t.Bash {
		list = append(list, Call{"Bash", map[string]any{"command": command, "description": "scripted step"}})
	}
	return append(list, t.Calls...)
}

// Block is a content block of an answer: text, thinking or tool_use.
type Block struct {
	Type      string         `json:"type"`
	Text      string         `json:"text,omitempty"`
	Thinking  string         `json:"thinking,omitempty"`
	Signature string         `json:"signature,omitempty"`
	ID        string         `json:"id,omitempty"`
	Name      string         `json:"name,omitempty"`
	Input     map[string]any `json:"input,omitempty"`
}

// Reply is one whole answer.
type Reply struct {
	Content []Block
	Stop    string // stop_reason
	ID      string // of the message; "" = a fixed one. Claude takes answers with the same for parts of one
	Input   int    // input tokens that the answer reports; 0 = InputTokens
	Model   string // that the answer names; "" = Model
}

// Reply returns the script's answer to a request, for Server.Reply.
func (s Script) Reply(q Request) *Reply {
	r := s.answer(q.ToolResults)
	return &r
}

// answer returns the answer that is due after so many tool results.
func (s Script) answer(results int) Reply {
	for i, turn := range s.Turns {
		calls := turn.calls()
		if results >= len(calls) {
			results -= len(calls)
			continue
		}
		var content []Block
		if turn.Text != "" {
			content = append(content, Block{Type: "text", Text: label + turn.Text})
		}
		for j, c := range calls {
			content = append(content, Block{Type: "tool_use", ID: fmt.Sprintf("toolu_scripted_%d_%d", i, j), Name: c.Name, Input: c.Input})
		}
		return Reply{Content: content, Stop: "tool_use"}
	}
	final := cmp.Or(s.Final, "this answer was scripted; no model was asked")
	return Reply{Content: []Block{{Type: "text", Text: label + final}}, Stop: "end_turn"}
}

// request is what we read of a Messages API request.
type request struct {
	Model    string `json:"model"`
	Stream   bool   `json:"stream"`
	Messages []struct {
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
}

// toolResults counts the answers to tool calls in the conversation so far.
func (r request) toolResults() int {
	n := 0
	for _, m := range r.Messages {
		var content []struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(m.Content, &content) != nil {
			continue // a plain text
		}
		for _, c := range content {
			if c.Type == "tool_result" {
				n++
			}
		}
	}
	return n
}
