package action

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/credproxy/spending"
	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/learn"
	"github.com/org/claude-sandbox/firewall/report"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/sandbox"
)

// scripted is a Runner that says what a test wants to hear.
type scripted func(ctx context.Context, job Job) (Report, error)

func (s scripted) Run(ctx context.Context, job Job) (Report, error) { return s(ctx, job) }

// ran is what a step left behind.
type ran struct {
	conclusion   agent.Conclusion
	log, summary string
	outputs      map[string]string
	dir          string
}

func runStep(t *testing.T, ctx context.Context, inputs map[string]string, runner scripted) ran {
	t.Helper()
	dir := t.TempDir()
	env := map[string]string{
		"GITHUB_WORKSPACE": t.TempDir(), "GITHUB_OUTPUT": filepath.Join(dir, "output"), "GITHUB_STEP_SUMMARY": filepath.Join(dir, "summary"),
		"RUNNER_TEMP": filepath.Join(dir, "temp"), "SBX_RUN_ID": "gha-test",
		"INPUT_PROMPT": "do it", "INPUT_ANTHROPIC_API_KEY": "sk-ant-test-key",
	}
	for name, value := range inputs {
		env[name] = value
	}
	var log bytes.Buffer
	now := time.Unix(1000, 0)
	conclusion := Run(ctx, Options{
		Getenv: func(name string) string { return env[name] },
		Stdout: &log, Runner: runner,
		Now:         func() time.Time { now = now.Add(time.Second); return now },
		CancelGrace: 10 * time.Millisecond,
	})
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return string(text)
	}
	r := ran{conclusion: conclusion, log: log.String(), summary: read("summary"),
		dir: folderOf(func(name string) string { return env[name] }, "gha-test")}
	if text := read("output"); text != "" {
		r.outputs = readOutputs(t, text)
	}
	return r
}

func egress(records ...audit.Record) *report.Report { return report.New(records, nil) }

func refusal(host string) audit.Record {
	return audit.Record{Verdict: firewall.Deny, Layer: audit.LayerDNS, Name: host, Reason: "no entry matches"}
}

func TestEveryEndWritesOutputsAndSummary(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	ok := Report{Outcome: agent.Outcome{Conclusion: agent.Success},
		Result: &agent.Result{Text: "all done", Turns: 2, CostUSD: 0.5, SessionID: "s1"}, Egress: egress(refusal("denied.example"))}
	for name, tc := range map[string]struct {
		ctx    context.Context
		inputs map[string]string
		report Report
		err    error
		want   agent.Conclusion
		text   string // in outputs.result and in the summary
	}{
		"success":      {report: ok, want: agent.Success, text: "all done"},
		"refused host": {report: ok, inputs: map[string]string{"INPUT_FAIL_ON_DENIED": "true"}, want: Denied, text: "all done"},
		"bad input":    {inputs: map[string]string{"INPUT_MAX_TURNS": "x"}, want: ConfigError, text: "max_turns"},
		"no run id":    {inputs: map[string]string{"SBX_RUN_ID": "../x"}, want: ConfigError, text: "SBX_RUN_ID"},
		"no engine":    {err: errors.New("no container engine answers"), want: SetupError, text: "no container engine"},
		"API error": {report: Report{Outcome: agent.Outcome{Conclusion: agent.APIError, Message: "API Error: 529 overloaded"}},
			want: agent.APIError, text: "529 overloaded"},
		"timeout": {report: Report{Outcome: agent.Outcome{Conclusion: agent.Timeout, Message: "took longer"}},
			err: errors.New("the time limit is over"), want: agent.Timeout, text: "took longer"},
		"cancelled":          {ctx: cancelled, report: ok, want: agent.Cancelled, text: "all done"},
		"nothing said":       {want: agent.NoResult, text: "without a result"},
		"success with error": {report: ok, err: errors.New("the firewall ended"), want: SetupError, text: "all done"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := tc.ctx
			if ctx == nil {
				ctx = t.Context()
			}
			r := runStep(t, ctx, tc.inputs, func(context.Context, Job) (Report, error) { return tc.report, tc.err })
			if r.conclusion != tc.want || r.outputs["conclusion"] != string(tc.want) {
				t.Errorf("conclusion %q, output %q, want %q", r.conclusion, r.outputs["conclusion"], tc.want)
			}
			if !strings.Contains(r.outputs["result"], tc.text) || !strings.Contains(r.summary, tc.text) ||
				!strings.Contains(r.summary, string(tc.want)) {
				t.Errorf("want %q in the result %q and in the summary:\n%s", tc.text, r.outputs["result"], r.summary)
			}
			if fails := tc.want != agent.Success && tc.want != agent.Cancelled; fails && strings.Count(r.log, "::error title=claude-sandbox") != 1 {
				t.Errorf("one annotation has to say why the step fails:\n%s", r.log)
			}
			if !strings.Contains(r.log, "conclusion: "+string(tc.want)) {
				t.Errorf("the log does not end with the conclusion:\n%s", r.log)
			}
		})
	}
}

func TestOutputsOfASuccess(t *testing.T) {
	r := runStep(t, t.Context(), nil, func(_ context.Context, job Job) (Report, error) {
		if job.ID != "gha-test" || job.Inputs.Prompt != "do it" {
			t.Errorf("job: %+v", job)
		}
		if info, err := os.Stat(job.Dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("report folder: %v, %v", info, err)
		}
		return Report{
			Outcome: agent.Outcome{Conclusion: agent.Success}, Result: &agent.Result{Text: "done", Turns: 3, CostUSD: 0.0125, SessionID: "s1"},
			MeteredUSD: 0.25,
			Egress:     egress(refusal("b.example"), refusal("a.example")), Transcript: filepath.Join(job.Dir, "transcript.jsonl"),
		}, nil
	})
	for name, want := range map[string]string{
		"conclusion": "success", "result": "done", "cost_usd": "0.0125", "metered_cost_usd": "0.25", "num_turns": "3",
		"session_id": "s1", "duration_ms": "1000",
		"denied_hosts": "a.example\nb.example", "report_dir": r.dir, "execution_file": filepath.Join(r.dir, "transcript.jsonl"),
	} {
		if r.outputs[name] != want {
			t.Errorf("%s = %q, want %q", name, r.outputs[name], want)
		}
	}
	if !strings.Contains(r.log, "::add-mask::sk-ant-test-key\n") {
		t.Errorf("the key is not masked:\n%s", r.log)
	}
	if !strings.Contains(r.summary, "allowed_domains: |\n  a.example\n  b.example\n") {
		t.Errorf("no lines to paste in the summary:\n%s", r.summary)
	}
	if strings.Contains(r.summary, "sandbox.jsonc") { // which opens nothing in a workflow
		t.Errorf("the summary leads to the project's file:\n%s", r.summary)
	}
}

// The way from egress: audit to a list is in the summary.
func TestTheSummaryHasTheListAfterAnAudit(t *testing.T) {
	seen := audit.Record{Verdict: firewall.Allow, Rule: firewall.RuleUnlisted, Layer: audit.LayerDNS, Name: "docs.example.com"}
	reached := audit.Record{Verdict: firewall.Allow, Rule: firewall.RuleUnlisted, Layer: audit.LayerSNI, Name: "docs.example.com",
		Dst: "203.0.113.7", Port: 443, Proto: firewall.TCP}
	r := runStep(t, t.Context(), map[string]string{"INPUT_EGRESS": "audit"}, func(context.Context, Job) (Report, error) {
		return Report{
			Outcome: agent.Outcome{Conclusion: agent.Success}, Result: &agent.Result{Text: "done"}, Egress: egress(seen, reached),
			Learned: learn.New([]audit.Record{seen, reached}, nil, learn.Options{}),
		}, nil
	})
	if !strings.Contains(r.summary,
		"this run needs these; look at each one first:\n\n```yaml\nallowed_domains: |\n  docs.example.com:443\n```\n") {
		t.Errorf("summary:\n%s", r.summary)
	}
}

// Attack: the agent forges the figures of its result. The figures that were metered outside
// stand beside them.
func TestMeteredTokensStandInTheSummary(t *testing.T) {
	r := runStep(t, t.Context(), nil, func(context.Context, Job) (Report, error) {
		return Report{
			Outcome: agent.Outcome{Conclusion: agent.Success}, Result: &agent.Result{Text: "done"},
			TokensIn: 1234, TokensOut: 77, MeteredUSD: 0.0321,
		}, nil
	})
	if !strings.Contains(r.summary, "| $0.0321 | 1234, 77 |") || !strings.Contains(r.summary, "Claude's figure") {
		t.Errorf("the summary hides what was metered:\n%s", r.summary)
	}
}

func TestNoContainerIsStartedWithABadInput(t *testing.T) {
	r := runStep(t, t.Context(), map[string]string{"INPUT_SUMMARY": "maybe", "INPUT_PRESETS": "nmp"},
		func(context.Context, Job) (Report, error) {
			t.Error("the runner was called")
			return Report{}, nil
		})
	if n := strings.Count(r.log, "::error title="); n != 2 {
		t.Errorf("got %d annotations, want 2:\n%s", n, r.log)
	}
}

// Who reads the summary alone knows what to do, and meets no table of an agent that never ran.
func TestTheSummarySaysWhatToDo(t *testing.T) {
	hinted := diag.WithHint(errors.New("no container engine answers"), "start one")
	for want, tc := range map[string]struct {
		inputs map[string]string
		report Report
		err    error
	}{
		"input presets: unknown preset \"nmp\"\n  did you mean \"npm\"?": {inputs: map[string]string{"INPUT_PRESETS": "nmp"}},
		"no container engine answers\n  start one\n":                     {err: hinted},
		"the engine went\n  start one\n": {
			report: Report{Outcome: agent.Outcome{Conclusion: agent.Failure, Message: "the engine went"}}, err: hinted},
		"unknown model\n  the input model": {report: Report{Outcome: agent.Outcome{Conclusion: agent.APIError, Message: "unknown model"}}},
		"five turns\n  raise max_turns":    {report: Report{Outcome: agent.Outcome{Conclusion: agent.MaxTurns, Message: "five turns"}}},
	} {
		r := runStep(t, t.Context(), tc.inputs, func(context.Context, Job) (Report, error) { return tc.report, tc.err })
		if !strings.Contains(r.summary, want) || strings.Contains(r.summary, "| Turns |") || strings.Contains(r.summary, "Changed files") {
			t.Errorf("want %q:\n%s", want, r.summary)
		}
	}
}

func TestSummaryCanBeTurnedOff(t *testing.T) {
	r := runStep(t, t.Context(), map[string]string{"INPUT_SUMMARY": "false"},
		func(context.Context, Job) (Report, error) { return Report{}, nil })
	if r.summary != "" || r.outputs["conclusion"] != "no_result" {
		t.Errorf("summary %q, outputs %v", r.summary, r.outputs)
	}
}

func TestWithoutGitHubFilesTheRunStillEnds(t *testing.T) {
	r := runStep(t, t.Context(), map[string]string{"GITHUB_OUTPUT": "", "GITHUB_STEP_SUMMARY": "/nowhere/at/all"},
		func(context.Context, Job) (Report, error) {
			return Report{Outcome: agent.Outcome{Conclusion: agent.Success}}, nil
		})
	if r.conclusion != agent.Success || !strings.Contains(r.log, "::warning title=claude-sandbox report::writing the step summary") {
		t.Errorf("conclusion %s, log:\n%s", r.conclusion, r.log)
	}
}

// Everything that the agent can put its text into, with every attack on the log.
func TestAttackAgentTextInEveryEvent(t *testing.T) {
	for name, text := range commandAttacks {
		t.Run(name, func(t *testing.T) {
			r := runStep(t, t.Context(), nil, func(_ context.Context, job Job) (Report, error) {
				for _, e := range []agent.Event{
					agent.Init{Version: text, Model: text},
					agent.Text{Text: text},
					agent.ToolUse{ID: "1", Name: text, Argument: text},
					agent.ToolResult{ID: "1", IsError: true, Text: text},
					agent.APIRetry{Status: 529, Error: text},
				} {
					job.Events(e)
				}
				fmt.Fprintln(job.Progress, text)
				err := diag.WithHint(errors.New("failed on "+text), "try %s", text)
				return Report{Outcome: agent.Outcome{Conclusion: agent.Failure, Message: text}, Result: &agent.Result{Text: text, SessionID: text},
					Egress: egress(refusal(text))}, err
			})
			ours := []string{"::add-mask::sk-ant-test-key", "::group::Configuration", "::endgroup::", "::group::Agent", "::endgroup::"}
			for _, line := range commandsIn(r.log) {
				if len(ours) > 0 && line == ours[0] {
					ours = ours[1:]
					continue
				}
				if !strings.HasPrefix(line, "::error title=claude-sandbox::failed on ") &&
					!strings.HasPrefix(line, "::warning title=claude-sandbox refused hosts::") {
					t.Errorf("the runner executes %q", line)
				}
			}
			if len(ours) > 0 {
				t.Errorf("commands of our own are missing: %q", ours)
			}
			if r.outputs["conclusion"] != "failure" || len(r.outputs) != outputCount(t) {
				t.Errorf("outputs: %v", r.outputs)
			}
			if strings.ContainsAny(r.outputs["denied_hosts"], "\r\n") {
				t.Errorf("one host became several: %q", r.outputs["denied_hosts"])
			}
		})
	}
}

func TestAttackResultClosesTheSummarysFence(t *testing.T) {
	text := "```\n# forged: success\n<img src=x>\n`````\n[link](http://evil.example)"
	r := runStep(t, t.Context(), nil, func(context.Context, Job) (Report, error) {
		return Report{Outcome: agent.Outcome{Conclusion: agent.Failure, Message: text},
			Result: &agent.Result{Text: text + "\n", SessionID: "`a`|b|"}}, nil
	})
	_, rest, ok := strings.Cut(r.summary, "``````text\n")
	if !ok {
		t.Fatalf("the fence is not longer than the longest run of backticks:\n%s", r.summary)
	}
	inside, _, ok := strings.Cut(rest, "\n``````\n")
	if !ok || inside != text {
		t.Errorf("inside the fence stands %q, want %q", inside, text)
	}
	_, result, ok := strings.Cut(r.summary, "#### Result\n\n")
	if want := "\n```text\n# forged: success\n<img src=x>\n```\n\n&#91;link&#93;&#40;`http://evil.example)`\n"; !ok ||
		!strings.HasPrefix(result, want) {
		t.Errorf("the result is %q, want %q", result, want)
	}
	if strings.Contains(r.summary, "`a`") {
		t.Errorf("a table cell ends its code:\n%s", r.summary)
	}
}

// Attack: the name of the session is a text of megabytes, with lines. GitHub would drop all outputs
// of the job, and with them the hosts and files that it must show.
func TestAttackTheSessionsNameIsAText(t *testing.T) {
	text := "s\n::error::x\n" + strings.Repeat("long ", 1<<18)
	r := runStep(t, t.Context(), nil, func(context.Context, Job) (Report, error) {
		return Report{Outcome: agent.Outcome{Conclusion: agent.Failure}, Result: &agent.Result{SessionID: text}}, nil
	})
	if session := r.outputs["session_id"]; len(session) > 200 || strings.Contains(session, "\n") {
		t.Errorf("session_id has %d bytes: %.40q", len(session), session)
	}
}

func TestAttackHostsFillTheSummary(t *testing.T) {
	var records []audit.Record
	for i := range 20_000 {
		records = append(records, refusal(fmt.Sprintf("h%d.%s.example", i, strings.Repeat("x", 60))))
	}
	r := runStep(t, t.Context(), nil, func(context.Context, Job) (Report, error) {
		return Report{Outcome: agent.Outcome{Conclusion: agent.Success}, Result: &agent.Result{Text: strings.Repeat("`", 1<<20)},
			Egress: egress(records...)}, nil
	})
	const gitHubDropsBeyond = 1 << 20 // bytes
	if len(r.summary) > gitHubDropsBeyond/4 || !strings.Contains(r.summary, "19900 more rows") {
		t.Errorf("the summary has %d bytes", len(r.summary))
	}
	if len(r.outputs["denied_hosts"]) > maxOutput {
		t.Errorf("denied_hosts has %d bytes", len(r.outputs["denied_hosts"]))
	}
}

func TestKeyInTheAgentsTextIsRemoved(t *testing.T) {
	r := runStep(t, t.Context(), nil, func(context.Context, Job) (Report, error) {
		return Report{Outcome: agent.Outcome{Conclusion: agent.Success},
			Result: &agent.Result{Text: "the key is sk-ant-test-key, and ghp_" + strings.Repeat("a", 36)}}, nil
	})
	for _, text := range []string{r.outputs["result"], r.summary} {
		if strings.Contains(text, "sk-ant-test-key") || strings.Contains(text, "ghp_aaaa") {
			t.Errorf("a secret is in %q", text)
		}
	}
}

func TestCancelledRunThatDoesNotStopIsReportedAnyway(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	stop := make(chan struct{})
	defer close(stop)
	r := runStep(t, ctx, nil, func(_ context.Context, job Job) (Report, error) {
		cancel()
		<-stop
		return Report{Outcome: agent.Outcome{Conclusion: agent.Success}}, nil
	})
	if r.conclusion != agent.Cancelled || r.outputs["conclusion"] != "cancelled" || !strings.Contains(r.summary, "cancelled") {
		t.Errorf("conclusion %s, outputs %v", r.conclusion, r.outputs)
	}
}

// Attack: the agent says that all is well, and the firewall did not hold.
func TestAttackASuccessBehindABrokenFirewall(t *testing.T) {
	r := runStep(t, t.Context(), nil, func(context.Context, Job) (Report, error) {
		return Report{
			Outcome: agent.Outcome{Conclusion: agent.Success}, Result: &agent.Result{Text: "all is well"},
			Canaries: &sandbox.Canaries{Tried: 3, Listener: true, Broken: "a connection arrived"},
		}, nil
	})
	if r.conclusion != Unenforced || r.outputs["conclusion"] != "unenforced" || r.outputs["canaries"] != "broken" ||
		!strings.Contains(r.summary, "a connection arrived") ||
		!strings.Contains(r.log, "::error title=claude-sandbox::unenforced: a connection arrived") {
		t.Errorf("%s, %v\n%s\n%s", r.conclusion, r.outputs, r.summary, r.log)
	}
}

// The summary has what the agent did and what the sandbox was, folded, and nothing of the
// agent's in them is HTML.
func TestAttackFoldedParts(t *testing.T) {
	r := runStep(t, t.Context(), nil, func(_ context.Context, job Job) (Report, error) {
		job.Events(agent.Init{Version: "</details><b>2</b>", Model: "m"})
		for i := range 500 {
			job.Events(agent.ToolUse{ID: fmt.Sprint(i), Name: "</summary><img src=x>@everyone", Argument: "```\n</details><h1>forged"})
		}
		job.Events(agent.ToolResult{ID: "0", IsError: true, Text: "x"})
		return Report{
			Outcome: agent.Outcome{Conclusion: agent.Success}, Result: &agent.Result{Text: "done"},
			Models: []spending.Spent{{Model: "a|<b>", USD: 0.5}, {Model: "c", USD: 0.25}},
			Facts:  []string{"image of the agent: node:22, sha256:abc"}, Notes: []string{"Claude does not read `x` <img>"},
			Canaries: &sandbox.Canaries{Tried: 3, Listener: true},
		}, nil
	})
	for _, want := range []string{"— failed", "and 350 more", "sha256:abc", "canaries: 3 tried, all held", "| `a/<b>` |",
		"$0.5000", "</details>"} {
		if !strings.Contains(r.summary, want) {
			t.Errorf("%q is missing:\n%.3000s", want, r.summary)
		}
	}
	rest := regexp.MustCompile("(?s)\n(`{3,})text\n.*?\n`{3,}\n").ReplaceAllString(r.summary, "")
	rest = regexp.MustCompile("`[^`\n]*`").ReplaceAllString(rest, "")
	for _, tag := range regexp.MustCompile("<[^>]*>").FindAllString(rest, -1) {
		if !slices.Contains([]string{"<details>", "<summary>", "<code>", "</code>", "</summary>", "</details>"}, tag) {
			t.Errorf("HTML of the agent's: %q", tag)
		}
	}
	if outsideCode := regexp.MustCompile("<code>[^<]*</code>").ReplaceAllString(rest, ""); strings.Contains(outsideCode, "everyone") {
		t.Errorf("a mention of the agent's: %s", outsideCode)
	}
	if n := strings.Count(rest, "<details>"); n != 2 || strings.Count(rest, "</details>") != n || len(r.summary) > 64<<10 {
		t.Errorf("%d folded parts, %d bytes:\n%s", n, len(r.summary), rest)
	}
}

func TestShowOutput(t *testing.T) {
	for show, want := range map[string]bool{"true": true, "false": false} {
		r := runStep(t, t.Context(), map[string]string{"INPUT_SHOW_OUTPUT": show}, func(_ context.Context, job Job) (Report, error) {
			job.Events(agent.ToolResult{ID: "0", Text: "answer one\n::error::forged sk-ant-test-key\n" + strings.Repeat("x", 1<<20)})
			return Report{Outcome: agent.Outcome{Conclusion: agent.Success}, Result: &agent.Result{Text: "done"}}, nil
		})
		if got := strings.Contains(r.log, "| answer one\n| ::error::forged"); got != want || len(r.log) > 32<<10 ||
			strings.Count(r.log, "sk-ant-test-key") != 1 { // in its mask
			t.Errorf("show_output %s: %v, %d bytes", show, got, len(r.log))
		}
	}
}

// GitHub shows ten annotations; a step makes no more.
func TestAnnotationsAreFew(t *testing.T) {
	inputs := map[string]string{}
	for _, name := range []string{"MAX_TURNS", "MAX_BUDGET_USD", "TIMEOUT_MINUTES", "SUMMARY", "FAIL_ON_DENIED", "ALLOW_HOSTED_WEB",
		"EGRESS", "WORKSPACE_MODE",
		"MEMORY", "CPUS", "SHOW_OUTPUT", "ALLOWED_DOMAINS", "DENIED_DOMAINS"} {
		inputs["INPUT_"+name] = "?"
	}
	r := runStep(t, t.Context(), inputs, nil)
	if n := strings.Count(r.log, "\n::error"); n > 10 || !strings.Contains(r.log, "| error: ") {
		t.Errorf("%d annotations:\n%s", n, r.log)
	}
}

func TestStructuredOutput(t *testing.T) {
	schema := `{"type":"object","properties":{"n":{"type":"number"},"s":{"enum":["a",` +
		`"ghp_0123456789abcdefghijklmnopqrstuvwxyzABCD"]},"l":{"type":"string"}}}`
	for name, tc := range map[string]struct{ answer, output, conclusion string }{
		"fits":               {"{\n \"n\": 3\n}", `{"n":3}`, "success"},
		"no answer":          {"", "", "success"}, // which package sandbox judges
		"fits with a secret": {`{"s":"ghp_0123456789abcdefghijklmnopqrstuvwxyzABCD"}`, "", "schema_mismatch"},
		"too long":           {`{"l":"` + strings.Repeat("x", 130<<10) + `"}`, "", "schema_mismatch"},
	} {
		t.Run(name, func(t *testing.T) {
			r := runStep(t, t.Context(), map[string]string{"INPUT_JSON_SCHEMA": schema}, func(context.Context, Job) (Report, error) {
				report := Report{Outcome: agent.Outcome{Conclusion: agent.Success}, Result: &agent.Result{Text: tc.answer}}
				if tc.answer != "" {
					report.Structured = []byte(tc.answer)
				}
				return report, nil
			})
			if r.outputs["structured_output"] != tc.output || r.outputs["conclusion"] != tc.conclusion {
				t.Errorf("%.200q", r.outputs)
			}
		})
	}
}

func TestTheAgentKnowsWhichRunOfWhichWorkflowItIs(t *testing.T) {
	step := map[string]string{"CI": "true", "GITHUB_REPOSITORY": "o/r", "GITHUB_TOKEN": "secret", "GITHUB_HEAD_REF": "$(evil)"}
	runStep(t, t.Context(), step, func(_ context.Context, job Job) (Report, error) {
		if want := []string{"CI=true", "GITHUB_REPOSITORY=o/r"}; !slices.Equal(job.Context, want) {
			t.Errorf("%q", job.Context)
		}
		return Report{}, nil
	})
}
