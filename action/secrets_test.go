package action

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/agent"
)

// Attack: the agent prints secrets, whole, hidden by characters that nobody
// sees, across a cut and in pieces. On a public repository the log is public.
func TestAttackSecretsInTheLog(t *testing.T) {
	const (
		github = "ghp_0123456789abcdefghijklmnopqrstuvwxyzABCD"
		aws    = "AKIAIOSFODNN7EXAMPLE"
		key    = "sk-ant-test-key" // the step's own, too short for a known kind
	)
	hidden := "ghp_0123456789\u200babcdefghij\x1b[0mklmnopqrstuvwxyzABCD"
	r := runStep(t, t.Context(), nil, func(_ context.Context, job Job) (Report, error) {
		job.Events(agent.Text{Text: "the token is " + github + " and " + aws + " and " + key})
		job.Events(agent.Text{Text: hidden})
		job.Events(agent.ToolUse{ID: "1", Name: "Bash", Argument: strings.Repeat("x", 170) + " " + github}) // cut at 200
		job.Events(agent.ToolResult{ID: "1", IsError: true, Text: strings.Repeat("y", 285) + " " + key})    // cut at 300
		for _, piece := range []string{"claude: ghp_0123456789", "abcdefghijklmnop", "qrstuvwxyzABCD\nclaude: sk-ant-", "test-key"} {
			if _, err := io.WriteString(job.Progress, piece); err != nil {
				t.Error(err)
			}
		}
		result := &agent.Result{Text: hidden + " " + aws, SessionID: github, Turns: 1}
		return Report{Outcome: agent.Outcome{Conclusion: agent.Success}, Result: result, Egress: egress(refusal(aws + ".evil.example"))}, nil
	})
	log := strings.Replace(r.log, "::add-mask::"+key+"\n", "", 1) // the runner takes that line out
	for _, part := range []string{"ghp_", "0123456789", "abcdefghij", "AKIA", "test-key", "sk-ant-"} {
		for name, text := range map[string]string{"the log": log, "the summary": r.summary} {
			if strings.Contains(text, part) {
				t.Errorf("%s shows %q of a secret:\n%s", name, part, text)
			}
		}
	}
	for _, output := range []string{"session_id", "denied_hosts"} {
		if strings.Contains(r.outputs[output], "0123456789") || strings.Contains(r.outputs[output], aws) {
			t.Errorf("the output %s is %q", output, r.outputs[output])
		}
	}
	if !strings.Contains(log, "the token is [redacted] and [redacted] and [redacted]") || r.outputs["conclusion"] != "success" {
		t.Errorf("more than the secrets is gone:\n%s\n%v", log, r.outputs)
	}
}

func TestCostIsRounded(t *testing.T) {
	for cost, want := range map[float64]string{0.10683999999999999: "0.10684", 0.1 + 0.2: "0.3", 0: "0", 12: "12", 0.0000014: "0.000001"} {
		for _, p := range (Outputs{CostUSD: cost}).pairs() {
			if p.name == "cost_usd" && p.value != want {
				t.Errorf("%v is written as %s, want %s", cost, p.value, want)
			}
		}
	}
}
