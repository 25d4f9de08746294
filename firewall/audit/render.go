package audit

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/org/claude-sandbox/firewall"
)

// WriteText prints the report as a table for a terminal, followed by the
// entries that would have opened what was denied. Nothing in it can carry a
// control character: host names come from the agent.
func (r *Report) WriteText(w io.Writer) error {
	if len(r.Rows) == 0 {
		_, err := io.WriteString(w, "no name was looked up and no connection was judged\n")
		return err
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range r.Rows {
		fmt.Fprintf(tw, "%s\t%s\t%d×\t%s\n", verdictWord(row.Verdict), printable(row.target()), row.Count, printable(row.because()))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	var b strings.Builder
	for _, f := range r.fixes() {
		fmt.Fprintf(&b, "to open %s, add this line to \"%s\": %s\n", printable(f.Host), f.FixList, quoted(f.Fix))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteJSON prints the report in its versioned JSON form.
func (r *Report) WriteJSON(w io.Writer) error {
	rows := r.Rows
	if rows == nil {
		rows = []Row{} // an empty list, never null
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		SchemaVersion int   `json:"schemaVersion"`
		Rows          []Row `json:"rows"`
	}{1, rows})
}

// WriteMarkdown prints the report for a step summary: a table and, when
// something can be opened, a block to paste into sandbox.jsonc.
func (r *Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	if len(r.Rows) == 0 {
		b.WriteString("No name was looked up and no connection was judged.\n")
	} else {
		b.WriteString("| | Host | Count | Why |\n|---|---|--:|---|\n")
	}
	for _, row := range r.Rows {
		fmt.Fprintf(&b, "| %s | %s | %d | %s |\n", verdictWord(row.Verdict), code(row.target()), row.Count, cell(row.because()))
	}
	if fixes := r.fixes(); len(fixes) > 0 {
		b.WriteString("\nTo open what was denied, add to `network` in `sandbox.jsonc`:\n\n```jsonc\n")
		for _, list := range []string{"allow", "private"} {
			var entries []string
			for _, f := range fixes {
				if f.FixList == list {
					entries = append(entries, quoted(f.Fix))
				}
			}
			if len(entries) > 0 {
				fmt.Fprintf(&b, "%q: [%s]\n", list, strings.Join(entries, ", "))
			}
		}
		b.WriteString("```\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// fixes returns the rows that an entry can mend, each entry once.
func (r *Report) fixes() []Row {
	seen := map[string]bool{}
	var rows []Row
	for _, row := range r.Rows {
		if key := row.FixList + " " + row.Fix; row.Fix != "" && !seen[key] {
			seen[key] = true
			rows = append(rows, row)
		}
	}
	return rows
}

// target is the destination as people write it.
func (row Row) target() string {
	switch {
	case row.Host == "":
		return "(many)" // what nobody could look at one by one
	case row.Port == 0 && row.Proto != "":
		return row.Host + "/" + string(row.Proto)
	case row.Port == 0:
		return row.Host
	}
	target := net.JoinHostPort(row.Host, strconv.Itoa(int(row.Port)))
	if row.Proto == firewall.UDP {
		target += "/udp"
	}
	return target
}

// because joins the reason and, for an allowed destination, the entry.
func (row Row) because() string {
	if row.Rule == "" || strings.Contains(row.Reason, row.Rule) {
		return row.Reason
	}
	return row.Reason + " (" + row.Rule + ")"
}

func verdictWord(v firewall.Verdict) string {
	if v == firewall.Allow {
		return "allowed"
	}
	return "denied"
}

// maxPrinted bounds one printed field, in bytes; a DNS name has at most 255.
const maxPrinted = 300

// printable returns s with everything but visible ASCII escaped, so that a
// name can neither move the cursor nor look like another name.
func printable(s string) string {
	if len(s) > maxPrinted {
		s = s[:maxPrinted] + "..."
	}
	q := strconv.QuoteToASCII(s)
	return strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
}

// quoted writes an entry as the JSON string to paste.
func quoted(s string) string { return `"` + strings.ReplaceAll(printable(s), `"`, ``) + `"` }

// code is s as inline code of a Markdown table cell, which nothing in s can end.
func code(s string) string {
	return "`" + strings.NewReplacer("`", "'", "|", `\|`).Replace(printable(s)) + "`"
}

// cell is s as plain text of a Markdown table cell: no markup, no HTML, no
// mention of a person.
func cell(s string) string {
	return strings.NewReplacer(
		"|", `\|`, "<", "&lt;", ">", "&gt;", "`", "'", "[", `\[`, "]", `\]`,
		"*", `\*`, "_", `\_`, "@", "&#64;", "#", "&#35;", "!", `\!`,
	).Replace(printable(s))
}
