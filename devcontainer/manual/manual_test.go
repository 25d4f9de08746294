package manual_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/devcontainer/manual"
	"github.com/org/claude-sandbox/internal/test/golden"
)

// docs/checks.md and the pages in docs/checks are what the table of rules says,
// with what validate really prints about each example.
func TestPagesAreGenerated(t *testing.T) {
	pages, err := manual.Pages()
	if err != nil {
		t.Fatal(err)
	}
	docs := filepath.Join("..", "..", "docs")
	want := map[string]bool{}
	for _, p := range pages {
		page := filepath.Join(docs, p.Name)
		want[page] = true
		if golden.Updating() {
			if err := os.WriteFile(page, []byte(p.Text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if text, err := os.ReadFile(page); err != nil || string(text) != p.Text {
			t.Errorf("%s is not what the rules say (%v): run go test ./devcontainer/manual -update", page, err)
		}
	}
	found, err := filepath.Glob(filepath.Join(docs, "checks", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range found {
		if !want[page] {
			t.Errorf("%s belongs to no family of rules", page)
		}
	}
}

// Every rule can be explained, and its example says what is wrong.
func TestExplain(t *testing.T) {
	for _, r := range lint.Rules() {
		var out bytes.Buffer
		if err := manual.Explain(&out, r); err != nil || !strings.Contains(out.String(), "["+r.ID+"]") {
			t.Errorf("%s: %v\n%s", r.ID, err, &out)
		}
	}
	if tool := manual.Tool(); len(tool.Rules) != len(lint.Rules()) {
		t.Errorf("%d rules in a report", len(tool.Rules))
	}
}
