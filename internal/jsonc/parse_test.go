package jsonc_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

func TestSyntaxErrorPosition(t *testing.T) {
	tests := []struct {
		name, src    string
		rule         string
		line, column int
		message      string
	}{
		{"empty", "", "SBX105", 1, 1, "empty"},
		{"only a comment", "// nothing\n", "SBX105", 1, 1, "empty"},
		{"unquoted name", "{\"a\":1,\n privileged: true}", "SBX101", 2, 2, "the name privileged is not in quotes"},
		{"missing comma", "{\"a\":1\n \"b\":2}", "SBX101", 2, 2, "invalid character"},
		{"single quotes", "{'a':1}", "SBX101", 1, 2, "single quotes"},
		{"cut", "{\"a\":[1", "SBX101", 1, 8, "ends too early"},
		{"cut in string", "{\"a\":\"x", "SBX101", 1, 8, "ends too early"},
		{"cut in comment", "{} /* x", "SBX101", 1, 4, "ends too early"},
		{"two roots", "{} {}", "SBX101", 1, 4, "after the end"},
		{"hash comment", "{\n# x\n}", "SBX101", 2, 1, "no comment"},
		{"hex number", "{\"a\":0x10}", "SBX101", 1, 6, "0x10 is not a JSON value"},
		{"tab in string", "{\"a\":\"b\tc\"}", "SBX106", 1, 8, "control character 0x09"},
		{"bad escape", `{"a":"C:\Program"}`, "SBX101", 1, 9, `\P is no escape`},
		{"not UTF-8", "{\"a\":\"\xff\"}", "SBX101", 1, 7, "not UTF-8"},
		{"carriage return in a comment", "{\"a\": 1 // b\r, \"c\": 2\n}", "SBX101", 1, 13, "carriage return"},
		{"after a byte order mark", "\xef\xbb\xbf{a}", "SBX101", 1, 2, "a is not a JSON value"},
		{"too deep", strings.Repeat("[", 100_000), "SBX101", 1, 201, "nested deeper"},
		{"many values below a long name", `{"` + strings.Repeat("x", 500_000) + `": [` + strings.Repeat("1,", 100) + `1]}`, "SBX101", 1, 1,
			"too long names"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			doc, findings := jsonc.Parse("f.json", []byte(tt.src))
			if doc != nil || len(findings) != 1 {
				t.Fatalf("got document %v and %d findings, want one finding: %v", doc, len(findings), findings)
			}
			f := findings[0]
			if f.Rule != tt.rule || f.Line != tt.line || f.Column != tt.column || !strings.Contains(f.Message, tt.message) ||
				f.Severity != diag.SeverityError {
				t.Errorf("got %s %d:%d %q, want %s %d:%d %q", f.Rule, f.Line, f.Column, f.Message, tt.rule, tt.line, tt.column, tt.message)
			}
		})
	}
}

func TestWellFormed(t *testing.T) {
	src := "\xef\xbb\xbf{ // comment\r\n  \"a\": [1, true, null,],\r\n  \"x/y\": {\"~\": \"é\\n\"},\r\n  \"a\": 2\r\n} // end"
	doc, findings := jsonc.Parse("f.json", []byte(src))
	if doc == nil {
		t.Fatal(findings)
	}
	var got []string
	for _, f := range findings {
		got = append(got, f.Rule)
	}
	if strings.Join(got, " ") != "SBX104 SBX103 SBX102" {
		t.Errorf("findings: %v", findings)
	}
	if f := findings[1]; f.Line != 2 || f.Column != 22 {
		t.Errorf("trailing comma at %d:%d, want 2:22", f.Line, f.Column)
	}
	if f := findings[2]; f.Line != 4 || f.Column != 3 || f.EndColumn != 6 || f.Pointer != "/a" {
		t.Errorf("duplicate at %d:%d-%d %s", f.Line, f.Column, f.EndColumn, f.Pointer)
	}
	if n := doc.Root.Member("a"); n.Text != "2" {
		t.Errorf("of duplicates the last must win, got %q", n.Text)
	}
	n := doc.Root.Find("/x~1y/~0")
	if s, ok := n.Str(); !ok || s != "é\n" {
		t.Fatalf("pointer lookup: %+v", n)
	}
	if n.Pointer != "/x~1y/~0" || src[n.Start:n.End] != `"é\n"` {
		t.Errorf("node %q covers %q", n.Pointer, src[n.Start:n.End])
	}
	if doc.Root.Find("/a/0/0") != nil || doc.Root.Find("/nope") != nil {
		t.Error("a pointer to nothing must give nil")
	}
}

// Every node and name must cover the text it came from, whatever stands
// around it; a finding would otherwise point elsewhere.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"a":[1,2,],}`, "\xef\xbb\xbf{\"a\":1}", "// c\n[]", `"\ud800"`, `{"a":{"a":1,"a":2}}`,
		"[/*x*/,]", "{\"a\":1} //"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		doc, findings := jsonc.Parse("f", src)
		if doc == nil {
			if len(findings) == 0 {
				t.Fatal("neither a document nor a finding")
			}
			for i, line := 0, 0; i < len(findings); i++ {
				if f := findings[i]; f.Line <= line || f.Line > 1+bytes.Count(src, []byte("\n")) || f.Column < 1 {
					t.Fatalf("want findings on one line each, got %v", findings)
				}
				line = findings[i].Line
			}
			return
		}
		doc.Root.Walk(func(n *jsonc.Node) {
			if n.Start >= n.End || n.End > len(src) {
				t.Fatalf("node %q spans %d to %d of %d bytes", n.Pointer, n.Start, n.End, len(src))
			}
			if again, _ := jsonc.Parse("f", src[n.Start:n.End]); again == nil || again.Root.Kind != n.Kind || again.Root.Text != n.Text {
				t.Fatalf("node %q covers %q, which does not read as the same value", n.Pointer, src[n.Start:n.End])
			}
			for _, m := range n.Members {
				if again, _ := jsonc.Parse("f", src[m.NameStart:m.NameEnd]); again == nil || again.Root.Text != m.Name {
					t.Fatalf("name %q covers %q", m.Name, src[m.NameStart:m.NameEnd])
				}
			}
		})
	})
}
