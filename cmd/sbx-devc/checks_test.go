package main

import (
	"bytes"
	"strings"
	"testing"

	sarif210 "github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/org/claude-sandbox/devcontainer/lint"
)

// The report that code scanning gets holds the whole table of rules, each with
// its page; another reader must find them. Package diag validates the form.
func TestSARIFOfValidate(t *testing.T) {
	var out, stderr bytes.Buffer
	a := &app{stdin: strings.NewReader(`{"image": "debian", "privileged": true}`), stdout: &out, stderr: &stderr,
		getenv: func(string) string { return "" }}
	if code := a.main(t.Context(), []string{"validate", "--format", "sarif", "-"}); code != exitFindings {
		t.Fatalf("exit %d: %s", code, &stderr)
	}
	report, err := sarif210.FromBytes(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	run := report.Runs[0]
	if len(run.Tool.Driver.Rules) != len(lint.Rules()) || len(run.Results) < 2 {
		t.Errorf("%d rules, %d results", len(run.Tool.Driver.Rules), len(run.Results))
	}
	for _, r := range run.Tool.Driver.Rules {
		if r.HelpURI == nil || !strings.HasSuffix(*r.HelpURI, "docs/checks/"+(*r.ID)[:4]+"xx.md#"+strings.ToLower(*r.ID)) {
			t.Errorf("%s has no page", *r.ID)
		}
	}
}
