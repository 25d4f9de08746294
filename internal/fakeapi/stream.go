package fakeapi

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// newMessage returns an answer without its content.
func newMessage() map[string]any {
	return map[string]any{
		"id": "msg_scripted", "type": "message", "role": "assistant", "model": Model,
		"content": []block{}, "stop_reason": nil, "stop_sequence": nil,
		"usage": map[string]int{
			"input_tokens": InputTokens, "output_tokens": OutputTokens,
			"cache_read_input_tokens": CacheReadTokens, "cache_creation_input_tokens": CacheWriteTokens,
		},
	}
}

// stream sends content as server-sent events, each flushed. With truncate the
// connection breaks after the first block has begun.
func stream(w http.ResponseWriter, content []block, stopReason string, truncate bool) {
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
	send("message_start", map[string]any{"message": newMessage()})
	for i, b := range content {
		start, delta := map[string]any{"type": "text", "text": ""}, map[string]any{"type": "text_delta", "text": b.Text}
		if b.Type == "tool_use" {
			input, err := json.Marshal(b.Input)
			if err != nil {
				panic(err) // a script's input came from JSON or literals
			}
			start = map[string]any{"type": "tool_use", "id": b.ID, "name": b.Name, "input": map[string]any{}}
			delta = map[string]any{"type": "input_json_delta", "partial_json": string(input)}
		}
		send("content_block_start", map[string]any{"index": i, "content_block": start})
		if truncate {
			panic(http.ErrAbortHandler)
		}
		send("ping", map[string]any{})
		send("content_block_delta", map[string]any{"index": i, "delta": delta})
		send("content_block_stop", map[string]any{"index": i})
	}
	send("message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": stopReason, "stop_sequence": nil},
		"usage": map[string]int{"output_tokens": OutputTokens},
	})
	send("message_stop", map[string]any{})
}
