package credproxy

import (
	"maps"
	"regexp"
)

// The shapes below are those members of a request to the Messages API, as of
// November 2026 (the types of Anthropic's SDK 1.12.0), that Claude Code 2.1.329
// sends or that concern the model's answer alone. Left out, and so refused, is
// what has the provider fetch (sources by URL or file, MCP servers, hosted
// tools), run code (containers, skills), keep conversations (threads), ask
// further models (fallbacks, advisor) or bill at another rate (speed,
// inference_geo, service tiers, billing_policy).

// cacheControl says what the provider may reuse for this account.
var cacheControl = optional(object(members{"type": scalar, "ttl": scalar, "scope": scalar, "evict_on_complete": scalar}))

// schemaFormat is a JSON schema for the answer.
var schemaFormat = optional(object(members{"type": oneOf("json_schema"), "schema": anything}))

// with is a block's members and those that every block may have.
func with(m members) shape {
	all := members{"type": text, "cache_control": cacheControl}
	maps.Copy(all, m)
	return object(all)
}

// source is the content of an image or document: in the request itself, and
// not at an address from which the provider would get it.
func source(blocks shape) shape {
	inline := object(members{"type": text, "media_type": text, "data": text})
	return typed("a source", map[string]shape{
		"base64": inline, "text": inline,
		"content": object(members{"type": text, "content": textOr(blocks)}),
	})
}

// blocks returns the shapes of the parts of a message by their types.
func blocks(hostedWeb bool, tool shape, calls *exchangeReader) map[string]shape {
	plain := map[string]shape{"text": with(members{"text": text, "citations": optional(flat)})}
	plain["image"] = with(members{"source": source(typed("a part", nil)), "transformations": optional(flat)})
	inner := typed("a part", map[string]shape{"text": plain["text"], "image": plain["image"]})
	plain["document"] = with(members{"source": source(inner), "citations": optional(flat), "context": text, "title": text})
	plain["search_result"] = with(members{
		"content": list(typed("a part", map[string]shape{"text": plain["text"]})), "source": text, "title": text, "citations": optional(flat),
	})
	plain["tool_reference"] = with(members{"tool_name": text, "name": text})

	all := maps.Clone(plain)
	all["thinking"] = with(members{"thinking": text, "signature": text})
	all["redacted_thinking"] = with(members{"data": text})
	all["tool_use"] = with(members{
		"id": text, "name": calls.hashed(text, &calls.current.calls), "input": calls.hashed(anything, &calls.current.calls),
		"caller": optional(flat), "toolset_name": text,
	})
	all["tool_result"] = with(members{
		"tool_use_id": text, "content": calls.hashed(optional(textOr(typed("a part", plain))), &calls.current.results),
		"is_error": scalar, "toolset_name": text,
	})
	change := typed("a tool", map[string]shape{
		"tool_reference":  with(members{"name": text, "tool_name": text}),
		"tool_definition": with(members{"definition": tool}),
	})
	all["tool_addition"] = with(members{"tool": change})
	all["tool_removal"] = with(members{"tool": change})
	all["tool_search_tool_result"] = with(members{"tool_use_id": text, "caller": optional(flat), "content": object(members{
		"type": text, "tool_references": list(plain["tool_reference"]), "error_code": text, "error_message": text,
	})})
	all["compaction"] = with(members{"content": text, "encrypted_content": text, "signature": text})
	served := []string{"tool_search_tool_regex", "tool_search_tool_bm25"}
	if hostedWeb {
		served = append(served, "web_search", "web_fetch")
		all["web_search_tool_result"] = with(members{"tool_use_id": text, "caller": optional(flat), "content": flat})
		all["web_fetch_tool_result"] = with(members{"tool_use_id": text, "caller": optional(flat), "content": object(members{
			"type": text, "url": text, "retrieved_at": text, "error_code": text, "content": typed("a part", plain),
		})})
	}
	all["server_tool_use"] = with(members{"id": text, "name": oneOf(served...), "input": anything, "caller": optional(flat)})
	return all
}

// tools returns the shape of a tool: one that the agent runs, or one of the
// provider's definitions of such a tool. found is called for each.
func tools(hostedWeb bool, found func()) shape {
	common := members{
		"name": text, "defer_loading": scalar, "strict": scalar, "input_examples": anything,
		"allowed_callers": list(oneOf("direct")), // the others run code at the provider
	}
	own := maps.Clone(common)
	maps.Copy(own, members{"description": text, "input_schema": anything, "eager_input_streaming": scalar})
	defined := maps.Clone(common)
	maps.Copy(defined, members{
		"max_characters": scalar, "display_height_px": scalar, "display_width_px": scalar, "display_number": scalar, "enable_zoom": scalar,
	})
	counted := func(s shape) shape { return func(c *cursor) error { found(); return s(c) } }
	shapes := map[string]shape{"": counted(with(own)), "custom": counted(with(own))}
	for _, kind := range []string{
		"bash_20241022", "bash_20250124", "memory_20250818",
		"text_editor_20241022", "text_editor_20250124", "text_editor_20250429", "text_editor_20250728",
		"computer_20241022", "computer_20250124", "computer_20251124",
	} {
		shapes[kind] = counted(with(defined))
	}
	for _, kind := range []string{
		"tool_search_tool_regex", "tool_search_tool_regex_20251119", "tool_search_tool_bm25", "tool_search_tool_bm25_20251119",
	} {
		shapes[kind] = with(common)
	}
	if hostedWeb {
		web := maps.Clone(common)
		maps.Copy(web, members{
			"allowed_domains": optional(list(text)), "blocked_domains": optional(list(text)), "max_uses": scalar, "user_location": optional(flat),
			"citations": optional(flat), "max_content_tokens": scalar, "response_inclusion": scalar, "use_cache": scalar,
		})
		for _, kind := range []string{
			"web_search_20250305", "web_search_20260209", "web_search_20260318",
			"web_fetch_20250910", "web_fetch_20260209", "web_fetch_20260309", "web_fetch_20260318",
		} {
			shapes[kind] = with(web)
		}
	}
	return typed("a tool", shapes)
}

// hookPrompt begins the system prompt of the requests by which Claude Code 2.1.329
// has a model carry out a hook of type prompt or agent. The latter offers the
// tools of the sandbox and names no subagent. A newer Claude Code may say it
// otherwise: its hooks then pass for the main conversation, and such a run is no
// success.
var hookPrompt = regexp.MustCompile(`^You are (verifying a stop condition|evaluating an? ([A-Za-z-]+ )?hook) in Claude Code\.`)

// noteHook notes whether a part of the system prompt is a hook's.
func noteHook(part shape, to *request) shape {
	return func(c *cursor) error {
		if c.kind() == '{' {
			to.hook = to.hook || hookPrompt.MatchString(c.member("text"))
		}
		return part(c)
	}
}

// requestShape returns the shape of a request's body. Facts that it meets on the way
// it notes in to, and the tool calls in calls.
func requestShape(hostedWeb bool, to *request, calls *exchangeReader) shape {
	outputConfig := optional(object(members{"effort": scalar, "format": schemaFormat, "task_budget": optional(flat)}))
	tool := tools(hostedWeb, func() { to.clientTools++ })
	parts := blocks(hostedWeb, tool, calls)
	plain := object(members{
		"role": oneOf("user", "assistant", "system"), "content": optional(textOr(typed("a part", parts))),
		"clear_at": scalar, "output_config": outputConfig,
	})
	message := func(c *cursor) error { calls.message(); return plain(c) }
	all := members{
		"model":      modelOf(to),
		"messages":   list(message),
		"system":     optional(textOr(noteHook(typed("a part", map[string]shape{"text": parts["text"]}), to))),
		"tools":      optional(list(tool)),
		"max_tokens": whole(&to.mostTokens[0]), "stream": scalar, "temperature": scalar, "top_k": scalar, "top_p": scalar,
		"stop_sequences": optional(list(text)),
		"metadata":       optional(object(members{"user_id": text})),
		"thinking": optional(object(members{
			"type": text, "budget_tokens": scalar, "display": scalar, "block_binding": optional(flat),
		})),
		"tool_choice":   optional(object(members{"type": text, "name": text, "disable_parallel_tool_use": scalar})),
		"output_config": outputConfig, "output_format": schemaFormat,
		"cache_control": cacheControl,
		"context_management": optional(object(members{"edits": list(typed("an edit", map[string]shape{
			"clear_tool_uses_20250919": object(members{
				"type": text, "trigger": optional(flat), "keep": optional(flat), "clear_at_least": optional(flat),
				"clear_tool_inputs": optional(flat), "exclude_tools": optional(list(text)),
			}),
			"clear_thinking_20251015": object(members{"type": text, "keep": optional(flat)}),
			"compact_20260112": object(members{
				"type": text, "trigger": optional(flat), "instructions": text, "pause_after_compaction": scalar,
			}),
		}))})),
		"compaction":   optional(object(members{"type": oneOf("summarize"), "instructions": text})),
		"context_hint": optional(flat),
		"diagnostics":  optional(object(members{"previous_message_id": text})),
		"service_tier": optional(oneOf("auto", "standard_only")),
		"speed":        optional(oneOf("standard")),
	}
	if to.cloud != nil { // the model is in the path
		delete(all, "model")
		maps.Copy(all, cloudMembers())
	}
	return object(all)
}
