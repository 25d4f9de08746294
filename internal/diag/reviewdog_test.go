package diag

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// The form that reviewdog -f=rdjson reads: names in camel case, severities in capitals.
func TestWriteReviewdog(t *testing.T) {
	var out bytes.Buffer
	tool := Tool{Name: "sbx-devc", URI: "https://example.com", Rules: []RuleInfo{{ID: "SBX402", URI: "https://example.com/402"}}}
	if err := WriteReviewdog(&out, tool, findings()[:2], nil); err != nil {
		t.Fatal(err)
	}
	want := `{"source":{"name":"sbx-devc","url":"https://example.com"},"diagnostics":[` +
		`{"message":"a privileged container\nhint: remove <it>","location":{"path":"b.json","range":{"start":{"line":3,"column":5},` +
		`"end":{"line":3,"column":9}}},"severity":"ERROR","code":{"value":"SBX402","url":"https://example.com/402"}},` +
		`{"message":"late","location":{"path":"a.json","range":{"start":{"line":9,"column":1},"end":{"line":9,"column":1}}},` +
		`"severity":"INFO","code":{"value":"SBX201"}}]}`
	if got := strings.TrimSpace(out.String()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if err := WriteReviewdog(&out, Tool{}, nil, nil); err != nil || !json.Valid(out.Bytes()[out.Len()-10:]) &&
		!strings.Contains(out.String(), `"diagnostics":[]`) {
		t.Errorf("no findings: %s, %v", &out, err)
	}
}
