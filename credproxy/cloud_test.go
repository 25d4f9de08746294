package credproxy

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// Attack: whoever has the session token asks a cloud for more than messages of a model: other
// routes, accounts, projects and forms, and what the screen refuses in Anthropic's own form.
func TestAttackACloudsOtherRoutes(t *testing.T) {
	const good = `{"anthropic_version":"bedrock-2023-05-31","max_tokens":10,"messages":[{"role":"user","content":"hi"}]}`
	ofBedrock, err := BedrockKey(testKey, "us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	ofVertex, err := VertexToken(testKey, "global")
	if err != nil {
		t.Fatal(err)
	}
	const model, project = "/bedrock/model/us.anthropic.claude-opus-5-5", "/vertex/projects/sandbox/locations/global"
	for _, c := range []struct {
		credential Credential
		method     string
		path, body string
		arrives    string // "" = nothing does
	}{
		{ofBedrock, "POST", model + "/invoke", good, "/base/model/us.anthropic.claude-opus-5-5/invoke"},
		{ofBedrock, "POST", "/bedrock/model/arn%3Aaws%3Abedrock%3A1%2Fx/invoke", good, "/base/model/arn%3Aaws%3Abedrock%3A1%2Fx/invoke"},
		{ofVertex, "POST", project + "/publishers/anthropic/models/claude-opus-5-5@20261101:rawPredict", good,
			"/base/publishers/anthropic/models/claude-opus-5-5@20261101:rawPredict"},
		{ofBedrock, "POST", "/v1/messages", hello, ""}, {ofBedrock, "POST", "/v1/messages/count_tokens", hello, ""},
		{ofBedrock, "POST", model + "/invoke?x=1", good, ""}, {ofBedrock, "POST", model + "/invoke?beta=true", good, ""},
		{ofBedrock, "GET", "/bedrock/inference-profiles", "", ""}, {ofBedrock, "GET", model + "/invoke", "", ""},
		{ofBedrock, "POST", model + "/converse", good, ""}, {ofBedrock, "POST", model + "/async-invoke", good, ""},
		{ofBedrock, "POST", "/bedrock/model/../guardrails/x/invoke", good, ""},
		{ofBedrock, "POST", "/bedrock/model/a%2F..%2F..%2Fx/invoke", good, ""},
		{ofBedrock, "POST", "/bedrock/model/%2e%2e/invoke", good, ""}, {ofBedrock, "POST", "/bedrock/model/a/b/invoke", good, ""},
		{ofBedrock, "POST", "/bedrock//model/a/invoke", good, ""}, {ofBedrock, "POST", "/model/a/invoke", good, ""},
		{ofBedrock, "POST", project + "/publishers/anthropic/models/a:rawPredict", good, ""},
		{ofVertex, "POST", model + "/invoke", good, ""},
		{ofVertex, "POST", "/vertex/projects/other/locations/global/publishers/anthropic/models/a:rawPredict", good, ""},
		{ofVertex, "POST", project + "/publishers/google/models/gemini:rawPredict", good, ""},
		{ofVertex, "POST", project + "/publishers/anthropic/models/a:predictLongRunning", good, ""},
		{ofVertex, "POST", project + "/publishers/anthropic/models/a%3ArawPredict:rawPredict?alt=sse", good, ""},
		// bodies
		{ofBedrock, "POST", model + "/invoke", strings.Replace(good, "{", `{"model":"claude-opus-5-5",`, 1), ""},
		{ofBedrock, "POST", model + "/invoke", strings.Replace(good, "{", `{"anthropic_beta":["mcp-client-2025-04-04"],`, 1), ""},
		{ofBedrock, "POST", model + "/invoke", strings.Replace(good, "{", `{"mcp_servers":[],`, 1), ""},
		{ofBedrock, "POST", model + "/invoke",
			strings.Replace(good, "{", `{"tools":[{"type":"web_search_20250305","name":"web_search"}],`, 1), ""},
		{ofBedrock, "POST", model + "/invoke", strings.Replace(good, "bedrock-2023-05-31", "other", 1), ""},
		{ofBedrock, "POST", model + "/invoke",
			strings.Replace(good, `"hi"`, `[{"type":"image","source":{"type":"url","url":"https://evil.test/x"}}]`, 1), ""},
	} {
		arrived := ""
		f := newFixture(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			arrived = r.URL.RequestURI()
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"type":"message","stop_reason":"end_turn"}`))
		}), func(o *Options) {
			o.Credential = c.credential
			o.Upstream, _ = url.Parse(o.Upstream.String() + "/base")
		})
		f.do(t, c.method, c.path, c.body, "Authorization", "Bearer "+testToken)
		if arrived != c.arrives {
			t.Errorf("%s %s %s: %q arrived, want %q", c.method, c.path, c.body, arrived, c.arrives)
		}
	}
	// A key of Anthropic's own is for none of these.
	f := newFixture(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("arrived") }), nil)
	f.do(t, "POST", model+"/invoke", good, "Authorization", "Bearer "+testToken)
}

// Whatever a stream of events holds, it costs what it says, or is estimated; nothing of it is
// kept that a message may not be long.
func FuzzEventStream(f *testing.F) {
	message := func(event string) []byte {
		payload, _ := json.Marshal(map[string][]byte{"bytes": []byte(event)})
		out := binary.BigEndian.AppendUint32(nil, uint32(eventHead+len(payload)+eventSum))
		return append(append(append(out, make([]byte, 8)...), payload...), 0, 0, 0, 0)
	}
	whole := bytes.Join([][]byte{
		message(`{"type":"message_start","message":{"usage":{"input_tokens":5,"output_tokens":1}}}`),
		message(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}`), message(`{"type":"message_stop"}`),
	}, nil)
	f.Add(whole, 3)
	f.Add([]byte{0, 0, 0, 12, 255, 255, 255, 255, 0, 0, 0, 0, 1}, 1)
	f.Fuzz(func(t *testing.T, text []byte, step int) {
		m := &meter{}
		asked := request{model: "a", cloud: &cloudCall{}}
		e := &eventStream{answerReader: newAnswerReader(m, asked, true)}
		for rest := text; len(rest) > 0; {
			n := min(max(step, 1), len(rest))
			e.Write(rest[:n])
			rest = rest[n:]
		}
		answer := e.close()
		if u := m.total(); u.Requests != 1 || u.Input < 0 || u.Output < 0 || u.USD < 0 || len(e.pending) > maxKept {
			t.Errorf("%+v", u)
		}
		if bytes.Equal(text, whole) && (answer.Stop != "end_turn" || m.total().Output != 7) {
			t.Errorf("%+v %+v", answer, m.total())
		}
	})
}
