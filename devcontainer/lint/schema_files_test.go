package lint_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/tailscale/hujson"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/devcontainer/pages"
	"github.com/org/claude-sandbox/internal/diag"
)

// The files and the program agree on every example and on the probes.
func TestSchemaFilesAgree(t *testing.T) {
	compiled := map[string]*jsonschema.Schema{}
	for _, name := range []string{"devcontainer.schema.json", "devcontainer-feature.schema.json", "devcontainer-template.schema.json"} {
		s, err := jsonschema.NewCompiler().Compile(filepath.Join("..", "..", "schemas", name))
		if err != nil {
			t.Fatal(err)
		}
		compiled[name] = s
	}
	bad, compared := 0, 0
	compare := func(schema, file string, src []byte) {
		p := devcontainer.Parse(file, src)
		std, err := hujson.Standardize(append(bytes.TrimPrefix(bytes.Clone(src), []byte("\ufeff")), '\n'))
		if err != nil || p.Config.Root == nil {
			return
		}
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(std))
		if err != nil {
			t.Fatal(err)
		}
		ours := !slices.ContainsFunc(lint.Check(p), func(f diag.Finding) bool {
			return strings.HasPrefix(f.Rule, "SBX2") || slices.Contains([]string{"SBX301", "SBX302", "SBX303"}, f.Rule)
		})
		if theirs := compiled[schema].Validate(v); (theirs == nil) != ours {
			t.Errorf("%s says %v, the program %v\n%s", schema, theirs, ours, src)
		}
		compared++
		if !ours {
			bad++
		}
	}
	for _, r := range lint.Rules() {
		for _, example := range []pages.Example{r.Bad, r.Good} {
			for name, src := range example.Files() {
				switch filepath.Base(name) {
				case "devcontainer.json", ".devcontainer.json":
					compare("devcontainer.schema.json", "devcontainer.json", []byte(src))
				case devcontainer.FeatureName:
					compare("devcontainer-feature.schema.json", devcontainer.FeatureName, []byte(src))
				case devcontainer.TemplateName:
					compare("devcontainer-template.schema.json", devcontainer.TemplateName, []byte(src))
				}
			}
		}
	}
	probes, err := filepath.Glob("testdata/probes/*/.devcontainer/devcontainer.json")
	if err != nil || len(probes) < 40 {
		t.Fatalf("%d probes, %v", len(probes), err)
	}
	for _, name := range probes {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		compare("devcontainer.schema.json", "devcontainer.json", src)
	}
	if compared < 150 || bad < 20 {
		t.Errorf("%d compared, %d of them bad", compared, bad)
	}
}
