package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/org/claude-sandbox/internal/golden"
)

// docs/checks.md is what the table of rules says, with what validate really
// prints about each example.
func TestChecksPageIsGenerated(t *testing.T) {
	var got bytes.Buffer
	if err := rulesMarkdown(&got); err != nil {
		t.Fatal(err)
	}
	page := filepath.Join("..", "..", "docs", "checks.md")
	if golden.Updating() {
		if err := os.WriteFile(page, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(page)
	if err != nil || !bytes.Equal(want, got.Bytes()) {
		t.Errorf("%s is not what the rules say (%v): run go test ./cmd/sbx-devc -run TestChecksPage -update", page, err)
	}
}
