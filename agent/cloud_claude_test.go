package agent_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/credproxy"
	"github.com/org/claude-sandbox/credproxy/spending"
	"github.com/org/claude-sandbox/internal/fakeapi"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

const cloudKey = "cloud-key-canary-51f7"

// cloudAPI serves the scripted API in the forms of Bedrock and Vertex AI.
type cloudAPI struct {
	api *fakeapi.Server

	mu      sync.Mutex
	arrived []string // "AUTHORIZATION PATH"
}

func (c *cloudAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.arrived = append(c.arrived, r.Header.Get("Authorization")+" "+r.URL.EscapedPath())
	c.mu.Unlock()
	var model string
	bedrock := strings.HasPrefix(r.URL.Path, "/model/")
	if bedrock {
		model, _, _ = strings.Cut(strings.TrimPrefix(r.URL.Path, "/model/"), "/")
	} else {
		_, rest, _ := strings.Cut(r.URL.Path, "/publishers/anthropic/models/")
		model, _, _ = strings.Cut(rest, ":")
	}
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body["model"] != nil || body["anthropic_version"] == nil {
		http.Error(w, "no request of a cloud's form", http.StatusBadRequest)
		return
	}
	delete(body, "anthropic_version")
	delete(body, "anthropic_beta")
	body["model"] = model
	body["stream"] = strings.Contains(strings.ToLower(r.URL.Path), "stream")
	text, _ := json.Marshal(body)
	inner := httptest.NewRequestWithContext(r.Context(), http.MethodPost, "/v1/messages", bytes.NewReader(text))
	answer := httptest.NewRecorder()
	c.api.ServeHTTP(answer, inner)
	if !bedrock || answer.Code != http.StatusOK || body["stream"] == false {
		w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
		return
	}
	w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
	for line := range strings.Lines(answer.Body.String()) {
		if data, ok := strings.CutPrefix(line, "data:"); ok {
			writeEvent(w, []byte(strings.TrimSpace(data)))
		}
	}
}

// writeEvent writes an event as Bedrock does, in pieces.
func writeEvent(w io.Writer, event []byte) {
	payload, _ := json.Marshal(map[string]any{"bytes": event, "p": "abcdefgh"})
	var headers []byte
	for _, h := range [][2]string{{":event-type", "chunk"}, {":content-type", "application/json"}, {":message-type", "event"}} {
		headers = append(headers, byte(len(h[0])))
		headers = append(append(headers, h[0]...), 7)
		headers = append(binary.BigEndian.AppendUint16(headers, uint16(len(h[1]))), h[1]...)
	}
	message := binary.BigEndian.AppendUint32(nil, uint32(12+len(headers)+len(payload)+4))
	message = binary.BigEndian.AppendUint32(message, uint32(len(headers)))
	message = binary.BigEndian.AppendUint32(message, crc32.ChecksumIEEE(message))
	message = append(append(message, headers...), payload...)
	message = binary.BigEndian.AppendUint32(message, crc32.ChecksumIEEE(message))
	_, _ = w.Write(message[:7])
	_ = http.NewResponseController(w.(http.ResponseWriter)).Flush()
	_, _ = w.Write(message[7:])
}

// Claude Code works with Bedrock and Vertex AI through the proxy, without their key, and what it
// uses counts: a budget ends it.
func TestRealClaudeAsksACloud(t *testing.T) {
	testenv.Program(t, "claude")
	ofBedrock, err := credproxy.BedrockKey(cloudKey, "us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	ofVertex, err := credproxy.VertexToken(cloudKey, "us-east5")
	if err != nil {
		t.Fatal(err)
	}
	script := fakeapi.Script{Turns: []fakeapi.Turn{{Bash: []string{"env; cat /proc/self/environ"}}}, Final: "done in the cloud"}
	for name, c := range map[string]struct {
		credential credproxy.Credential
		path, want string // of the upstream, and of requests to it
		requests   string // a budget
		conclusion agent.Conclusion
	}{
		"bedrock":           {ofBedrock, "", "/model/us.anthropic.claude-opus-5-5/invoke-with-response-stream", "", agent.Success},
		"vertex":            {ofVertex, "/v1/projects/p/locations/us-east5", "/v1/projects/p/locations/us-east5/publishers/anthropic/models/claude-opus-5-5:streamRawPredict", "", agent.Success},
		"bedrock, a budget": {ofBedrock, "", "/model/us.anthropic.claude-opus-5-5/invoke-with-response-stream", "1 requests", agent.MaxBudget},
	} {
		t.Run(name, func(t *testing.T) {
			api := &cloudAPI{api: &fakeapi.Server{Script: script}}
			var limits credproxy.Limits
			if c.requests != "" {
				b, err := spending.Parse(c.requests)
				if err != nil {
					t.Fatal(err)
				}
				limits.Budgets = []spending.Budget{b}
			}
			b := newBenchAt(t, api, c.path, c.credential, limits)
			r := b.claude(t, agent.Headless{}, "go on")
			if r.outcome.Conclusion != c.conclusion {
				t.Fatalf("outcome %+v\n%s\n%s\nrefused %q\narrived %q", r.outcome, r.stdout, r.stderr, b.refused, api.arrived)
			}
			for _, got := range api.arrived {
				if got != "Bearer "+cloudKey+" "+c.want {
					t.Errorf("arrived: %s", got)
				}
			}
			if strings.Contains(r.raw, cloudKey) {
				t.Error("claude saw the key")
			}
			used, usd := b.proxy.Usage(), b.proxy.CostUSD()
			if used.Requests != int64(len(api.arrived)) || used.Output != used.Requests*fakeapi.OutputTokens {
				t.Errorf("%+v of %d requests", used, len(api.arrived))
			}
			// The script answers as a model of its own, which has the dearest price; and a tenth, which is what an endpoint of one region costs.
			want := float64(used.Input)*15 + float64(used.Output)*75 + float64(used.CacheRead)*1.5 + float64(used.CacheWrite)*30
			if got := usd * 1e6 / 1.1; got < want-1e-6 || got > want+1e-6 {
				t.Errorf("%g US dollars, want %g", usd, want*1.1/1e6)
			}
			if c.conclusion == agent.Success && !strings.Contains(fmt.Sprint(r.scanner.Result().Text), "done in the cloud") {
				t.Errorf("%+v", r.scanner.Result())
			}
		})
	}
}
