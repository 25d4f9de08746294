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
	"github.com/org/claude-sandbox/internal/diag"
)

// oneMistake are projects with all that is found in them besides notes: one mistake is one finding, and what follows from it is
// none. A line of the wanted ones is severity, rule, place, and a part of its message and hint, written as one text.
//
//go:embed testdata/alone.txtar
var oneMistake string

func TestWrittenAlone(t *testing.T) {
	for part := range strings.SplitSeq(strings.TrimPrefix(oneMistake, "=== "), "\n=== ") {
		title, text, _ := strings.Cut(part, "\n")
		archive := txtar.Parse([]byte(text + "\n"))
		top := t.TempDir()
		if err := txtar.Write(archive, top); err != nil {
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
		wanted := strings.FieldsFunc(string(archive.Comment), func(c rune) bool { return c == '\n' })
		for _, f := range files.Findings {
			if f.Severity == diag.SeverityNote {
				continue
			}
			place := fmt.Sprintf("%s %s %s:%d ", f.Severity, f.Rule, strings.TrimPrefix(f.File, top+"/"), f.Line)
			n := slices.IndexFunc(wanted, func(w string) bool {
				holds, ok := strings.CutPrefix(w, place)
				return ok && strings.Contains(f.Message+"; "+f.Hint, holds)
			})
			if n < 0 {
				t.Errorf("%s: %s%s; %s", title, place, f.Message, f.Hint)
				continue
			}
			wanted = slices.Delete(wanted, n, n+1)
		}
		for _, w := range wanted {
			t.Errorf("%s: not found: %s", title, w)
		}
	}
}
