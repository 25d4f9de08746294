package credproxy

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// The shapes below are those members of requests to OpenAI's chat completions and
// embeddings, as of November 2026, that concern the answer alone. Left out, and so
// refused, is what has the provider fetch or search (images by address, web search,
// files), keep (store, metadata), or bill at another rate (service tiers, predictions,
// audio).

// imageTokens is more than an image is counted as, by models of which we know.
const imageTokens = 50_000

// inlineImage is an image in the request itself.
func inlineImage(to *request) shape {
	return func(c *cursor) error {
		if c.kind() != '"' {
			return refuse("a string is wanted")
		}
		if url := c.str(); !strings.HasPrefix(url, "data:") {
			return hosted("an image at an address")
		}
		to.extra += imageTokens
		return nil
	}
}

// whole reads a number of at least 1 and no fraction, and null.
func whole(to *int64) shape {
	return func(c *cursor) error {
		kind := c.kind()
		from := c.at
		c.skip()
		if kind == 'n' {
			return nil
		}
		n, err := strconv.ParseInt(string(c.text[from:c.at]), 10, 64)
		if err != nil || n < 1 || n > math.MaxInt32 {
			return refuse("a whole number above 0 is wanted")
		}
		*to = n
		return nil
	}
}

// flag reads true, false and null.
func flag(to *bool) shape {
	return func(c *cursor) error {
		switch c.kind() {
		case 't':
			*to = true
		case 'f', 'n':
		default:
			return refuse("true or false is wanted")
		}
		c.skip()
		return nil
	}
}

// maxModelName bounds the name of a model, in bytes. Names stand in the ledger, which the
// user's other runs read.
const maxModelName = 256

// modelOf notes which model is asked.
func modelOf(to *request) shape {
	return func(c *cursor) error {
		if c.kind() != '"' {
			return refuse("a string is wanted")
		}
		if to.model = c.str(); len(to.model) > maxModelName {
			return refuse("a name of at most %d bytes is wanted", maxModelName)
		}
		return nil
	}
}

// searches reports whether a model's name says that the provider fetches for it, whatever a
// request holds: OpenAI's and Perplexity's for searches and research, those with hosted tools
// of Groq's, and any at OpenRouter with its suffix for that.
func searches(model string) bool {
	model = strings.ToLower(model)
	words := strings.FieldsFunc(model, func(c rune) bool { return strings.ContainsRune("/:-_.@", c) })
	return strings.Contains(model, "search") || slices.ContainsFunc(words, func(w string) bool {
		return w == "online" || w == "sonar" || w == "compound"
	})
}

// never takes a member that says that the provider does not do something.
func never(c *cursor) error {
	if k := c.kind(); k != 'f' && k != 'n' {
		return refuse("the sandbox takes false alone")
	}
	c.skip()
	return nil
}

// chatShape is the shape of a request for a chat completion.
func chatShape(to *request) shape {
	to.choices = 1
	words := object(members{"type": text, "text": text})
	parts := typed("a part", map[string]shape{
		"text": words, "refusal": object(members{"type": text, "refusal": text}),
		"image_url": object(members{"type": text, "image_url": object(members{"url": inlineImage(to), "detail": text})}),
	})
	call := typed("a call", map[string]shape{
		"function": object(members{"id": text, "type": text, "index": scalar, "function": object(members{"name": text, "arguments": text})}),
	})
	function := object(members{"name": text, "description": text, "parameters": anything, "strict": scalar})
	answersWith := typed("a form of answers", map[string]shape{
		"text": object(members{"type": text}), "json_object": object(members{"type": text}),
		"json_schema": object(members{"type": text, "json_schema": object(members{
			"name": text, "description": text, "schema": anything, "strict": scalar,
		})}),
	})
	choice := func(c *cursor) error {
		if c.kind() == '"' {
			c.skip()
			return nil
		}
		return typed("a choice", map[string]shape{"function": object(members{"type": text, "function": object(members{"name": text})})})(c)
	}
	return object(members{
		"model": modelOf(to),
		"messages": list(object(members{
			"role": oneOf("system", "developer", "user", "assistant", "tool"), "content": optional(textOr(parts)), "name": text,
			"tool_calls": optional(list(call)), "tool_call_id": text, "refusal": text, "reasoning_content": text,
		})),
		"tools":       optional(list(typed("a tool", map[string]shape{"function": object(members{"type": text, "function": function})}))),
		"tool_choice": optional(choice), "parallel_tool_calls": scalar, "response_format": optional(answersWith),
		"stream": flag(&to.stream),
		"stream_options": func(c *cursor) error {
			to.options = true
			return optional(object(members{"include_usage": scalar, "include_obfuscation": scalar}))(c)
		},
		"max_tokens": whole(&to.mostTokens[0]), "max_completion_tokens": whole(&to.mostTokens[1]), "n": whole(&to.choices),
		"temperature": scalar, "top_p": scalar, "presence_penalty": scalar, "frequency_penalty": scalar, "seed": scalar,
		"stop": optional(textOr(textPart)), "logit_bias": optional(flat), "logprobs": scalar, "top_logprobs": scalar,
		"reasoning_effort": text, "verbosity": text, "user": text, "safety_identifier": text, "prompt_cache_key": text,
		"store": never, "service_tier": optional(oneOf("default")),
	})
}

// textPart is a string of a list.
func textPart(c *cursor) error {
	if c.kind() != '"' {
		return refuse("a string is wanted")
	}
	c.skip()
	return nil
}

// embeddingsShape is the shape of a request for embeddings: of texts, or of tokens.
func embeddingsShape(to *request) shape {
	var input shape
	input = func(c *cursor) error {
		if c.kind() == '[' {
			return list(input)(c)
		}
		return scalar(c)
	}
	return object(members{"model": modelOf(to), "input": input, "dimensions": scalar, "encoding_format": text, "user": text})
}
