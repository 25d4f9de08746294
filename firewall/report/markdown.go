package report

import (
	"fmt"
	"io"
	"strings"
)

// WriteMarkdown prints the report in Markdown: WriteTable's and, when
// something can be opened, a block to paste into sandbox.jsonc.
func (r *Report) WriteMarkdown(w io.Writer) error {
	if err := r.WriteTable(w); err != nil {
		return err
	}
	var b strings.Builder
	for i, p := range r.pastes() {
		if i == 0 {
			b.WriteString("\nTo open what was denied, paste into `sandbox.jsonc`, ")
		} else {
			b.WriteString("\nand ")
		}
		fmt.Fprintf(&b, "at the beginning of `%s`:\n\n```jsonc\n%s```\n", p.Place, p.Lines)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteTable prints the report's rows and the use of keys in Markdown.
func (r *Report) WriteTable(w io.Writer) error {
	var b strings.Builder
	if len(r.Rows) == 0 {
		b.WriteString(sentence(r.empty()) + "\n")
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
	for i, k := range r.Keys {
		if i == 0 {
			b.WriteByte('\n')
		}
		head, lines := k.lines()
		fmt.Fprintf(&b, "- %s\n", cell(head))
		for _, l := range lines {
			fmt.Fprintf(&b, "  - %s\n", cell(l))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// paste is lines for sandbox.jsonc that open what was denied. They can be pasted
// as they are right behind the bracket that opens Place, a list or the object
// "network".
type paste struct {
	Place, Lines string
}

// pastes is what opens everything that was denied and can be opened.
func (r *Report) pastes() []paste {
	var all []paste
	for _, list := range []string{listAllow, listPrivate} {
		var b strings.Builder
		for _, entry := range r.Fixes(list) {
			b.WriteString(line(entry) + "\n")
		}
		switch {
		case b.Len() == 0:
		case list == listPrivate && !r.hasPrivate:
			// No template has that list.
			all = append(all, paste{"network", fmt.Sprintf("%q: [\n%s],\n", list, b.String())})
		default:
			all = append(all, paste{list, b.String()})
		}
	}
	return all
}

// sentence is words as a sentence.
func sentence(words string) string { return strings.ToUpper(words[:1]) + words[1:] + "." }

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
