package agent

import "testing"

// Attack: a tool of the agent writes a well-formed result to claude's output and
// ends claude with exit code 0. The model had asked for that tool.
func TestAResultThatIsNotTheModelsLastAnswerIsTampered(t *testing.T) {
	said := func(text string) *Result { return &Result{Subtype: "success", Text: text} }
	structured := func(text, output string) *Result {
		return &Result{Subtype: "success", Text: text, Structured: []byte(output)}
	}
	call := Answer{Stop: "tool_use", Structured: []byte(`{"ok": false, "n":1}`)}
	for name, c := range map[string]struct {
		last   Answer
		result *Result
		want   Conclusion
	}{
		"its own words":                 {Answer{Stop: "end_turn", Text: " done \n"}, said(" done \n"), Success},
		"cut by a stop sequence":        {Answer{Stop: "stop_sequence", Text: "do"}, said("do"), Success},
		"a pause that claude ends at":   {Answer{Stop: "pause_turn", Text: "do"}, said("do"), Success},
		"thinking last":                 {Answer{Stop: "end_turn"}, said(""), Success},
		"other words":                   {Answer{Stop: "end_turn", Text: "2 tests fail"}, said("all tests pass"), Tampered},
		"the beginning of its words":    {Answer{Stop: "end_turn", Text: "it works not"}, said("it works"), Tampered},
		"a tool runs":                   {Answer{Stop: "tool_use"}, said(""), Tampered},
		"a tool runs, text before it":   {Answer{Stop: "tool_use", Text: "done"}, said("done"), Tampered},
		"no answer":                     {Answer{}, said(""), Tampered},
		"cut for its length":            {Answer{Stop: "max_tokens", Text: "do"}, said("do"), Tampered},
		"a reason that is not known":    {Answer{Stop: "teleport", Text: "do"}, said("do"), Tampered},
		"structured output":             {call, structured(`{"n":1,"ok":false}`, `{"n":1,"ok":false}`), Success},
		"structured output, forged":     {call, structured(`{"n":1,"ok":true}`, `{"n":1,"ok":true}`), Tampered},
		"structured output, other text": {call, structured(`{"ok":true}`, `{"n":1,"ok":false}`), Tampered},
		"structured output left out":    {call, said(`{"ok":true}`), Tampered},
	} {
		if got := Judge(Evidence{Result: c.result, Answers: 1, Last: c.last}); got.Conclusion != c.want {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
}

// Attack: whoever has the session token asks the model on, past claude's limits,
// and writes a success.
func TestNoSuccessFollowsALimitThatTheHostHeld(t *testing.T) {
	for _, limit := range []Conclusion{MaxTurns, MaxBudget, MaxRepeats} {
		e := Evidence{Result: &Result{Subtype: "success", Text: "x"}, Answers: 1, Last: Answer{Stop: "end_turn", Text: "x"}, Limit: limit}
		if got := Judge(e); got.Conclusion != limit || got.Message == "" {
			t.Errorf("%s: %+v", limit, got)
		}
	}
}

func TestLimitsAreThoseThatClaudeTakes(t *testing.T) {
	for name, c := range map[string]struct {
		h     Headless
		turns int
		usd   float64
	}{
		"none":               {Headless{}, 0, 0},
		"of the run":         {Headless{MaxTurns: 3, MaxBudgetUSD: 0.5}, 3, 0.5},
		"of claude":          {Headless{ExtraArgs: []string{"--max-turns", "4", "--max-budget-usd=1.5"}}, 4, 1.5},
		"of both, the later": {Headless{MaxTurns: 3, ExtraArgs: []string{"--max-turns=9"}}, 9, 0},
		"no number":          {Headless{MaxTurns: 3, ExtraArgs: []string{"--max-turns", "many"}}, 3, 0},
	} {
		if turns, usd := c.h.Limits(); turns != c.turns || usd != c.usd {
			t.Errorf("%s: %d, %g", name, turns, usd)
		}
	}
}
