package review

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"strings"

	"github.com/org/claude-sandbox/internal/visible"
)

// The page is one file without a script: its style is in it, and nothing is loaded.
var (
	//go:embed page/page.html
	pageText string
	//go:embed page/page.css
	pageStyle string

	page = template.Must(template.New("page").Funcs(template.FuncMap{
		"words": func(k Kind) string { return k.info().Words }, "printable": printable, "lines": pageLines,
	}).Parse(pageText))
)

// maxPageLines bounds the harmless lines of the page, so that a browser opens it. The
// files of lines that are left out say so.
const maxPageLines = 100_000

// pageLine is a line of a hunk.
type pageLine struct{ Class, Text string }

// pageLines are the lines of a hunk; what cannot be printed is an escape.
func pageLines(h Hunk) (lines []pageLine) {
	for text := h.Text; len(text) > 0; {
		var line []byte
		line, text = cutLine(text)
		lines = append(lines, pageLine{map[byte]string{'+': "new", '-': "old"}[line[0]], visible.Line(strings.TrimSuffix(string(line), "\n"))})
	}
	return lines
}

// WriteHTML writes the review as one HTML page that needs nothing else. A content
// security policy in it lets only its own style work.
func (r *Review) WriteHTML(w io.Writer) error {
	sum := sha256.Sum256([]byte(pageStyle))
	shown := *r
	shown.Files = append([]File(nil), r.Files...)
	left := maxPageLines
	for i := range shown.Files {
		f := &shown.Files[i]
		for _, h := range f.Hunks {
			left -= strings.Count(string(h.Text), "\n")
		}
		if left < 0 && !f.Dangerous() {
			f.Hunks, f.Note = nil, "its lines are not on this page: sbx-devc diff shows them"
		}
	}
	return page.Execute(w, struct {
		*Review
		Policy    string
		Style     template.HTML // a whole element: the browser hashes exactly what stands between the tags
		Headline  string
		Dangerous []File
		Others    []File
	}{
		&shown, "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'",
		template.HTML("<style>" + pageStyle + "</style>"), r.title(), shown.Files[:r.Dangerous], shown.Files[r.Dangerous:],
	})
}
