package diag_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	sarif210 "github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

var tool = diag.Tool{Name: "sbx-devc", Version: "1.0.0", URI: "https://example.com/", Rules: []diag.RuleInfo{
	{ID: "SBX401", Name: "engine-socket", Severity: diag.SeverityError, Title: "a title", Reason: "A reason.", Markdown: "# SBX401",
		URI: "https://example.com/checks.md#sbx401", Tags: []string{"security"}},
	{ID: "SBX103", Name: "trailing-comma", Severity: diag.SeverityNote, Title: "a title", Reason: "A reason.", Markdown: "# SBX103",
		URI: "https://example.com/checks.md#sbx103", Tags: []string{"syntax"}},
}}

func finding(file string, line, column, endLine, endColumn int) diag.Finding {
	return diag.Finding{Rule: "SBX401", Severity: diag.SeverityError, File: file, Line: line, Column: column, EndLine: endLine,
		EndColumn: endColumn, Pointer: "/mounts/0", Message: "m", Hint: "h"}
}

func sarifOf(t *testing.T, source string, findings ...diag.Finding) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := diag.WriteSARIF(&out, findings, nil, tool, func(string) []byte { return []byte(source) }); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// sarifSchema is the OASIS schema as the reader library carries it.
func sarifSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/owenrumney/go-sarif/v3").Output()
	if err != nil {
		testenv.Missing(t, "the go command", err.Error())
	}
	file, err := parser.ParseFile(token.NewFileSet(),
		filepath.Join(strings.TrimSpace(string(dir)), "pkg", "report", "v210", "sarif", "schema.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var text string
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && len(lit.Value) > 10000 {
			text, err = strconv.Unquote(lit.Value)
		}
		return err == nil
	})
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("sarif.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("sarif.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSARIFIsValid(t *testing.T) {
	schema := sarifSchema(t)
	for name, findings := range map[string][]diag.Finding{
		"none": nil,
		"one":  {finding("a/.devcontainer/devcontainer.json", 1, 1, 1, 2)},
		"odd": {finding("-", 0, 0, 0, 0), finding("/abs/ä b.json", 3, 1, 2, 1), finding("../up.json", 1, 2, 1, 9),
			finding("c:x.json", 1, 1, 1, 1)},
		"twice": {finding("a.json", 1, 1, 1, 2), finding("a.json", 2, 1, 2, 2)},
	} {
		out := sarifOf(t, "{\n{\n", findings...)
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(out))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		report, err := sarif210.FromBytes(out)
		if err != nil || len(report.Runs) != 1 || len(report.Runs[0].Results) != len(findings) {
			t.Errorf("%s: another reader finds %+v (%v)", name, report, err)
		}
	}
	// The check must be able to fail.
	if err := schema.Validate(map[string]any{"version": "2.1.0", "runs": []any{map[string]any{"tool": 1}}}); err == nil {
		t.Error("the schema accepts anything")
	}
}

// A run that could not check a file says so in each form: else what it does not find would count as repaired.
func TestWhatWasNotCheckedIsInEachForm(t *testing.T) {
	problems := []diag.Problem{{Message: "open a b.json: permission denied", Hint: "look at it", File: "a b.json"}, {Message: "no policy"}}
	var sarif, github, rdjson bytes.Buffer
	nothing := func(string) []byte { return nil }
	if err := errors.Join(diag.WriteSARIF(&sarif, nil, problems, tool, nothing), diag.WriteGitHub(&github, nil, problems),
		diag.WriteReviewdog(&rdjson, tool, nil, problems)); err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(sarif.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if err := sarifSchema(t).Validate(v); err != nil {
		t.Error(err)
	}
	report, err := sarif210.FromBytes(sarif.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	call := report.Runs[0].Invocations[0]
	if call.ExecutionSuccessful == nil || *call.ExecutionSuccessful || len(call.ToolExecutionNotifications) != 2 ||
		*call.ToolExecutionNotifications[0].Locations[0].PhysicalLocation.ArtifactLocation.URI != "a%20b.json" {
		t.Errorf("another reader finds %s", &sarif)
	}
	whole, err := sarif210.FromBytes(sarifOf(t, ""))
	if err != nil || !*whole.Runs[0].Invocations[0].ExecutionSuccessful {
		t.Errorf("without problems: %v, %v", whole, err)
	}
	const annotated = "::error file=a b.json,title=not checked::open a b.json: permission denied%0Ahint: look at it\n" +
		"::error title=not checked::no policy\n"
	if github.String() != annotated {
		t.Errorf("for GitHub: %s", &github)
	}
	const diagnostics = `"diagnostics":[{"message":"open a b.json: permission denied\nhint: look at it","location":{"path":"a b.json"},` +
		`"severity":"ERROR"},{"message":"no policy","location":{"path":""},"severity":"ERROR"}]`
	if !strings.Contains(rdjson.String(), diagnostics) {
		t.Errorf("for reviewdog: %s", &rdjson)
	}
}

func TestSARIFForCodeScanning(t *testing.T) {
	var log struct {
		Runs []struct {
			Results []struct {
				RuleIndex int
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI, URIBaseID string }
						Region           struct{ StartLine, StartColumn, EndLine, EndColumn int }
					}
				}
				PartialFingerprints map[string]string
			}
		}
	}
	decode := func(out []byte) {
		t.Helper()
		log.Runs = nil
		if err := json.Unmarshal(out, &log); err != nil {
			t.Fatal(err)
		}
	}
	// "ä" is two bytes and one unit, the emoji four bytes and two units.
	decode(sarifOf(t, "{\"ä😀\": 1}", finding("sub dir/a.json", 1, 11, 1, 12)))
	at := log.Runs[0].Results[0].Locations[0].PhysicalLocation
	if at.ArtifactLocation.URI != "sub%20dir/a.json" || at.ArtifactLocation.URIBaseID != "%SRCROOT%" {
		t.Errorf("artifact %+v", at.ArtifactLocation)
	}
	if at.Region.StartColumn != 8 || at.Region.EndColumn != 9 {
		t.Errorf("columns %+v, want 8 to 9 in UTF-16 code units", at.Region)
	}
	before := log.Runs[0].Results[0].PartialFingerprints["primaryLocationLineHash"]
	decode(sarifOf(t, "\n\n{\"ä😀\": 1}", finding("sub dir/a.json", 3, 11, 3, 12)))
	if after := log.Runs[0].Results[0].PartialFingerprints["primaryLocationLineHash"]; after != before || after == "" {
		t.Errorf("the fingerprint changed with the line number: %q, %q", before, after)
	}
	decode(sarifOf(t, "x\nx", finding("a", 1, 1, 1, 2), finding("a", 2, 1, 2, 2)))
	if r := log.Runs[0].Results; r[0].PartialFingerprints["primaryLocationLineHash"] == r[1].PartialFingerprints["primaryLocationLineHash"] {
		t.Error("two findings share a fingerprint")
	}
	if err := diag.WriteSARIF(new(bytes.Buffer), []diag.Finding{{Rule: "SBX999"}}, nil, tool, func(string) []byte { return nil }); err == nil {
		t.Error("a finding about an unlisted rule was written")
	}
}

func TestExcerpts(t *testing.T) {
	for _, tt := range []struct{ name, source, want string }{
		{"plain", `{"privileged": true}`, "    1 | {\"privileged\": true}\n      | " + strings.Repeat(" ", 15) + "^~~~\n"},
		{"tab", "\t{\"privileged\": true}", "    1 | \t{\"privileged\": true}\n      | \t" + strings.Repeat(" ", 15) + "^~~~\n"},
		{"wide", `{"特権特権": true}`, "    1 | {\"特権特権\": true}\n      | " + strings.Repeat(" ", 13) + "^~~~\n"},
		{"combining", "{\"e\u0301\": true}", "    1 | {\"e\u0301\": true}\n      | " + strings.Repeat(" ", 6) + "^~~~\n"},
		{"escape sequence", "{\"\x1b[2J\": true}", "    1 | {\"<U+001B>[2J\": true}\n      | " + strings.Repeat(" ", 16) + "^~~~\n"},
		{"turned around", "{\"\u202e\": true}", "    1 | {\"<U+202E>\": true}\n      | " + strings.Repeat(" ", 13) + "^~~~\n"},
		{"byte order mark and CRLF", "\ufeff{\"a\": true}\r\n", "    1 | {\"a\": true}\n      | " + strings.Repeat(" ", 6) + "^~~~\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			column := strings.Index(strings.TrimPrefix(tt.source, "\ufeff"), "true") + 1
			f := diag.Finding{Rule: "SBX402", Severity: diag.SeverityError, File: "f", Line: 1, Column: column, EndLine: 1, EndColumn: column + 4,
				Message: "m", Hint: "h"}
			var out bytes.Buffer
			if err := diag.WriteExcerpts(&out, []diag.Finding{f}, func(string) []byte { return []byte(tt.source) }); err != nil {
				t.Fatal(err)
			}
			_, rest, _ := strings.Cut(out.String(), "\n")
			if rest != tt.want+"    hint: h\n" {
				t.Errorf("got\n%swant\n%s", rest, tt.want)
			}
		})
	}
}

// A file of one long line must not be printed whole, and nothing that a file
// says may reach the terminal as a command.
func TestExcerptsAreBounded(t *testing.T) {
	line := strings.Repeat("ä", 200_000)
	var out bytes.Buffer
	f := diag.Finding{File: "f\x1b]0;x\a", Line: 1, Column: 100_001, EndLine: 1, EndColumn: 100_003, Message: "m\x1b[31m"}
	if err := diag.WriteExcerpts(&out, []diag.Finding{f}, func(string) []byte { return []byte(line) }); err != nil {
		t.Fatal(err)
	}
	if out.Len() > 1000 || strings.ContainsAny(out.String(), "\x1b\a") {
		t.Errorf("%d bytes: %q", out.Len(), out.String())
	}
}

func TestGitHubAnnotations(t *testing.T) {
	var out bytes.Buffer
	f := finding("a,b:c%.json", 2, 3, 2, 5)
	f.Message, f.Hint = "100% sure::error::x", "do, this"
	if err := diag.WriteGitHub(&out, []diag.Finding{f}, nil); err != nil {
		t.Fatal(err)
	}
	if want := "::error file=a%2Cb%3Ac%25.json,line=2,endLine=2,col=3,endColumn=5,title=SBX401::100%25 " +
		"sure::error::x%0Ahint: do, this\n"; out.String() != want {
		t.Errorf("got  %swant %s", out.String(), want)
	}
	f.Message = "a\r\n::set-output name=x::y"
	out.Reset()
	if err := diag.WriteGitHub(&out, []diag.Finding{f}, nil); err != nil {
		t.Fatal(err)
	}
	if strings.Count(out.String(), "\n") != 1 {
		t.Errorf("a message started a command of its own: %q", out.String())
	}
}

func TestGitHubShowsTheWorstFirst(t *testing.T) {
	var findings []diag.Finding
	for i := range 30 {
		f := finding("f", i+1, 1, i+1, 2)
		f.Severity = []diag.Severity{diag.SeverityNote, diag.SeverityWarning, diag.SeverityError}[i%3]
		findings = append(findings, f)
	}
	for range 5 {
		findings = append(findings, finding("::error::late", 99, 1, 99, 2))
	}
	var out bytes.Buffer
	if err := diag.WriteGitHub(&out, findings, nil); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]int{"::error ": 10, "::warning ": 10, "::notice ": 10} {
		if got := strings.Count("\n"+out.String(), "\n"+command); got != want {
			t.Errorf("%d of %q, want %d", got, command, want)
		}
	}
	if !strings.HasPrefix(out.String(), "::error ") || !strings.Contains(out.String(), "\nerror::late:99:1: error: m [SBX401]") ||
		!strings.HasSuffix(out.String(), "::6 more findings are in the log of this step\n") {
		t.Errorf("got\n%s", out.String())
	}
}

// What is asked of a long line is worked out once; its columns are those of a short one, and its findings differ.
func TestAttackManyFindingsOnOneLongLine(t *testing.T) {
	text := "{" + strings.Repeat("\"\u00e4\U0001F600\": 1, ", 50_000) + "\"x\": 1}"
	var findings []diag.Finding
	for n := range 20_000 {
		findings = append(findings, finding("a.json", 1, 2+n*13, 1, 3+n*13))
	}
	var log struct {
		Runs []struct {
			Results []struct {
				Locations []struct {
					PhysicalLocation struct{ Region struct{ StartColumn int } }
				}
				PartialFingerprints map[string]string
			}
		}
	}
	if err := json.Unmarshal(sarifOf(t, text, findings...), &log); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for n, r := range log.Runs[0].Results {
		seen[r.PartialFingerprints["primaryLocationLineHash"]] = true
		if got, want := r.Locations[0].PhysicalLocation.Region.StartColumn, 2+n*10; got != want {
			t.Fatalf("finding %d stands at %d, want %d", n, got, want)
		}
	}
	if len(seen) != len(findings) {
		t.Errorf("%d fingerprints of %d findings", len(seen), len(findings))
	}
}
