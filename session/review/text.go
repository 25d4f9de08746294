package review

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/sandbox/changes"
)

// Screen is the first screen of the review, of at most rows lines of at most columns
// columns each: every dangerous file on a line of its own, what only builds obey of a folder
// of packages on one, or, where these are more than lines, every kind with the number of its files. Fewer rows than there
// are kinds do not make it leave out one.
func (r *Review) Screen(rows, columns int) string {
	lines := []string{r.title()}
	for _, text := range r.Unlooked {
		lines = append(lines, "  ! not looked at: "+text)
	}
	if len(lines) > 4 {
		lines = append(lines[:3], fmt.Sprintf("  ! %d more places were not looked at", len(r.Unlooked)-2))
	}
	end := ""
	if more := len(r.Files) - r.Dangerous; more > 0 && r.Dangerous > 0 { // else the title says it
		end = fmt.Sprintf("    and %s in which nothing dangerous was found", visible.Count(more, "change"))
	}
	room := rows - len(lines) - 1
	if own := r.ownLines(columns); len(own) <= room {
		lines = append(lines, own...)
	} else {
		lines = append(lines, r.byKind(columns)...)
	}
	if end != "" {
		lines = append(lines, end)
	}
	for i, line := range lines {
		lines[i] = fit(line, columns)
	}
	return strings.Join(lines, "\n") + "\n"
}

// title says how much there is to look at.
func (r *Review) title() string {
	if r.Dangerous == 0 {
		return r.Run + ": nothing dangerous was found; " + r.Headline
	}
	return r.Run + fmt.Sprintf(": look at %d first; ", r.Dangerous) + r.Headline
}

// ownLines are the lines of the dangerous files, and of folders of packages.
func (r *Review) ownLines(columns int) (lines []string) {
	in := r.inPackages()
	for i := range r.Files[:r.Dangerous] {
		f := &r.Files[i]
		files := in[f.packages()]
		switch {
		case len(files) < changes.GroupFrom:
			lines = append(lines, f.line(columns))
		case files[0] == f:
			name := shortPath(printable(f.packages())+"/", columns/2)
			lines = append(lines, fmt.Sprintf("  ! %s  %s: %s", name, visible.Count(len(files), "file"), Build.info().Words))
		}
	}
	return lines
}

// inPackages are the dangerous files that File.packages names, by these folders.
func (r *Review) inPackages() map[string][]*File {
	in := map[string][]*File{}
	for i := range r.Files[:r.Dangerous] {
		if folder := r.Files[i].packages(); folder != "" {
			in[folder] = append(in[folder], &r.Files[i])
		}
	}
	return in
}

// packages is the folder of packages around a new or removed file that only builds obey; ""
// for every other file.
func (f *File) packages() string {
	if len(f.Kinds) != 1 || f.Kinds[0] != Build || f.Change.Kind != changes.Added && f.Change.Kind != changes.Removed {
		return ""
	}
	return changes.PackagesFolder(f.Path)
}

// line is a dangerous file on the first screen.
func (f *File) line(columns int) string {
	return "  ! " + shortPath(printable(f.Path), columns/2) + "  " + f.words()
}

// words are what is dangerous about the file, the most dangerous first.
func (f *File) words() string {
	var parts []string
	for _, k := range f.Kinds {
		parts = append(parts, k.info().Words)
	}
	text := strings.Join(parts, "; ")
	for at := range f.all() {
		if at.Kind == f.Kinds[0] && at.Text != "" && at.Text != parts[0] {
			where := ""
			if at.Line > 0 {
				where = fmt.Sprintf("line %d: ", at.Line)
			}
			return text + " (" + where + printable(at.Text) + ")"
		}
	}
	return text
}

// byKind is a line for each kind: how many files, and the first of them.
func (r *Review) byKind(columns int) (lines []string) {
	in := r.inPackages()
	for _, info := range kinds {
		var names, folders []string // those of packages last: they push no other file away
		count := 0
		for i := range r.Files[:r.Dangerous] {
			f := &r.Files[i]
			if !slices.Contains(f.Kinds, info.Kind) {
				continue
			}
			count++
			if files := in[f.packages()]; len(files) < changes.GroupFrom {
				names = append(names, f.Path)
			} else if files[0] == f {
				folders = append(folders, f.packages()+"/")
			}
		}
		if count == 0 {
			continue
		}
		names = append(names, folders...)
		line := fmt.Sprintf("  ! %s: %s: ", visible.Count(count, "file"), info.Words)
		for i, name := range names {
			next := shortPath(printable(name), columns/2)
			if more := fmt.Sprintf(" and %d more", len(names)-i); i > 0 && width(line)+width(next)+2+len(more) > columns {
				line = strings.TrimSuffix(line, ", ") + more
				break
			}
			line += next
			if i < len(names)-1 {
				line += ", "
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// WriteText writes the review for people: the first screen, the dangerous changes
// with their hunks, and a line for each of the others.
func (r *Review) WriteText(w io.Writer, rows, columns int) error {
	var out bytes.Buffer
	out.WriteString(r.Screen(rows, columns))
	for i := range r.Files {
		f := &r.Files[i]
		if !f.Dangerous() {
			fmt.Fprintf(&out, "%s%s\n", map[bool]string{true: "\n"}[i == r.Dangerous], f.Head())
		} else {
			fmt.Fprintf(&out, "\n%s", f.Shown())
		}
		if out.Len() > 1<<16 || i == len(r.Files)-1 {
			if _, err := w.Write(out.Bytes()); err != nil {
				return err
			}
			out.Reset()
		}
	}
	_, err := w.Write(out.Bytes())
	return err
}

// Head is the file on one line.
func (f *File) Head() string {
	mark := " "
	if f.Dangerous() {
		mark = "!"
	}
	text := "  " + mark + " " + printable(f.Path) + "  " + printable(f.What)
	if f.Size != "" {
		text += ", " + f.Size
	}
	if f.Note != "" {
		text += ", " + printable(f.Note)
	}
	return text
}

// Heading is the file with its findings, without its hunks.
func (f *File) Heading() string {
	var out strings.Builder
	out.WriteString(f.Head() + "\n")
	writeFindings(&out, f.Findings)
	return out.String()
}

// Shown is the file with its findings and hunks, for people.
func (f *File) Shown() string {
	var out strings.Builder
	out.WriteString(f.Heading())
	for i := range f.Hunks {
		out.WriteString(f.Hunks[i].Shown())
	}
	return out.String()
}

// Shown is the hunk with its findings and its origin, for people. A character that cannot be
// printed is an escape.
func (h *Hunk) Shown() string {
	var out strings.Builder
	writeFindings(&out, h.Findings)
	fmt.Fprintf(&out, "      %s\n", h.Origin.String())
	if h.Part == Content {
		fmt.Fprintf(&out, "    %s\n", h.head())
	}
	if h.Part == Bits {
		out.WriteString("    its permissions\n")
	}
	for text := h.Text; len(text) > 0; {
		var line []byte
		line, text = cutLine(text)
		out.WriteString("    " + visible.Line(strings.TrimSuffix(string(line), "\n")) + "\n")
	}
	return out.String()
}

// Reasons are the findings about a hunk and its file, a line each.
func (f *File) Reasons(h *Hunk) string {
	var out strings.Builder
	writeFindings(&out, f.Findings)
	writeFindings(&out, h.Findings)
	return out.String()
}

func writeFindings(out *strings.Builder, findings []Finding) {
	for _, at := range findings {
		where := ""
		if at.Line > 0 {
			where = fmt.Sprintf("line %d: ", at.Line)
		}
		fmt.Fprintf(out, "    ! %s%s\n", where, printable(at.Text))
	}
}

// String is the origin in half a sentence.
func (o Origin) String() string {
	text := "by " + printable(o.Tool)
	switch {
	case o.ByTime:
		text = "while " + printable(o.Tool) + " ran"
	case o.Tool == unknown:
		text = "by an unknown call"
	}
	if o.Command != "" {
		text += ": " + printable(o.Command)
	}
	switch {
	case o.ReadUnknown:
		text += "; whether anything was read from the network before it is unknown"
	case len(o.Read) == 0:
		text += "; nothing was read from the network before it"
	default:
		text += "; read from the network before it: " + printable(strings.Join(o.Read, ", "))
		if o.ReadMore > 0 {
			text += fmt.Sprintf(" and %s", visible.Count(o.ReadMore, "more host"))
		}
	}
	return text
}

// WriteJSON writes the review as one JSON object (schemaVersion 1). A hunk's lines are
// its text.
func (r *Review) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(struct {
		SchemaVersion int `json:"schemaVersion"`
		*Review
	}{1, r})
}

// MarshalJSON adds the hunk's lines, in which bytes that are no UTF-8 are escapes.
func (h Hunk) MarshalJSON() ([]byte, error) {
	type plain Hunk
	text := string(h.Text)
	if !utf8.ValidString(text) {
		text = visible.Line(text)
	}
	return json.Marshal(struct {
		plain
		Text string `json:"text,omitempty"`
	}{plain(h), text})
}

// printable is a text on one line, without tabulators.
func printable(text string) string { return strings.ReplaceAll(visible.Line(text), "\t", `\t`) }

// shortPath shortens a path in its middle: both ends tell more.
func shortPath(path string, columns int) string {
	if width(path) <= columns {
		return path
	}
	runes := []rune(path)
	head, tail := 0, len(runes)
	for used := 1; ; {
		if used += runeWidth(runes[tail-1]); used > columns || tail-1 <= head {
			break
		}
		tail--
		if (len(runes)-tail)%3 == 0 {
			if used += runeWidth(runes[head]); used > columns {
				break
			}
			head++
		}
	}
	return string(runes[:head]) + "…" + string(runes[tail:])
}

// fit cuts a line at its end.
func fit(line string, columns int) string {
	if width(line) <= columns {
		return line
	}
	used := 1
	for i, c := range line {
		if used += runeWidth(c); used > columns {
			return line[:i] + "…"
		}
	}
	return line
}

// width is how many columns a printable text may take on a screen.
func width(text string) (n int) {
	for _, c := range text {
		n += runeWidth(c)
	}
	return n
}

// runeWidth is 2 for what may be wide.
func runeWidth(c rune) int {
	if c >= 0x1100 && c != '…' {
		return 2
	}
	return 1
}
