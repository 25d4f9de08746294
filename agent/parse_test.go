package agent

import "testing"

// A kept conversation has what a person typed, among texts that Claude Code and models put in a
// person's place.
func TestWhatAPersonTyped(t *testing.T) {
	line := func(members, content string) string {
		return `{"type":"user","uuid":"u","sessionId":"s",` + members + `"message":{"role":"user","content":` + content + `}}`
	}
	for text, want := range map[string]string{
		line("", `"fix it\nnow"`): "fix it\nnow",
		line("", `[{"type":"text","text":"look"},{"type":"image","source":{}}]`):                             "look",
		line(`"isMeta":true,`, `"Caveat: the messages below"`):                                               "",
		line(`"isCompactSummary":true,`, `"This session is continued"`):                                      "",
		line(`"isSidechain":true,`, `"a model's task"`):                                                      "",
		line("", `"<command-name>/compact</command-name>\n  <command-args>all</command-args>"`):              "/compact all",
		line("", `"<command-message>s</command-message>\n<command-name>/s</command-name>"`):                  "/s",
		line("", `"<local-command-stdout>Compacted</local-command-stdout>"`):                                 "",
		`{"type":"user","session_id":"s","message":{"content":"in the stream of a run without a terminal"}}`: "",
		`{"type":"assistant","sessionId":"s","message":{"content":"an answer"}}`:                             "",
	} {
		events, _, ok := parseLine([]byte(text))
		got := ""
		for _, e := range events {
			if typed, is := e.(Typed); is {
				got += typed.Text
			}
		}
		if !ok || got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}
