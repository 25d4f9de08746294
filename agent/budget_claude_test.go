package agent_test

import (
	"strings"
	"testing"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/credproxy"
	"github.com/org/claude-sandbox/credproxy/spending"
	"github.com/org/claude-sandbox/internal/fakeapi"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// Claude ends at once when the proxy refuses a request, says why, and asks no more.
func TestRealClaudeEndsAtALimitOfTheProxy(t *testing.T) {
	testenv.Program(t, "claude")
	again := fakeapi.Script{}
	for range 30 {
		again.Turns = append(again.Turns, fakeapi.Turn{Bash: []string{"echo the same"}})
	}
	two, err := spending.Parse("2 requests")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		limits credproxy.Limits
		most   int64 // answers
		want   agent.Conclusion
		says   string
		claude string // in Claude's own result
	}{
		"budget": {credproxy.Limits{Budgets: []spending.Budget{two}}, 2, agent.MaxBudget, "this run's budget of 2 answers is used up",
			"this run's budget of 2 answers is used up"},
		"repeats": {credproxy.Limits{Repeats: 6}, 8, agent.MaxRepeats, "the same calls with the same results 6 times",
			"the same calls with the same results 6 times"},
		"models": {credproxy.Limits{Models: [][]string{{"claude-none-*"}}}, 0, agent.APIError, "claude-none-*", "may not have access to it"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBenchWith(t, &fakeapi.Server{Script: again}, realKey, c.limits)
			r := b.claude(t, agent.Headless{}, "go on")
			if r.outcome.Conclusion != c.want {
				t.Errorf("outcome %+v, want %s\n%s", r.outcome, c.want, r.stdout)
			}
			if n := b.proxy.Answered(); n > c.most {
				t.Errorf("%d answers, want at most %d", n, c.most)
			}
			if result := r.scanner.Result(); result == nil || !strings.Contains(result.Text, c.claude) {
				t.Errorf("Claude does not say why: %+v", result)
			}
			if all := strings.Join(b.refused, "\n"); !strings.Contains(all, c.says) || len(b.refused) > 3 {
				t.Errorf("refused %q", b.refused)
			}
		})
	}
}

// What the proxy counts is what Claude counts, in tokens and in US dollars. The three tokens
// written to the cache, of which the answer does not say for how long, count as the dearer kind.
func TestTheProxyCountsAsClaudeDoes(t *testing.T) {
	testenv.Program(t, "claude")
	for _, model := range []string{"claude-opus-5-5", "claude-sonnet-4-6", "claude-haiku-4-5"} {
		b := newBench(t, &fakeapi.Server{Reply: func(q fakeapi.Request) *fakeapi.Reply {
			return &fakeapi.Reply{Content: []fakeapi.Block{{Type: "text", Text: "done"}}, Stop: "end_turn", Input: 50_000, Model: q.Model}
		}}, realKey)
		r := b.claude(t, agent.Headless{Model: model}, "say done")
		used, result := b.proxy.Usage(), r.scanner.Result()
		if result == nil || result.Tokens() == 0 || result.Tokens() != used.Input+used.Output+used.CacheRead+used.CacheWrite ||
			b.proxy.CostUSD() < result.CostUSD || b.proxy.CostUSD()-result.CostUSD > 1e-5 {
			t.Errorf("%s: Claude says %+v, the proxy %+v and %g US dollars", model, result, used, b.proxy.CostUSD())
		}
	}
}
