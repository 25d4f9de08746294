package lint_test

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/lint"
)

// surroundings are mistakes between a configuration and what is around it: the versions that the project's files ask for, names in
// them, its Features' own files, tests and workflows. Behind a mistake may be what is written in nearly the same way and is right.
//
//go:embed testdata/surroundings.txtar
var surroundings string

func TestWrittenSurroundings(t *testing.T) {
	var name, rule string
	for part := range strings.SplitSeq(strings.TrimPrefix(surroundings, "=== "), "\n=== ") {
		title, text, _ := strings.Cut(part, "\n")
		top := t.TempDir()
		if err := txtar.Write(txtar.Parse([]byte(text+"\n")), top); err != nil {
			t.Fatal(err)
		}
		found, _, err := devcontainer.DiscoverAll(top)
		if err != nil {
			t.Fatal(title, err)
		}
		var files lint.Files
		if err := files.Open(t.Context(), found); err != nil {
			t.Fatal(title, err)
		}
		var said []string
		for _, f := range files.Findings {
			said = append(said, fmt.Sprintf("%s %s %s:%d", f.Severity, f.Rule, strings.TrimPrefix(f.File, top+"/"), f.Line))
			if title == "right" && f.Rule == rule {
				t.Errorf("%s: the correct one has %s", name, f.Message)
			}
		}
		if title == "right" {
			continue
		}
		at := strings.LastIndex(title, "; ")
		name, rule = title[:at], strings.Fields(title[at:])[2]
		if want := title[at+2:]; !slices.Contains(said, want) {
			t.Errorf("%s: not found: %s, but %q", name, want, said)
		}
	}
}
