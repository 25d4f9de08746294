package agent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/credproxy"
	"github.com/org/claude-sandbox/credproxy/spending"
	"github.com/org/claude-sandbox/internal/fakeapi"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

const cloudKey = "cloud-key-canary-51f7"

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
		"bedrock": {ofBedrock, "", "/model/us.anthropic.claude-opus-5-5/invoke-with-response-stream", "", agent.Success},
		"vertex": {ofVertex, "/v1/projects/p/locations/us-east5",
			"/v1/projects/p/locations/us-east5/publishers/anthropic/models/claude-opus-5-5:streamRawPredict", "", agent.Success},
		"bedrock, a budget": {ofBedrock, "", "/model/us.anthropic.claude-opus-5-5/invoke-with-response-stream", "1 requests", agent.MaxBudget},
	} {
		t.Run(name, func(t *testing.T) {
			api := &fakeapi.Cloud{API: &fakeapi.Server{Script: script}}
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
				t.Fatalf("outcome %+v\n%s\n%s\nrefused %q\narrived %q", r.outcome, r.stdout, r.stderr, b.refused, api.Arrived())
			}
			arrived := api.Arrived()
			for _, got := range arrived {
				if got != "Bearer "+cloudKey+" "+c.want {
					t.Errorf("arrived: %s", got)
				}
			}
			if strings.Contains(r.raw, cloudKey) {
				t.Error("claude saw the key")
			}
			used, usd := b.proxy.Usage(), b.proxy.CostUSD()
			if used.Requests != int64(len(arrived)) || used.Output != used.Requests*fakeapi.OutputTokens {
				t.Errorf("%+v of %d requests", used, len(arrived))
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
