package sandbox

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/agent/structured"
	"github.com/org/claude-sandbox/internal/fakeapi"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// An answer is held against its schema on this side: a Claude that was told another one,
// or none, is no success.
func TestAnswersFitTheirSchema(t *testing.T) {
	t.Parallel()
	e := connect(t)
	schema := func(kind string) *structured.Schema {
		s, err := structured.Parse([]byte(`{"type":"object","required":["n"],"properties":{"n":{"type":"` + kind + `"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for name, c := range map[string]struct {
		outside *structured.Schema // what this side checks
		want    agent.Conclusion
		message string
	}{
		"it fits":     {schema("number"), agent.Success, ""},
		"it does not": {schema("string"), agent.SchemaMismatch, `/properties/n: type: 3 has type "integer", want "string"`},
	} {
		t.Run(name, func(t *testing.T) {
			tr := &trial{
				script: fakeapi.Script{Turns: []fakeapi.Turn{{Calls: []fakeapi.Call{{Name: "StructuredOutput", Input: map[string]any{"n": 3}}}}}}}
			tr.options.Schema = schema("number")
			tr.adjust = func(p *runplan.Plan) { p.Asked.Schema = c.outside }
			tr.run(t, e)
			if o := tr.result.Outcome; o.Conclusion != c.want || !strings.Contains(o.Message, c.message) || (tr.result.ExitCode == 0) != o.OK() {
				t.Fatalf("%+v, exit code %d, want %s %q\n%s", o, tr.result.ExitCode, c.want, c.message, tr.stdout.String())
			}
			text, err := os.ReadFile(tr.result.Files.Summary)
			var summary struct{ Structured json.RawMessage }
			if err == nil {
				err = json.Unmarshal(text, &summary)
			}
			if got := strings.Join(strings.Fields(string(summary.Structured)), ""); err != nil || (got == `{"n":3}`) != (c.want == agent.Success) {
				t.Errorf("the summary has %q, %v", got, err)
			}
		})
	}
}
