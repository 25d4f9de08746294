package diag

import (
	"cmp"
	"io"
	"strings"

	"github.com/org/claude-sandbox/internal/visible"
)

// WriteReviewdog prints findings in the Diagnostic Format of reviewdog (rdjson,
// reviewdog.Diagnosticresult): one object, columns in bytes of UTF-8 from 1, ends
// behind the last byte. Rules that tool lists are linked to their pages. The format knows no run
// that failed: a problem is a diagnostic of its file without a rule.
func WriteReviewdog(w io.Writer, tool Tool, findings []Finding, problems []Problem) error {
	type position struct {
		Line   int `json:"line"`
		Column int `json:"column"`
	}
	type span struct {
		Start position `json:"start"`
		End   position `json:"end"`
	}
	type location struct {
		Path  string `json:"path"`
		Range *span  `json:"range,omitempty"`
	}
	type code struct {
		Value string `json:"value"`
		URL   string `json:"url,omitempty"`
	}
	type source struct {
		Name string `json:"name"`
		URL  string `json:"url,omitempty"`
	}
	type diagnostic struct {
		Message  string   `json:"message"`
		Location location `json:"location"`
		Severity string   `json:"severity"`
		Code     *code    `json:"code,omitempty"`
	}
	uris := map[string]string{}
	for _, r := range tool.Rules {
		uris[r.ID] = r.URI
	}
	all := []diagnostic{}
	for _, p := range problems {
		all = append(all, diagnostic{p.text(), location{strings.ReplaceAll(p.File, "\\", "/"), nil}, "ERROR", nil})
	}
	for _, f := range findings {
		message := Unmasked(f.Message)
		if f.Hint != "" {
			message += "\nhint: " + Unmasked(f.Hint)
		}
		severity := cmp.Or(map[Severity]string{SeverityError: "ERROR", SeverityWarning: "WARNING"}[f.Severity], "INFO")
		end := position{max(f.EndLine, f.Line), f.EndColumn}
		if f.EndLine <= f.Line {
			end.Column = max(f.EndColumn, f.Column)
		}
		all = append(all, diagnostic{message, location{strings.ReplaceAll(f.File, "\\", "/"), &span{position{f.Line, f.Column}, end}},
			severity, &code{f.Rule, uris[f.Rule]}})
	}
	return visible.WriteJSON(w, struct {
		Source      source       `json:"source"`
		Diagnostics []diagnostic `json:"diagnostics"`
	}{source{tool.Name, tool.URI}, all}, "")
}
