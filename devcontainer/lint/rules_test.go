package lint_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
)

// judge checks an example's files.
func judge(t *testing.T, files devcontainer.Memory) []diag.Finding {
	t.Helper()
	findings, err := lint.CheckExample(files)
	if err != nil {
		t.Fatal(err)
	}
	return findings
}

// The examples are real: the validator finds in the bad one this rule and
// nothing else, and in the good one nothing. Advice (notes) of other rules does
// not count, or every example would have to follow all of it.
func TestExamples(t *testing.T) {
	for _, r := range lint.Rules() {
		t.Run(r.ID, func(t *testing.T) {
			hit := false
			for _, f := range judge(t, r.Bad.Files()) {
				hit = hit || f.Rule == r.ID
				if f.Rule != r.ID && f.Severity != diag.SeverityNote {
					t.Errorf("the bad example also has %v", f)
				}
				if f.Rule == r.ID && f.Severity != r.Severity {
					t.Errorf("severity %s, the table says %s", f.Severity, r.Severity)
				}
			}
			if !hit {
				t.Error("the bad example lacks the finding")
			}
			for _, f := range judge(t, r.Good.Files()) {
				if f.Rule == r.ID || f.Severity != diag.SeverityNote {
					t.Errorf("the good example has %v", f)
				}
			}
		})
	}
}

func TestTableIsWhole(t *testing.T) {
	id, name := regexp.MustCompile(`^SBX[1-9]\d\d$`), regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	seen := map[string]bool{}
	for _, f := range lint.Families() {
		if !slices.IsSortedFunc(f.Rules, func(a, b rule.Rule) int { return strings.Compare(a.ID, b.ID) }) {
			t.Errorf("family %c is not in order", f.Digit)
		}
		for _, r := range f.Rules {
			if !id.MatchString(r.ID) || r.ID[3] != f.Digit || !name.MatchString(r.Name) || seen[r.ID] || seen[r.Name] {
				t.Errorf("%s %q: misnamed, misplaced or given twice", r.ID, r.Name)
			}
			seen[r.ID], seen[r.Name] = true, true
			if r.Title == "" || strings.HasSuffix(r.Title, ".") || !strings.HasSuffix(r.Reason, ".") || len(r.Bad) == 0 || len(r.Good) == 0 {
				t.Errorf("%s lacks a title, a reason or an example in its page, or their form is off", r.ID)
			}
			if !slices.Contains([]diag.Severity{diag.SeverityError, diag.SeverityWarning, diag.SeverityNote}, r.Severity) {
				t.Errorf("%s: severity %q", r.ID, r.Severity)
			}
		}
	}
}
