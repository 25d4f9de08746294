package run

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/report"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/sandbox/changes"
	"github.com/org/claude-sandbox/workspace/gitdir"
)

// endOfRun is a run with two allowed hosts, one that was refused, and changed files.
func endOfRun(t *testing.T, dangerous bool) *sandbox.Result {
	t.Helper()
	policy, problems := firewall.NewPolicy(firewall.Network{Allow: []string{"a.example", "b.example"}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	egress := report.New([]audit.Record{
		{Verdict: firewall.Allow, Layer: audit.LayerDNS, Name: "a.example", Rule: "a.example"},
		{Verdict: firewall.Allow, Layer: audit.LayerDNS, Name: "b.example", Rule: "b.example"},
		{Verdict: firewall.Deny, Layer: audit.LayerDNS, Name: "refused.example"},
	}, policy)
	file := &changes.State{What: changes.File, Mode: 0o644, Size: 2}
	pairs := []changes.Pair{{Path: "src/a.go", After: file, New: []byte("x\n")}}
	if dangerous {
		pairs = append(pairs, changes.Pair{Path: ".github/workflows/ci.yml", After: file, New: []byte("x\n")})
	}
	const id = "20260102-150405-ab12cd"
	return &sandbox.Result{ID: id, Folder: "/p", SettingsFolder: "/p", Egress: egress, Changes: changes.Of(pairs, nil),
		Files:   sandbox.Files{Summary: "/state/runs/" + id + "/summary.json", Changes: "/state/changes.diff"},
		Timings: sandbox.Timings{Startup: time.Second, Agent: time.Minute},
		Use:     &sandbox.Use{CPU: time.Second, PeakMemory: 1 << 28, PeakPIDs: 9}}
}

// The end of a run is one short screen: what was refused with the command that opens it,
// what changed, the dangerous first, and at the end the one command that comes next. The
// run's id, which nobody reads, stands in two places.
func TestTheEndIsAShortScreen(t *testing.T) {
	for name, c := range map[string]struct {
		dangerous bool
		change    func(*sandbox.Result)
		next      string // "" = none
	}{
		"harmless files":      {false, func(*sandbox.Result) {}, "diff"},
		"dangerous files":     {true, func(*sandbox.Result) {}, "review"},
		"a copy":              {false, func(r *sandbox.Result) { r.WorkTree = "tree" }, "review"},
		"commits":             {true, func(r *sandbox.Result) { r.Commits = []gitdir.Commits{{Branch: "sbx/" + r.ID, Count: 2}} }, "apply"},
		"nothing":             {false, func(r *sandbox.Result) { r.Changes = &changes.Set{} }, ""},
		"the agent never ran": {false, func(r *sandbox.Result) { r.Changes = nil }, ""},
	} {
		var out bytes.Buffer
		r := endOfRun(t, c.dangerous)
		c.change(r)
		Report(&cli.App{Stderr: &out}, r, firewall.ModeAllowlist)
		said := out.String()
		if n := strings.Count(said, r.ID); n > 2 || len(strings.Fields(said)) > 90 || strings.Count(said, "\n") > 16 {
			t.Errorf("%s: the id stands there %d times, in %d words:\n%s", name, n, len(strings.Fields(said)), said)
		}
		if !strings.Contains(said, "to open refused.example: sbx-devc allow") || strings.Contains(said, "a.example ") {
			t.Errorf("%s: %s", name, said)
		}
		next := "sbx-devc: next: sbx-devc " + c.next + " " + r.ID + "\n"
		if got := strings.HasSuffix(said, next); got != (c.next != "") || !got && strings.Contains(said, "next:") {
			t.Errorf("%s: the last line is not %q:\n%s", name, next, said)
		}
		if c.dangerous &&
			(strings.Index(said, "! .github") > strings.Index(said, "src/a.go") || !strings.Contains(said, "look at it before you build")) {
			t.Errorf("%s: %s", name, said)
		}
	}
}

// A person who left Claude's interface is told how to go on, and a run of which nothing was
// kept names no command that would find nothing.
func TestTheEndNamesOnlyCommandsThatWork(t *testing.T) {
	var out bytes.Buffer
	r := endOfRun(t, true)
	r.Files.Summary, r.Conversation, r.Outcome.Conclusion = "", "c", agent.Attended
	Report(&cli.App{Stderr: &out}, r, firewall.ModeAllowlist)
	if said := out.String(); strings.Contains(said, r.ID) || !strings.Contains(said, "nothing was kept") ||
		!strings.Contains(said, "run --continue") {
		t.Error(said)
	}
}

// A name that does not exist was not reached, in mode audit neither, where its rule says so.
func TestTheEndDoesNotCallAnAbsentNameReached(t *testing.T) {
	policy, problems := firewall.NewPolicy(firewall.Network{Mode: firewall.ModeAudit, Allow: []string{"a.example"}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	r := endOfRun(t, false)
	r.Egress = report.New([]audit.Record{
		{Verdict: firewall.Allow, Layer: audit.LayerDNS, Name: "a.example", Rule: "a.example"},
		{Verdict: firewall.Allow, Layer: audit.LayerDNS, Name: "typo.example", Rule: audit.RuleAbsent, Reason: "would be denied"},
	}, policy)
	var out bytes.Buffer
	Report(&cli.App{Stderr: &out}, r, firewall.ModeAudit)
	if !strings.Contains(out.String(), "the agent reached 1 allowed host, and nothing was refused; no such name: typo.example\n") {
		t.Error(out.String())
	}
}
