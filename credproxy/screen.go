package credproxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// The provider's side can fetch pages, call MCP servers and run code with a
// network of its own. A request that asks for that is a way out which no
// packet filter sees, so requests are read before they are forwarded.

// clientTools are the beginnings of the versioned tool types that run in the
// sandbox, or that only pick among tools that do.
var clientTools = []string{"bash_", "text_editor_", "computer_", "memory_", "tool_search_tool_"}

// hostedWeb are those that Options.AllowHostedWeb lets through besides.
var hostedWeb = []string{"web_search_", "web_fetch_"}

// typedTool is the form of the types of all tools that the provider defines.
var typedTool = regexp.MustCompile(`^[a-z_]+_20[0-9]{6}$`)

// fetchingMembers are members of a request, or of a tool change inside its
// messages, that name servers or hosted containers.
var fetchingMembers = []string{"mcp_servers", "container"}

// fetchingBlocks are content blocks that only hosted tools need.
var fetchingBlocks = []string{"mcp_toolset", "container_upload", "mcp_tool_use"}

// inlineSources are the sources of images and documents that hold the content
// itself; "url" and "file" have the provider get it elsewhere.
var inlineSources = []string{"base64", "text", "content"}

// Bounds of a request's structure, so that reading it takes no more memory than
// its text many times over. The longest conversations hold some 10,000 values.
const (
	maxDepth  = 500
	maxValues = 500_000
)

// screen returns why a request's body must not be forwarded.
func (p *Proxy) screen(body []byte) error {
	root, err := decodeStrictly(body)
	if err != nil {
		return err
	}
	request, ok := root.(map[string]any)
	if !ok {
		return errors.New("the request is no JSON object")
	}
	for name, value := range request {
		if err := p.screenMember(name, value); err != nil {
			return err
		}
	}
	for _, name := range []string{"system", "messages"} {
		if err := p.screenContent(request[name]); err != nil {
			return err
		}
	}
	return nil
}

// screenMember checks one member that may define tools or servers. Names are
// compared without regard to case: what a lenient reader would take counts.
func (p *Proxy) screenMember(name string, value any) error {
	if i := slices.IndexFunc(fetchingMembers, func(m string) bool { return strings.EqualFold(m, name) }); i >= 0 && value != nil {
		return hosted(fetchingMembers[i])
	}
	if !strings.EqualFold(name, "tools") {
		return nil
	}
	tools, ok := value.([]any)
	if !ok && value != nil {
		return errors.New("tools is no list")
	}
	for _, tool := range tools {
		if err := p.screenTool(tool); err != nil {
			return err
		}
	}
	return nil
}

func (p *Proxy) screenTool(tool any) error {
	t, ok := tool.(map[string]any)
	if !ok {
		return errors.New("a tool is no JSON object")
	}
	kind, named := t["type"].(string)
	if _, ok := t["input_schema"].(map[string]any); ok && (t["type"] == nil || kind == "custom") {
		return nil
	}
	if named && p.allowsTool(kind) {
		return nil
	}
	return hosted(fmt.Sprintf("a tool of type %s", short(kind, 60)))
}

func (p *Proxy) allowsTool(kind string) bool {
	begins := func(prefix string) bool { return strings.HasPrefix(kind, prefix) }
	return typedTool.MatchString(kind) && (slices.ContainsFunc(clientTools, begins) || p.hostedWeb && slices.ContainsFunc(hostedWeb, begins))
}

// screenContent walks through messages and their blocks. It leaves out what is
// the agent's own data: the input of a tool call and the schema of a tool.
func (p *Proxy) screenContent(value any) error {
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			if err := p.screenContent(element); err != nil {
				return err
			}
		}
	case map[string]any:
		kind, _ := v["type"].(string)
		if slices.Contains(fetchingBlocks, kind) || typedTool.MatchString(kind) && !p.allowsTool(kind) {
			return hosted(fmt.Sprintf("a part of type %s", short(kind, 60)))
		}
		if source, ok := v["source"].(map[string]any); ok {
			if kind, _ := source["type"].(string); !slices.Contains(inlineSources, kind) {
				return hosted(fmt.Sprintf("a source of type %s", short(kind, 60)))
			}
		}
		for name, member := range v {
			if name == "input" && kind == "tool_use" || name == "input_schema" {
				continue
			}
			if err := errors.Join(p.screenMember(name, member), p.screenContent(member)); err != nil {
				return err
			}
		}
	}
	return nil
}

func hosted(what string) error {
	return fmt.Errorf("%s would have the provider reach other servers for the agent, which the sandbox refuses", what)
}

// decodeStrictly reads one JSON text in the only way there is: names that
// stand twice, bytes that are no UTF-8 and text after the end are refused, so
// that the upstream cannot read something else in it.
func decodeStrictly(body []byte) (any, error) {
	if !utf8.Valid(body) {
		return nil, errors.New("the request is no UTF-8")
	}
	d := &strictDecoder{Decoder: json.NewDecoder(bytes.NewReader(body)), left: maxValues}
	d.UseNumber()
	value, err := d.value(0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("the request goes on after its JSON text")
	}
	return value, nil
}

type strictDecoder struct {
	*json.Decoder
	left int // values that the text may still hold
}

func (d *strictDecoder) value(depth int) (any, error) {
	if d.left--; d.left < 0 || depth > maxDepth {
		return nil, fmt.Errorf("the request is nested deeper than %d levels or holds more than %d values", maxDepth, maxValues)
	}
	token, err := d.Token()
	if err != nil {
		return nil, errors.New("the request is no JSON text")
	}
	switch token {
	case json.Delim('['):
		list := []any{}
		for d.More() {
			element, err := d.value(depth + 1)
			if err != nil {
				return nil, err
			}
			list = append(list, element)
		}
		return list, d.closed()
	case json.Delim('{'):
		object := map[string]any{}
		for d.More() {
			name, err := d.Token()
			key, ok := name.(string)
			if err != nil || !ok {
				return nil, errors.New("the request is no JSON text")
			}
			if _, twice := object[key]; twice {
				return nil, fmt.Errorf("the request names %s twice", short(key, 60))
			}
			if object[key], err = d.value(depth + 1); err != nil {
				return nil, err
			}
		}
		return object, d.closed()
	}
	return token, nil
}

// closed reads the delimiter that More saw coming.
func (d *strictDecoder) closed() error {
	if _, err := d.Token(); err != nil {
		return errors.New("the request is no JSON text")
	}
	return nil
}

// betas are the beginnings of the values of Anthropic-Beta that are forwarded:
// what Claude Code 2.1.329 sends and the families around it that concern the
// model's answer alone. Hosted tools, files and MCP have betas too.
var betas = []string{
	"advanced-tool-use-", "auto-mode-classifier-", "cache-diagnosis-", "cache-keepalive-", "claude-code-", "context-1m-",
	"context-hint-", "context-management-", "effort-", "extended-cache-ttl-", "fast-mode-", "fine-grained-tool-streaming-",
	"interleaved-thinking-", "mid-conversation-", "oauth-", "per-turn-control-", "prompt-caching-", "redact-thinking-",
	"structured-outputs-", "task-budgets-", "thinking-", "token-counting-", "token-efficient-tools-", "tool-search-tool-",
}

var hostedWebBetas = []string{"web-search-", "web-fetch-"}

// filterBetas drops the values of Anthropic-Beta that are not listed.
func (p *Proxy) filterBetas(h http.Header) {
	const name = "Anthropic-Beta"
	var kept []string
	for _, line := range h.Values(name) {
		for beta := range strings.SplitSeq(line, ",") {
			beta = strings.TrimSpace(beta)
			begins := func(prefix string) bool { return strings.HasPrefix(beta, prefix) }
			if slices.ContainsFunc(betas, begins) || p.hostedWeb && slices.ContainsFunc(hostedWebBetas, begins) {
				kept = append(kept, beta)
			}
		}
	}
	h.Del(name)
	if len(kept) > 0 {
		h.Set(name, strings.Join(kept, ","))
	}
}
