package agent_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/internal/fakeapi"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

func task(background bool) fakeapi.Block {
	input := map[string]any{"description": "look", "prompt": "look at it", "subagent_type": "general-purpose"}
	if background {
		input["run_in_background"] = true
	}
	return call("Agent", input)
}

const hooks = `{"hooks":{
	"SessionStart":[{"hooks":[{"type":"command","command":"echo remember this"}]}],
	"UserPromptSubmit":[{"hooks":[{"type":"command","command":"echo and that"}]}],
	"PreToolUse":[{"matcher":"*","hooks":[{"type":"command","command":"echo {}"}]}],
	"PostToolUse":[{"matcher":"*","hooks":[{"type":"command","command":"echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PostToolUse\",` +
	`\"additionalContext\":\"seen it\"}}'"}]}],
	"Stop":[{"hooks":[{"type":"command","command":"true"}]}]}}`

// server is an MCP server whose tools have odd schemas.
const server = `import json, sys
tools = [{"name": "look", "description": "d", "annotations": {"readOnlyHint": True, "title": "Look"}, "_meta": {"x": {"y": [1]}},
  "inputSchema": {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "$defs": {"n": {"anyOf": [{"type": ` +
	`"integer"}, {"type": "null"}]}},
  "properties": {"a": {"$ref": "#/$defs/n"}, "type": {"const": "url"}, "source": {"type": "object", "additionalProperties": ` +
	`{"url": {"type": "string"}}}}},
  "outputSchema": {"type": "object", "properties": {"r": {"type": "string"}}}},
 {"name": "empty", "inputSchema": {"type": "object"}}]
for line in sys.stdin:
    q = json.loads(line)
    if "id" not in q: continue
    m = q["method"]
    if m == "initialize":
        r = {"protocolVersion": q["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "odd", "version": ` +
	`"1"}, "instructions": "use it"}
    elif m == "tools/list": r = {"tools": tools}
    elif m == "tools/call":
        r = {"content": [{"type": "text", "text": "seen"}, {"type": "resource_link", "uri": "file:///a", "name": "a"},
          {"type": "resource", "resource": {"uri": "file:///b", "text": "b", "mimeType": "text/plain"}}], ` +
	`"structuredContent": {"r": "seen"}}
    else: r = {}
    print(json.dumps({"jsonrpc": "2.0", "id": q["id"], "result": r}), flush=True)
`

// worker has a subagent use a tool.
func worker() func(fakeapi.Request) *fakeapi.Reply {
	main := answers(fakeapi.Reply{}, use(task(false)), say("started"), say("done"))
	return func(q fakeapi.Request) *fakeapi.Reply {
		r := say("it is so")
		switch {
		case fromMain(q):
			return main(q)
		case q.ToolResults == 0:
			r = use(bash("echo sub"))
		}
		return &r
	}
}

// filling has the context grow until Claude compacts it.
func filling() func(fakeapi.Request) *fakeapi.Reply {
	var mu sync.Mutex
	steps, full := 0, false
	return func(q fakeapi.Request) *fakeapi.Reply {
		mu.Lock()
		defer mu.Unlock()
		r := say("done")
		switch {
		case full && strings.Contains(q.Body, compacting):
			r = say("<summary>it was so</summary>")
		case !full && fromMain(q):
			steps++
			r = use(bash("echo a"))
			r.ID = fmt.Sprintf("msg_%d", steps)
			if full = steps == 8; full {
				r.Input = 195000
			}
		}
		return &r
	}
}

// asksForHook recognises a request by which a hook asks the model.
func asksForHook(q fakeapi.Request) bool {
	return strings.Contains(q.Body, "hook in Claude Code.") || strings.Contains(q.Body, "stop condition in Claude Code.")
}

// checkHook is settings with a hook of a type that asks the model.
func checkHook(event, kind string) string {
	return fmt.Sprintf(`{"hooks":{%q:[{"hooks":[{"type":%q,"prompt":"is it so? $ARGUMENTS"}]}]}}`, event, kind)
}

// checking answers hooks: one with tools uses twelve, then says that all is well.
func checking(main fakeapi.Reply) func(fakeapi.Request) *fakeapi.Reply {
	return func(q fakeapi.Request) *fakeapi.Reply {
		hook := asksForHook(q)
		r := main
		switch {
		case hook && strings.Contains(q.Body, `"name":"Bash"`) && q.ToolResults < 12:
			r = use(bash("echo checking"))
		case hook && fromMain(q):
			r = use(call("StructuredOutput", map[string]any{"ok": true, "reason": "x"}))
		case hook:
			r = say(`{"ok":true,"reason":"x"}`)
		}
		return &r
	}
}

// compacting is in Claude's request for a summary.
const compacting = "detailed summary"

func TestHonestRunsOfRealClaudeSucceed(t *testing.T) {
	testenv.Program(t, "claude")
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<html><body><h1>A page</h1>" + strings.Repeat("<p>with words</p>", 100) + "</body></html>"))
	}))
	defer page.Close()
	schema := []string{"--json-schema", `{"type":"object","properties":{"n":{"type":"integer"},"s":{"type":"string"}},"required":["n"]}`}
	output := map[string]any{"n": 3, "s": "<ü>"}
	in := func(name string) map[string]any { return map[string]any{"file_path": name} }
	cases := map[string]honest{
		"subagent":               {replies: []fakeapi.Reply{use(task(false)), say("done")}, side: say("it is so")},
		"subagent in background": {replies: []fakeapi.Reply{use(task(true)), say("started"), say("done")}, side: say("it is so")},
		"two subagents at once":  {replies: []fakeapi.Reply{use(task(false), task(false)), say("done")}, side: say("it is so")},
		"structured output": {
			replies: []fakeapi.Reply{use(call("StructuredOutput", output)), say("done")},
			h:       agent.Headless{ExtraArgs: schema},
		},
		"structured output after text": {
			replies: []fakeapi.Reply{{Content: []fakeapi.Block{{Type: "text", Text: "here"}, call("StructuredOutput", output)}, Stop: "tool_use"},
				say("done")},
			h: agent.Headless{ExtraArgs: schema}},
		"structured output asked for after words": {
			replies: []fakeapi.Reply{say("it is three"), use(call("StructuredOutput", output)), say("done")}, h: agent.Headless{ExtraArgs: schema}},
		"structured output wrong once": {
			replies: []fakeapi.Reply{use(call("StructuredOutput", map[string]any{"n": "x"})), use(call("StructuredOutput", output)), say("done")},
			h:       agent.Headless{ExtraArgs: schema}},
		"structured output beside another call": {
			replies: []fakeapi.Reply{use(bash("echo a"), call("StructuredOutput", output)), say("done")}, h: agent.Headless{ExtraArgs: schema}},
		"structured output before another call": {
			replies: []fakeapi.Reply{use(call("StructuredOutput", output), bash("echo a")), say("done")}, h: agent.Headless{ExtraArgs: schema}},
		"cut for its length, goes on": {replies: []fakeapi.Reply{stopped(say("one "), "max_tokens"), say("two")}},
		"cut for its length twice": {
			replies: []fakeapi.Reply{stopped(say("one "), "max_tokens"), stopped(say("two"), "max_tokens"), say("three")},
		},
		"refusal": {replies: []fakeapi.Reply{stopped(say("no"), "refusal"), say("well")}},
		"thinking first": {
			replies: []fakeapi.Reply{{Content: append(think(fakeapi.Reply{}).Content, say("done").Content...), Stop: "end_turn"}},
		},
		"thinking last":           {replies: []fakeapi.Reply{think(say("done")), say("done again")}},
		"several texts":           {replies: []fakeapi.Reply{say("one", "two")}},
		"empty last text":         {replies: []fakeapi.Reply{say("one", ""), say("again")}},
		"white space only":        {replies: []fakeapi.Reply{say(" \n"), say("again")}},
		"white space around":      {replies: []fakeapi.Reply{say("\n  one \n\n"), say("again")}},
		"no content":              {replies: []fakeapi.Reply{{Stop: "end_turn"}, say("again")}},
		"no content after a tool": {replies: []fakeapi.Reply{use(bash("echo a")), {Stop: "end_turn"}, say("again")}},
		"parallel tool calls": {
			replies: []fakeapi.Reply{use(bash("echo a"), bash("echo b"), call("Read", in("a.txt"))), say("done")},
			files:   map[string]string{"a.txt": "x"},
		},
		"one of two calls fails": {replies: []fakeapi.Reply{use(bash("exit 3"), bash("echo b")), say("done")}},
		"a picture": {
			replies: []fakeapi.Reply{use(call("Read", in("a.png"))), say("done")},
			files:   map[string]string{"a.png": picture(t)},
			sent:    `"image/png"`,
		},
		"a document": {
			replies: []fakeapi.Reply{use(call("Read", in("a.pdf"))), say("done")},
			files:   map[string]string{"a.pdf": document},
			sent:    `"application/pdf"`,
		},
		"a notebook": {replies: []fakeapi.Reply{use(call("Read", in("a.ipynb"))), say("done")}, files: map[string]string{
			"a.ipynb": `{"cells":[{"cell_type":"code","source":["1"],"metadata":{},"execution_count":1,"outputs":[]}],"metadata":{},` +
				`"nbformat":4,"nbformat_minor":5}`}},
		"a page, last": {
			replies: []fakeapi.Reply{use(call("WebFetch", map[string]any{"url": page.URL, "prompt": "what is it"})), say("done")},
			side:    say("a page"),
		},
		"broken once":  {replies: []fakeapi.Reply{say("done")}, faults: []fakeapi.Fault{{Truncate: true}}},
		"broken twice": {replies: []fakeapi.Reply{say("done")}, faults: []fakeapi.Fault{{Truncate: true}, {Truncate: true}}},
		"overloaded": {
			replies: []fakeapi.Reply{use(bash("echo a")), say("done")},
			faults:  []fakeapi.Fault{{}, {Status: 529}, {Status: 529}},
		},
		"rate limit":  {replies: []fakeapi.Reply{say("done")}, faults: []fakeapi.Fault{{Status: 429, Retry: "1"}}},
		"long output": {replies: []fakeapi.Reply{use(bash("seq 1 300000")), say("done")}},
		"long file": {
			replies: []fakeapi.Reply{use(call("Read", in("a.txt"))), say("done")},
			files:   map[string]string{"a.txt": strings.Repeat(strings.Repeat("x", 99)+"\n", 30000)},
		},
		"haiku":     {replies: []fakeapi.Reply{use(bash("echo a")), say("done")}, h: agent.Headless{Model: "haiku"}},
		"sonnet":    {replies: []fakeapi.Reply{use(bash("echo a")), say("done")}, h: agent.Headless{Model: "sonnet"}},
		"opus":      {replies: []fakeapi.Reply{use(bash("echo a")), say("done")}, h: agent.Headless{Model: "opus"}},
		"sonnet 1m": {replies: []fakeapi.Reply{use(bash("echo a")), say("done")}, h: agent.Headless{Model: "sonnet[1m]"}},
		"effort": {
			replies: []fakeapi.Reply{use(bash("echo a")), say("done")},
			h:       agent.Headless{Model: "opus", ExtraArgs: []string{"--effort", "low"}},
		},
		"max effort": {
			replies: []fakeapi.Reply{use(bash("echo a")), say("done")},
			h:       agent.Headless{Model: "opus", ExtraArgs: []string{"--effort", "max"}},
		},
		"fallback model": {
			replies: []fakeapi.Reply{say("done")},
			h:       agent.Headless{Model: "opus", ExtraArgs: []string{"--fallback-model", "sonnet"}},
			faults:  []fakeapi.Fault{{Status: 529}, {Status: 529}, {Status: 529}},
		},
		"oauth": {
			replies: []fakeapi.Reply{use(bash("echo a")), say("done")},
			key:     "sk-ant-oat01-the-real-token-0123456789",
		},
		"partial": {
			replies: []fakeapi.Reply{use(bash("echo a")), say("done")},
			h:       agent.Headless{ExtraArgs: []string{"--include-partial-messages"}},
		},
		"agents": {
			replies: []fakeapi.Reply{use(bash("echo a")), say("done")},
			h:       agent.Headless{ExtraArgs: []string{"--agents", `{"x":{"description":"d","prompt":"p"}}`}},
		},
		"agent": {
			replies: []fakeapi.Reply{use(bash("echo a")), say("done")},
			h:       agent.Headless{ExtraArgs: []string{"--agents", `{"x":{"description":"d","prompt":"p"}}`, "--agent", "x"}},
		},
		"few tools": {replies: []fakeapi.Reply{say("done")}, h: agent.Headless{ExtraArgs: []string{"--tools", "Bash"}}},
		"no tools": {
			reply: func(fakeapi.Request) *fakeapi.Reply { r := say("done"); return &r },
			h:     agent.Headless{ExtraArgs: []string{"--tools", ""}},
		},
		"system prompt": {
			replies: []fakeapi.Reply{say("done")},
			h:       agent.Headless{ExtraArgs: []string{"--system-prompt", "be terse"}},
		},
		"turns are enough": {
			replies: []fakeapi.Reply{use(bash("echo a")), use(bash("echo b")), say("done")},
			h:       agent.Headless{MaxTurns: 3},
		},
		"todo list": {
			replies: []fakeapi.Reply{use(call("TaskCreate", map[string]any{"subject": "a", "description": "b"})), say("done")},
		},
		"plan": {
			replies: []fakeapi.Reply{use(call("EnterPlanMode", map[string]any{})),
				use(call("ExitPlanMode", map[string]any{"plan": "do"})), say("done")},
		},
		"task in background, read": {replies: []fakeapi.Reply{
			use(call("Bash", map[string]any{"command": "echo a; sleep 1", "description": "d", "run_in_background": true})),
			say("wait"), say("done")}},
		"tool that is not there": {replies: []fakeapi.Reply{use(call("Nope", map[string]any{})), say("done")}},
		"question": {
			replies: []fakeapi.Reply{
				use(call("AskUserQuestion",
					map[string]any{
						"questions": []any{map[string]any{"question": "a?", "header": "h", "multiSelect": false,
							"options": []any{map[string]any{"label": "x", "description": "d"}, map[string]any{"label": "y", "description": "d"}}}}})),
				say("done")},
		},
		"slash command": {
			replies: []fakeapi.Reply{say("done")},
			prompt:  "/hi there",
			files:   map[string]string{".claude/commands/hi.md": "say hi to $ARGUMENTS"},
			h:       agent.Headless{ExtraArgs: []string{"--setting-sources", "user,project"}},
		},
		"structured output with subagents": {
			replies: []fakeapi.Reply{use(task(false), task(true)), use(call("StructuredOutput", output)),
				use(call("StructuredOutput", output)), say("done")},
			side: say("it is so"),
			h:    agent.Headless{ExtraArgs: schema},
		},
		"four subagents": {
			replies: []fakeapi.Reply{use(task(false), task(false), task(true), task(false)), say("one"), say("two"), say("three"),
				say("four"), say("five")},
			side: say("it is so"),
		},
		"subagent that works": {reply: worker()},
		"context fills up": {
			reply: filling(),
			h:     agent.Headless{ExtraArgs: []string{"--settings", `{"autoCompactEnabled":true,"autoCompactWindow":100000}`}},
			sent:  "it was so",
		},
		"hooks": {
			replies: []fakeapi.Reply{use(bash("echo a")), say("done"), say("done again")},
			h:       agent.Headless{ExtraArgs: []string{"--settings", hooks}},
		},
		"prompt hook": {
			replies: []fakeapi.Reply{use(bash("echo a")), say("done"), say("done again")},
			side:    say(`{"ok":true}`),
			h: agent.Headless{
				ExtraArgs: []string{"--settings", `{"hooks":{"Stop":[{"hooks":[{"type":"prompt","prompt":"is it done? $ARGUMENTS"}]}]}}`}},
		},
		"agent hook": {
			reply: checking(say("done")),
			h:     agent.Headless{ExtraArgs: []string{"--settings", checkHook("Stop", "agent")}},
			sent:  "echo checking",
		},
		"agent hook, structured output": {
			reply: checking(use(call("StructuredOutput", output))),
			h:     agent.Headless{ExtraArgs: append(slices.Clone(schema), "--settings", checkHook("Stop", "agent"))},
		},
		"agent hook, no tools": {
			reply: checking(say("done")),
			h:     agent.Headless{ExtraArgs: []string{"--tools", "", "--settings", checkHook("Stop", "agent")}},
		},
		"agent hook before the prompt": {
			reply: checking(say("done")),
			h:     agent.Headless{ExtraArgs: []string{"--settings", checkHook("UserPromptSubmit", "agent")}},
		},
		"agent hook with few turns": {
			reply: checking(say("done")),
			h:     agent.Headless{MaxTurns: 1, ExtraArgs: []string{"--settings", checkHook("Stop", "agent")}},
		},
		"prompt hook, no tools": {
			reply: checking(say("done")),
			h:     agent.Headless{ExtraArgs: []string{"--tools", "", "--settings", checkHook("Stop", "prompt")}},
		},
		"agent hook that runs out of time": {
			reply: func(q fakeapi.Request) *fakeapi.Reply {
				r := say("done")
				if asksForHook(q) {
					r = use(bash("sleep 4"))
				}
				return &r
			},
			h:    agent.Headless{ExtraArgs: []string{"--settings", `{"hooks":{"Stop":[{"hooks":[{"type":"agent","prompt":"x","timeout":2}]}]}}`}},
			want: agent.Failure,
		},
		"cost":         {prompt: "/cost"},
		"usage":        {prompt: "/usage"},
		"context":      {prompt: "/context"},
		"model":        {prompt: "/model\n"},
		"compact":      {prompt: "/compact", want: agent.Failure}, // there is nothing to compact
		"help":         {prompt: "/help", want: agent.Failure},    // there is no help without a terminal
		"no command":   {prompt: "/nosuch", replies: []fakeapi.Reply{say("done")}},
		"cost in text": {prompt: "what does\n/cost say", replies: []fakeapi.Reply{say("done")}},
		"hook that blocks the end once": {
			replies: []fakeapi.Reply{say("done"), say("done again")},
			files:   map[string]string{"once.sh": "#!/bin/sh\n[ -e over ] && exit 0\ntouch over\necho more >&2\nexit 2\n"},
			h:       agent.Headless{ExtraArgs: []string{"--settings", `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"./once.sh"}]}]}}`}},
		},
		"tools of a server": {
			replies: []fakeapi.Reply{use(call("mcp__odd__look", map[string]any{"a": 1})), say("done")},
			files:   map[string]string{"server.py": server},
			h: agent.Headless{ExtraArgs: []string{"--settings", `{"env":{"ENABLE_TOOL_SEARCH":"false"}}`, "--mcp-config",
				`{"mcpServers":{"odd":{"command":"python3","args":["server.py"]}}}`}},
			tools: "seen",
			sent:  `$defs`,
		},
		"thinking off": {
			replies: []fakeapi.Reply{use(bash("echo a")), say("done")},
			h:       agent.Headless{ExtraArgs: []string{"--settings", `{"alwaysThinkingEnabled":false}`}},
		},
		"thinking budget": {
			replies: []fakeapi.Reply{think(use(bash("echo a"))), say("done")},
			h:       agent.Headless{Model: "haiku", ExtraArgs: []string{"--settings", `{"env":{"MAX_THINKING_TOKENS":"4000"}}`}},
		},
		"thinking before a call": {
			replies: []fakeapi.Reply{{Content: append(think(fakeapi.Reply{}).Content, bash("echo a")), Stop: "tool_use"}, say("done")},
		},
		"skill": {
			replies: []fakeapi.Reply{use(call("Skill", map[string]any{"skill": "verify"})), say("done")},
		},
		"tool search": {
			replies: []fakeapi.Reply{use(call("ToolSearch", map[string]any{"query": "select:NotebookEdit", "max_results": 3})), say("done")},
		},
		"cut in a call": {replies: []fakeapi.Reply{stopped(use(bash("echo a")), "max_tokens"), say("done")}},
		"pause":         {replies: []fakeapi.Reply{stopped(say("so far"), "pause_turn"), say("done")}},
		"context window used up": {
			replies: []fakeapi.Reply{stopped(say("so far"), "model_context_window_exceeded"), say("done")},
		},
		"empty always":   {replies: []fakeapi.Reply{{Stop: "end_turn"}}},
		"refused always": {replies: []fakeapi.Reply{stopped(say("no"), "refusal")}, want: agent.APIError},
		"cut always":     {replies: []fakeapi.Reply{stopped(say("on"), "max_tokens")}, want: agent.APIError},
		"writes and edits": {
			replies: []fakeapi.Reply{use(call("Write", map[string]any{"file_path": "n.txt", "content": "a\n"})),
				use(call("Edit", map[string]any{"file_path": "n.txt", "old_string": "a", "new_string": "b"})), say("done")},
		},
		"worktree": {
			replies: []fakeapi.Reply{use(call("EnterWorktree", map[string]any{"name": "w"})), say("done")},
		},
		"monitor": {
			replies: []fakeapi.Reply{
				use(call("Monitor", map[string]any{"command": "echo a", "description": "d", "timeout_ms": 2000, "persistent": false})),
				say("wait"), say("done")},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { c.run(t) })
	}
}
