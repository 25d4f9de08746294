package fakeapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
)

// answers counts those of this process: an answer's id is its own, and Claude Code takes
// two of one id for parts of one answer.
var answers atomic.Int64

// newMessage returns an answer without its content.
func newMessage(r Reply) map[string]any {
	id, input := fmt.Sprintf("msg_scripted_%d", answers.Add(1)), InputTokens
	if r.ID != "" {
		id = r.ID
	}
	if r.Input > 0 {
		input = r.Input
	}
	return map[string]any{
		"id": id, "type": "message", "role": "assistant", "model": cmp.Or(r.Model, Model),
		"content": []Block{}, "stop_reason": nil, "stop_sequence": nil,
		"usage": map[string]int{
			"input_tokens": input, "output_tokens": OutputTokens,
			"cache_read_input_tokens": CacheReadTokens, "cache_creation_input_tokens": CacheWriteTokens,
		},
	}
}

// stream sends an answer as server-sent events, each flushed. With truncate the
// connection breaks after the first block has begun.
func stream(w http.ResponseWriter, r Reply, truncate bool) {
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(event string, fields map[string]any) {
		fields["type"] = event
		data, err := json.Marshal(fields)
		if err != nil { // maps of strings and numbers always marshal
			panic(err)
		}
		_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, data)
		_ = http.NewResponseController(w).Flush() // a client that left is not our error
	}
	send("message_start", map[string]any{"message": newMessage(r)})
	for i, b := range r.Content {
		start, delta, signature := b.parts()
		send("content_block_start", map[string]any{"index": i, "content_block": start})
		if truncate {
			panic(http.ErrAbortHandler)
		}
		send("ping", map[string]any{})
		send("content_block_delta", map[string]any{"index": i, "delta": delta})
		if signature != nil {
			send("content_block_delta", map[string]any{"index": i, "delta": signature})
		}
		send("content_block_stop", map[string]any{"index": i})
	}
	send("message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": r.Stop, "stop_sequence": nil},
		"usage": map[string]int{"output_tokens": OutputTokens},
	})
	send("message_stop", map[string]any{})
}

// parts returns how a block begins, what follows, and a thinking block's signature.
func (b Block) parts() (start, delta, signature map[string]any) {
	switch b.Type {
	case "tool_use":
		input, err := json.Marshal(b.Input)
		if err != nil {
			panic(err) // a script's input came from JSON or literals
		}
		return map[string]any{"type": "tool_use", "id": b.ID, "name": b.Name, "input": map[string]any{}},
			map[string]any{"type": "input_json_delta", "partial_json": string(input)}, nil
	case "thinking":
		return map[string]any{"type": "thinking", "thinking": "", "signature": ""},
			map[string]any{"type": "thinking_delta", "thinking": b.Thinking},
			map[string]any{"type": "signature_delta", "signature": b.Signature}
	}
	return map[string]any{"type": "text", "text": ""}, map[string]any{"type": "text_delta", "text": b.Text}, nil
}
