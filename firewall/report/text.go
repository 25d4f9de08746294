package report

import (
	"fmt"
	"io"
	"net"
	"path"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/visible"
)

// empty is the sentence for people about a log without a record. A run without a
// firewall must not pass for a quiet one. Requests to the model go through the
// tunnel and are no records.
func (r *Report) empty() string {
	switch r.mode {
	case firewall.ModeHost:
		return "there was no firewall (mode host), and nothing was recorded"
	case firewall.ModeNone:
		return "there was no network (mode none), and no attempt is on record"
	}
	return "the agent tried to reach nothing but the model"
}

// WriteText prints the report as a table for a terminal, followed by the
// entries that would open what was denied, as lines for the file of settings.
func (r *Report) WriteText(w io.Writer) error {
	return r.writeText(w, func(row Row) string {
		return fmt.Sprintf("to %s, add this line to \"%s\": %s", row.wish(), row.FixList, line(row.Fix))
	})
}

// WriteRunText prints what WriteText does, with commands in place of lines. flags
// are for 'sbx-devc allow', each with a blank in front, such as the project's folder.
func (r *Report) WriteRunText(w io.Writer, flags string) error {
	return r.writeText(w, func(row Row) string {
		command := "sbx-devc allow" + flags
		if row.FixList == "private" {
			command += " --private"
		}
		return fmt.Sprintf("to %s: %s %s (for one run: --%s %s)", row.wish(), command, word(row.Fix), row.FixList, word(row.Fix))
	})
}

// writeText prints the table, and what fix says of each row that an entry opens.
func (r *Report) writeText(w io.Writer, fix func(Row) string) error {
	if len(r.Rows) == 0 {
		_, err := io.WriteString(w, r.empty()+"\n"+r.keysText())
		return err
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range r.Rows {
		why := printable(row.because())
		if by := row.Process.short(); by != "" {
			why += " [" + by + "]"
		}
		fmt.Fprintf(tw, "%s\t%s\t%d×\t%s\n", verdictWord(row.Verdict), printable(row.target()), row.Count, why)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	var b strings.Builder
	if r.More > 0 {
		fmt.Fprintf(&b, "… and %d more\n", r.More)
	}
	seen := map[string]bool{}
	for _, row := range r.Rows {
		if key := row.FixList + " " + row.Fix; row.Fix != "" && !seen[key] {
			seen[key] = true
			b.WriteString(fix(row))
			if row.Suspect {
				b.WriteString(" (think twice: the name " + suspicion + ")")
			}
			b.WriteByte('\n')
		}
	}
	_, err := io.WriteString(w, b.String()+r.keysText())
	return err
}

// keysText says of each key what it did.
func (r *Report) keysText() string {
	var b strings.Builder
	for _, k := range r.Keys {
		head, lines := k.lines()
		b.WriteString(head + "\n")
		for _, l := range lines {
			b.WriteString("  " + l + "\n")
		}
	}
	return b.String()
}

// wish is what the row's entry is for.
func (row Row) wish() string {
	if row.Operation != "" {
		return "allow " + printable(row.Operation) + " at " + printable(row.Host)
	}
	return "open " + printable(row.Host)
}

// suspicion is what people are told of a suspect name.
const suspicion = "looks like data that somebody sends out"

// target is the destination as people write it.
func (row Row) target() string {
	switch {
	case row.Host == "":
		return "(many)" // too many to look at one by one
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

// short names a process in a few words; "" when it is not known.
func (p *Process) short() string {
	if p == nil || p.PID == 0 {
		return ""
	}
	pid := "pid " + strconv.Itoa(p.PID)
	if p.Exe != "" {
		return printable(path.Base(p.Exe)) + ", " + pid
	}
	return pid
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
	return visible.ASCII(s)
}

// line writes an entry as the line to paste into a list. With the comma it fits
// in front of others, and in JSON with comments also where none follows.
func line(s string) string { return `"` + strings.ReplaceAll(printable(s), `"`, ``) + `",` }

// word writes an entry as a word of a shell, to which brackets and stars are patterns.
func word(s string) string {
	s = strings.ReplaceAll(printable(s), `'`, ``)
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:/") != "" {
		return "'" + s + "'"
	}
	return s
}
