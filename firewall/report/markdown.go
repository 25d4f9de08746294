package report

import (
	"fmt"
	"io"
	"strings"
)

// WriteMarkdown prints the report for a step summary: a table and, when
// something can be opened, a block to paste into sandbox.jsonc.
func (r *Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	if len(r.Rows) == 0 {
		b.WriteString("No name was looked up and no connection was judged.\n")
	} else {
		b.WriteString("| | Host | Count | First process | Why |\n|---|---|--:|---|---|\n")
	}
	for _, row := range r.Rows {
		by := row.Process.short()
		if by != "" {
			by = code(by)
		}
		why := cell(row.because())
		if row.Suspect {
			why += "; the name " + suspicion
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %s | %s |\n", verdictWord(row.Verdict), code(row.target()), row.Count, by, why)
	}
	if r.More > 0 {
		fmt.Fprintf(&b, "\n%d more rows are in the report folder.\n", r.More)
	}
	if block := r.paste(); block != "" {
		b.WriteString("\nTo open what was denied, add to `network` in `sandbox.jsonc`:\n\n```jsonc\n" + block + "```\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// paste is the lines for sandbox.jsonc that open what was denied; "" when there
// are none.
func (r *Report) paste() string {
	var b strings.Builder
	for _, list := range []string{listAllow, listPrivate} {
		entries := r.Fixes(list)
		if len(entries) == 0 {
			continue
		}
		for i, entry := range entries {
			entries[i] = quoted(entry)
		}
		fmt.Fprintf(&b, "%q: [%s]\n", list, strings.Join(entries, ", "))
	}
	return b.String()
}

// code is s as inline code of a Markdown table cell, which nothing in s can end.
func code(s string) string {
	return "`" + strings.NewReplacer("`", "'", "|", `\|`).Replace(printable(s)) + "`"
}

// cell is s as plain text of a Markdown table cell: no markup, no HTML, no
// mention of a person, and nothing that becomes a link by itself.
func cell(s string) string {
	return strings.NewReplacer(
		"|", `\|`, "<", "&lt;", ">", "&gt;", "`", "'", "[", `\[`, "]", `\]`,
		"*", `\*`, "_", `\_`, "@", "&#64;", "#", "&#35;", "!", `\!`,
		"://", "&#58;//", "www.", "www&#46;",
	).Replace(printable(s))
}
