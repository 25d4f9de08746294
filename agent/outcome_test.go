package agent

import (
	"slices"
	"strings"
	"testing"
)

func TestOnlyAResultThatSaysSoIsSuccess(t *testing.T) {
	ok := Result{Subtype: "success", Text: "done", TerminalReason: "completed"}
	with := func(change func(*Result)) *Result { r := ok; change(&r); return &r }
	for name, c := range map[string]struct {
		result *Result
		code   int
		end    End
		want   Conclusion
	}{
		"success":                       {&ok, 0, EndedItself, Success},
		"success, but exit code 1":      {&ok, 1, EndedItself, Failure},
		"no result and exit code 0":     {nil, 0, EndedItself, NoResult},
		"no result, killed":             {nil, 143, EndedItself, NoResult},
		"interrupted, exit code 0":      {&Result{Subtype: "error_during_execution", TerminalReason: "aborted_tools"}, 0, EndedItself, Failure},
		"is_error with subtype success": {with(func(r *Result) { r.IsError = true }), 0, EndedItself, Failure},
		"empty subtype":                 {with(func(r *Result) { r.Subtype = "" }), 0, EndedItself, Failure},
		"api error with subtype success": {with(func(r *Result) { r.IsError, r.APIErrorStatus, r.TerminalReason = true, 529, "api_error" }),
			1, EndedItself, APIError},
		"network error": {with(func(r *Result) { r.IsError, r.TerminalReason = true, "api_error" }), 1, EndedItself, APIError},
		"401": {with(func(r *Result) { r.IsError, r.APIErrorStatus, r.TerminalReason = true, 401, "api_error" }), 1,
			EndedItself, AuthError},
		"not logged in": {with(func(r *Result) { r.IsError, r.Text = true, "Not logged in · Please run /login" }), 1,
			EndedItself, AuthError},
		"max turns":                  {&Result{Subtype: "error_max_turns", IsError: true}, 1, EndedItself, MaxTurns},
		"budget":                     {&Result{Subtype: "error_max_budget_usd", IsError: true}, 1, EndedItself, MaxBudget},
		"timeout wins over a result": {&ok, 0, EndedTimeout, Timeout},
		"cancelled":                  {nil, 0, EndedCancel, Cancelled},
		"hopeless":                   {nil, 137, EndedHopeless, AuthError},
	} {
		got := Judge(Evidence{Result: c.result, ExitCode: c.code, End: c.end, Answers: 1, Last: Answer{Stop: "end_turn", Text: "done"}})
		if got.Conclusion != c.want || got.OK() != (c.want == Success) || (got.Message == "") != (c.want == Success) {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
}

// Attack: a program that is not claude prints a success and asks no model.
func TestAResultThatNoModelStandsBehindIsNoSuccess(t *testing.T) {
	e := Evidence{Result: &Result{Subtype: "success", Text: "done"}, Last: Answer{Stop: "end_turn", Text: "done"}}
	if got := Judge(e); got.Conclusion != Tampered || got.Message == "" {
		t.Errorf("%+v", got)
	}
	if e.Answers = 1; !Judge(e).OK() {
		t.Errorf("%+v", Judge(e))
	}
}

// Attack: the same in the form of a command that asks no model.
func TestAForgedCommandIsNoSuccess(t *testing.T) {
	ok := Result{Subtype: "success", Text: "done", LocalCommand: "cost"}
	own := Result{Subtype: "success", Text: "done", LocalCommand: "fix-tests"}
	for name, c := range map[string]struct {
		prompt  string
		answers int64
		result  *Result
		want    Conclusion
	}{
		"cost":                               {"/cost", 0, &ok, Success},
		"cost, and more words":               {" /cost please\n", 0, &ok, Success},
		"the prompt is none":                 {"fix the tests", 0, &ok, Tampered},
		"the prompt only names one":          {"see\n/cost", 0, &ok, Tampered},
		"the prompt is the project's own":    {"/fix-tests", 0, &own, Failure},
		"the project's own, and says cost":   {"/fix-tests", 0, &ok, Failure},
		"another report":                     {"/usage", 0, &ok, Failure},
		"cost, and no word of a command":     {"/cost", 0, &Result{Subtype: "success", Text: "done"}, Failure},
		"the model was asked":                {"/cost", 1, &ok, Tampered},
		"the model was asked, not a command": {"fix the tests", 1, &ok, Tampered},
	} {
		if got := Judge(Evidence{Prompt: c.prompt, Answers: c.answers, Result: c.result}); got.Conclusion != c.want {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
}

// /clear asks no model, and /compact asks one and does not say what it answered. Neither is
// an attack; and an attack that looks like one is no success.
func TestACommandThatAnswersNothingIsAFailure(t *testing.T) {
	silent := Result{Subtype: "success", LocalCommand: "compact"}
	loud := Result{Subtype: "success", LocalCommand: "compact", Text: "all tests pass"}
	ended, toolRuns := Answer{Stop: "end_turn", Text: "a summary"}, Answer{Stop: "tool_use"}
	for name, c := range map[string]struct {
		prompt  string
		answers int64
		last    Answer
		result  *Result
		want    Conclusion
	}{
		"no model asked":             {"/compact", 0, Answer{}, &silent, Failure},
		"the model asked":            {"/compact", 2, ended, &silent, Failure},
		"with words of its own":      {"/compact", 2, ended, &loud, Tampered},
		"while a tool runs":          {"/compact", 2, toolRuns, &silent, Tampered},
		"the prompt is a task":       {"fix the tests", 2, ended, &silent, Tampered},
		"the prompt only names it":   {"see\n/compact", 2, ended, &silent, Tampered},
		"the prompt is another's":    {"/fix-tests", 2, ended, &silent, Tampered},
		"an answer that did not end": {"/compact", 1, Answer{}, &silent, Tampered},
		"structured, and not claimed": {"/compact", 2, ended, &Result{Subtype: "success", Structured: []byte("1"), LocalCommand: "compact"},
			Tampered},
	} {
		got := Judge(Evidence{Prompt: c.prompt, Answers: c.answers, Last: c.last, Result: c.result})
		if got.Conclusion != c.want {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
		if c.want == Failure && got.Message != "claude's own command /compact gives no answer: a run needs a task as its prompt" {
			t.Errorf("%s: %q", name, got.Message)
		}
	}
}

// Attack: while a hook checks the work, a tool of its own agent prints the words
// of the main conversation's last answer.
func TestAHooksToolCannotSayThatAllIsWell(t *testing.T) {
	e := Evidence{Result: &Result{Subtype: "success", Text: "done"}, Answers: 2, Last: Answer{Stop: "end_turn", Text: "done"}, HookOpen: true}
	if got := Judge(e); got.Conclusion != Failure || got.Message == "" {
		t.Errorf("%+v", got)
	}
}

func TestMessageIsClaudesOwnInOneLine(t *testing.T) {
	r := Result{Subtype: "success", IsError: true, Text: "API Error: 404\nno \x1b[31msuch model", APIErrorStatus: 404}
	if got := Judge(Evidence{Result: &r, ExitCode: 1, Answers: 1}).Message; got != "API Error: 404 no [31msuch model" {
		t.Errorf("%q", got)
	}
	long := oneLine(strings.Repeat("ü", 1000), 200)
	if len(long) > 200 || !strings.HasSuffix(long, "ü…") {
		t.Errorf("%d bytes: %q", len(long), long)
	}
}

func TestArgumentsHoldNoPromptAndNoProjectSettings(t *testing.T) {
	got := Headless{Model: "m", MaxTurns: 3, MaxBudgetUSD: 0.5, AppendSystemPrompt: "be brief", ExtraArgs: []string{"--effort", "low"}}.Args()
	want := []string{
		"-p", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions", "--setting-sources", "user", "--strict-mcp-config",
		"--settings", `{"skipWebFetchPreflight":true}`,
		"--model", "m", "--max-turns", "3", "--max-budget-usd", "0.5", "--append-system-prompt", "be brief", "--effort", "low",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestExtraArgumentsCannotUndoOurs(t *testing.T) {
	for _, args := range [][]string{{"--output-format", "text"}, {"--setting-sources=project"}, {"-x", "--input-format=stream-json"}} {
		if err := CheckExtraArgs(args); err == nil {
			t.Errorf("%q passed", args)
		}
	}
	if err := CheckExtraArgs([]string{"--effort", "low", "--fallback-model=x"}); err != nil {
		t.Error(err)
	}
}

func TestEnvHoldsNothingSecretButTheSessionToken(t *testing.T) {
	env := Env(EnvOptions{SessionToken: "tok", MaxRetries: 2})
	for _, want := range []string{
		"ANTHROPIC_BASE_URL=http://127.0.0.1:8790", "ANTHROPIC_AUTH_TOKEN=tok", "CLAUDE_CODE_PROVIDER_MANAGED_BY_HOST=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "CLAUDE_CODE_MAX_RETRIES=2",
	} {
		if !slices.Contains(env, want) {
			t.Errorf("%s is missing", want)
		}
	}
	for _, e := range env {
		if strings.HasPrefix(e, "ANTHROPIC_API_KEY=") || strings.HasPrefix(e, "CLAUDE_CODE_OAUTH_TOKEN=") {
			t.Errorf("%s", e)
		}
	}
}
