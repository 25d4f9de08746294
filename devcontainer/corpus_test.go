package devcontainer_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/internal/diag"
)

// verdict is what independent readers said of a file: a strict JSONC parser
// and the official schema.
type verdict struct {
	File     string `json:"file"`
	SyntaxOK bool   `json:"syntax_ok"`
	SchemaOK bool   `json:"schema_ok"`
}

func readVerdicts(t *testing.T, name string) []verdict {
	t.Helper()
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("needs a corpus that this clone does not have: %s", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []verdict
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var v verdict
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	if len(out) == 0 {
		t.Fatalf("%s holds no verdicts", name)
	}
	return out
}

// The schema rules must agree with the official schema, and the syntax rules
// with a strict parser, on every file of the corpora, with one difference:
// {} is valid to the schema by a slip, though no tool can start it.
func TestVerdictsAgree(t *testing.T) {
	for _, dir := range []string{"testdata/probes", "../../shared/data/corpus"} {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			files := 0
			for _, v := range readVerdicts(t, filepath.Join(dir, "verdicts.jsonl")) {
				src, err := os.ReadFile(filepath.Join(dir, v.File))
				if err != nil {
					t.Error(err)
					continue
				}
				files++
				findings := devcontainer.Check(devcontainer.Parse(v.File, src))
				syntaxOK := !slices.ContainsFunc(findings, func(f diag.Finding) bool {
					return slices.Contains([]string{"SBX101", "SBX105", "SBX106"}, f.Rule)
				})
				if syntaxOK != v.SyntaxOK {
					t.Errorf("%s: well formed %v, want %v: %v", v.File, syntaxOK, v.SyntaxOK, findings)
				}
				if !syntaxOK || strings.TrimSpace(string(src)) == "{}" {
					continue
				}
				schemaOK := !slices.ContainsFunc(findings, func(f diag.Finding) bool {
					return strings.HasPrefix(f.Rule, "SBX2") || slices.Contains([]string{"SBX301", "SBX302", "SBX303"}, f.Rule)
				})
				if schemaOK != v.SchemaOK {
					t.Errorf("%s: valid %v, want %v: %v", v.File, schemaOK, v.SchemaOK, findings)
				}
			}
			t.Logf("%d files", files)
		})
	}
}
