package sandbox

import (
	"strings"
	"testing"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/internal/fakeapi"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// A run asks Bedrock, whose key is nowhere in it.
func TestARunOnBedrock(t *testing.T) {
	tr := &trial{
		options: runplan.Options{}, bedrock: &fakeapi.Cloud{},
		script: fakeapi.Script{Turns: []fakeapi.Turn{{Bash: []string{"env; cat /proc/*/environ | tr '\\0' '\\n'"}}}, Final: "done at Bedrock"},
	}
	tr.run(t, connect(t))
	if tr.err != nil || tr.result.Outcome.Conclusion != agent.Success {
		t.Fatalf("%v %+v", tr.err, tr.result)
	}
	arrived := tr.bedrock.Arrived()
	for _, got := range arrived {
		if !strings.HasPrefix(got, "Bearer "+canary+" /model/eu.anthropic.") {
			t.Errorf("arrived: %s", got)
		}
	}
	if len(arrived) == 0 || tr.result.MeteredUSD == 0 {
		t.Errorf("%q, %g US dollars", arrived, tr.result.MeteredUSD)
	}
}
