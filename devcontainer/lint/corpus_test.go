package lint_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/tailscale/hujson"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// verdict is what independent readers said of a file: a strict JSONC parser
// and the official schema.
type verdict struct {
	File     string `json:"file"`
	SyntaxOK bool   `json:"syntax_ok"`
	SchemaOK bool   `json:"schema_ok"`
}

func readVerdicts(t testing.TB, name string) []verdict {
	t.Helper()
	f, err := os.Open(name)
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

// syntaxOK and schemaOK are our verdicts in the words of the official ones.
func syntaxOK(findings []diag.Finding) bool {
	return !slices.ContainsFunc(findings, func(f diag.Finding) bool {
		return slices.Contains([]string{"SBX101", "SBX105", "SBX106", "SBX903"}, f.Rule)
	})
}

func schemaOK(findings []diag.Finding) bool {
	return !slices.ContainsFunc(findings, func(f diag.Finding) bool {
		return strings.HasPrefix(f.Rule, "SBX2") || slices.Contains([]string{"SBX301", "SBX302", "SBX303"}, f.Rule)
	})
}

// The schema rules must agree with the official schema, and the syntax rules
// with a strict parser, on every file of the corpora, with one difference:
// {} is valid to the schema by a slip, though no tool can start it.
func TestVerdictsAgree(t *testing.T) {
	for _, name := range []string{"testdata/probes", "corpus"} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			dir := name
			if name == "corpus" {
				dir = testenv.Corpus(t, name)
			}
			files := 0
			for _, v := range readVerdicts(t, filepath.Join(dir, "verdicts.jsonl")) {
				src, err := os.ReadFile(filepath.Join(dir, v.File))
				if err != nil {
					t.Error(err)
					continue
				}
				files++
				findings := lint.Check(devcontainer.Parse(v.File, src))
				if syntaxOK(findings) != v.SyntaxOK {
					t.Errorf("%s: well formed %v, want %v: %v", v.File, !v.SyntaxOK, v.SyntaxOK, findings)
				}
				if !v.SyntaxOK || strings.TrimSpace(string(src)) == "{}" {
					continue
				}
				if schemaOK(findings) != v.SchemaOK {
					t.Errorf("%s: valid %v, want %v: %v", v.File, !v.SchemaOK, v.SchemaOK, findings)
				}
			}
			t.Logf("%d files", files)
		})
	}
}

// officialSchema compiles one of the specification's own schemas.
func officialSchema(t testing.TB, name string) *jsonschema.Schema {
	t.Helper()
	src, err := os.ReadFile(testenv.Corpus(t, "schema", name))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(src))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// official is the schema's verdict on a JSONC text.
func official(t testing.TB, s *jsonschema.Schema, src []byte) bool {
	t.Helper()
	std, err := hujson.Standardize(append(bytes.TrimPrefix(bytes.Clone(src), []byte("\ufeff")), '\n'))
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(std))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(v) == nil
}

// Features: the corpus's own, and each of them with one thing changed, so that
// the bad ones are compared, too.
func TestFeatureVerdictsAgree(t *testing.T) {
	schema := officialSchema(t, "devContainerFeature.schema.json")
	names := find(t, testenv.Corpus(t, "corpus"), "devcontainer-feature.json")
	if len(names) < 100 {
		t.Fatalf("only %d Features", len(names))
	}
	compared, bad := 0, 0
	compare := func(name string, src []byte) {
		want := official(t, schema, src)
		findings := lint.Check(devcontainer.Parse(filepath.Base(name), src))
		if schemaOK(findings) != want {
			t.Errorf("%s: valid %v, the official schema says %v: %v\n%s", name, !want, want, findings, src)
		}
		compared++
		if !want {
			bad++
		}
	}
	for i, name := range names {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !syntaxOK(lint.Check(devcontainer.Parse(filepath.Base(name), src))) {
			continue // an empty file, which no schema judges
		}
		compare(name, src)
		if i < 5 {
			mutate(t, src, func(changed []byte) { compare(name, changed) })
		}
	}
	t.Logf("%d files compared, %d of them bad", compared, bad)
	if bad < 50 {
		t.Errorf("only %d of the compared files were bad: the test compares nothing", bad)
	}
}

// Configurations, with one thing changed at a time.
func TestChangedVerdictsAgree(t *testing.T) {
	schema := officialSchema(t, "devContainer.base.schema.json")
	compared, bad := 0, 0
	for _, r := range lint.Rules() {
		files := r.Good.Files()
		src := files[".devcontainer/devcontainer.json"]
		if src == "" {
			continue
		}
		mutate(t, []byte(src), func(changed []byte) {
			findings := lint.Check(devcontainer.Parse("devcontainer.json", changed))
			want := official(t, schema, changed)
			if strings.Join(strings.Fields(string(changed)), "") == "{}" {
				return // the difference that docs/checks.md lists
			}
			if schemaOK(findings) != want {
				t.Errorf("valid %v, the official schema says %v: %v\n%s", !want, want, findings, changed)
			}
			compared++
			if !want {
				bad++
			}
		})
	}
	t.Logf("%d files compared, %d of them bad", compared, bad)
	if bad < 500 {
		t.Errorf("only %d of the compared files were bad", bad)
	}
}

// mutate hands in src with each member in turn left out, misnamed, and given a
// value of each type.
func mutate(t *testing.T, src []byte, use func([]byte)) {
	t.Helper()
	v, err := hujson.Parse(append(bytes.Clone(src), '\n'))
	if err != nil {
		t.Fatal(err)
	}
	v.Standardize()
	var pointers []string
	var walk func(v *hujson.Value, at string)
	walk = func(v *hujson.Value, at string) {
		switch x := v.Value.(type) {
		case *hujson.Object:
			for i := range x.Members {
				name := x.Members[i].Name.Value.(hujson.Literal).String()
				walk(&x.Members[i].Value, at+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
			}
		case *hujson.Array:
			for i := range x.Elements {
				walk(&x.Elements[i], at+"/"+string(rune('0'+i%10)))
			}
		}
		if at != "" {
			pointers = append(pointers, at)
		}
	}
	walk(&v, "")
	for _, p := range pointers {
		patches := []string{`[{"op":"remove","path":` + jsonc.Quote(p) + `}]`,
			`[{"op":"move","from":` + jsonc.Quote(p) + `,"path":` + jsonc.Quote(p+"x") + `}]`}
		for _, value := range []string{`null`, `true`, `1`, `1.5`, `"x"`, `[]`, `["x"]`, `[1]`, `{}`, `{"x": "y"}`, `{"x": 1}`} {
			patches = append(patches, `[{"op":"replace","path":`+jsonc.Quote(p)+`,"value":`+value+`}]`)
		}
		for _, patch := range patches {
			changed := v.Clone()
			if changed.Patch([]byte(patch)) != nil {
				continue // an array has no element of that name
			}
			use(changed.Pack())
		}
	}
}

func find(t testing.TB, dir string, base ...string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && slices.Contains(base, d.Name()) {
			out = append(out, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// No false alarms: the Templates of the specification's authors have nothing
// at a warning or worse outside the supply chain, but two whose PostgreSQL does not start since its
// newest release is 18, and one whose MariaDB has its volume beside its files. The text of a Dockerfile or
// script is not judged, nor whether it is there,
// because the corpus holds JSON only.
func TestNoFalseAlarmsOnTemplates(t *testing.T) {
	dir := testenv.Corpus(t, "corpus/devcontainers+templates/src")
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	ends := map[string]bool{"anaconda-postgres": true, "miniconda-postgres": true}
	for _, e := range entries {
		names, err := devcontainer.Discover(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, find(t, filepath.Join(dir, e.Name()), "devcontainer.json", ".devcontainer.json")...)
		for _, name := range names {
			err := devcontainer.Open(name, func(p *devcontainer.Project) error {
				for _, f := range lint.Check(p) {
					if f.Rule == "SBX331" && ends[e.Name()] || f.Rule == "SBX333" && e.Name() == "cpp-mariadb" {
						continue
					}
					if f.Severity != diag.SeverityNote && f.Rule[3] != '6' && f.Rule != "SBX311" && f.Rule != "SBX318" && f.Rule != "SBX911" {
						t.Errorf("%s:%d: %s [%s]", f.File, f.Line, f.Message, f.Rule)
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
	}
	if len(entries) < 40 {
		t.Errorf("only %d templates", len(entries))
	}
}

// One mistake, one finding: each bad file of the corpus has as many primary
// findings (syntax, names, types) as places that are wrong.
func TestOneFindingPerMistake(t *testing.T) {
	dir := testenv.Corpus(t, "corpus")
	bad := 0
	for _, v := range readVerdicts(t, filepath.Join(dir, "verdicts.jsonl")) {
		if v.SchemaOK && v.SyntaxOK {
			continue
		}
		src, err := os.ReadFile(filepath.Join(dir, v.File))
		if err != nil {
			t.Fatal(err)
		}
		bad++
		places := map[string]int{}
		for _, f := range lint.Check(devcontainer.Parse(v.File, src)) {
			if f.Severity != diag.SeverityNote && strings.ContainsRune("123", rune(f.Rule[3])) {
				places[f.Pointer]++
			}
		}
		for place, n := range places {
			if n != 1 {
				t.Errorf("%s: %d findings at %q", v.File, n, place)
			}
		}
		if len(places) == 0 {
			t.Errorf("%s: nothing found", v.File)
		}
	}
	t.Logf("%d bad files", bad)
}

// BenchmarkCorpus reports files per second on one core: parse, schema and all
// rules, without reading from the disk.
func BenchmarkCorpus(b *testing.B) {
	var files [][]byte
	dir := testenv.Corpus(b, "corpus")
	for _, v := range readVerdicts(b, filepath.Join(dir, "verdicts.jsonl")) {
		src, err := os.ReadFile(filepath.Join(dir, v.File))
		if err != nil {
			b.Fatal(err)
		}
		files = append(files, src)
	}
	n := 0
	for b.Loop() {
		lint.Check(devcontainer.Parse("devcontainer.json", files[n%len(files)]))
		n++
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "files/s")
}
