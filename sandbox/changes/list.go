package changes

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/workspace/obeyed"
)

// GroupFrom is how many new or removed files of one folder become a line of the
// list.
const GroupFrom = 6

// Row is a line of the list for people: a change, or the new or removed files of
// a folder that no program obeys on sight, or that only builds obey, as one of packages.
type Row struct {
	Path  string // as visible.Line shows it, a folder with "/" at its end
	Class obeyed.Class
	What  string // in words: "new", "changed", "41234 new files"
	Size  string // "+3 -1", "410 MB"; "" = nothing to say
	Note  string
}

// Rows are the lines of the list, dangerous ones first.
func (s *Set) Rows() []Row {
	var rows []Row
	groups := map[string][]int{} // by folder and kind
	key := func(c *Change) string {
		if c.Folded || c.Kind != Added && c.Kind != Removed || c.Class.OnSight() {
			return ""
		}
		if c.Class.Dangerous() { // what builds obey of many packages must not push the project's own away
			if folder := PackagesFolder(c.Path); folder != "" {
				return fmt.Sprintf("%s/%s/%s", folder, c.Kind, c.Class)
			}
			return ""
		}
		first, _, below := strings.Cut(c.Path, "/")
		if !below {
			return ""
		}
		return first + "/" + string(c.Kind)
	}
	for i := range s.Changes {
		if k := key(&s.Changes[i]); k != "" {
			groups[k] = append(groups[k], i)
		}
	}
	for i := range s.Changes {
		c := &s.Changes[i]
		group := groups[key(c)]
		if len(group) < GroupFrom {
			rows = append(rows, c.Row())
		} else if group[0] == i {
			rows = append(rows, s.grouped(group))
		}
	}
	return rows
}

// PackagesFolder is the uppermost folder around a path that package managers fill; "" = none.
func PackagesFolder(name string) string {
	at := ""
	for part := range strings.SplitSeq(dirOf(name), "/") {
		at = path.Join(at, part)
		switch part {
		case "node_modules", "vendor", ".venv", "venv", "site-packages":
			return at
		}
	}
	return ""
}

// grouped is one row for several changes of one kind in a folder.
func (s *Set) grouped(which []int) Row {
	first, last := s.Changes[which[0]], s.Changes[which[len(which)-1]]
	row := Row{Path: visible.Line(commonFolder(first.Path, last.Path)) + "/", Class: first.Class}
	plus, minus, bytes := 0, 0, int64(0)
	for _, i := range which {
		c := s.Changes[i]
		plus, minus = plus+c.Plus, minus+c.Minus
		bytes += cmp.Or(c.After, c.Before).Size
	}
	row.What = counted(len(which), string(first.Kind.adjective())+" file", string(first.Kind.adjective())+" files")
	row.Size = cmp.Or(lines(plus, minus), size(bytes))
	return row
}

// commonFolder is the deepest folder of two paths.
func commonFolder(a, b string) string {
	x, y := strings.Split(dirOf(a), "/"), strings.Split(dirOf(b), "/")
	n := 0
	for n < len(x) && n < len(y) && x[n] == y[n] {
		n++
	}
	return strings.Join(x[:n], "/")
}

// adjective is a kind as it stands before a noun.
func (k Kind) adjective() string {
	if k == Added {
		return "new"
	}
	return string(k)
}

// Row is the line of one change.
func (c *Change) Row() Row {
	row := Row{Path: visible.Line(c.Path), Class: c.Class, Note: c.Note}
	switch {
	case c.Folded:
		row.Path += "/"
		row.What = counted(c.Files, c.Kind.adjective()+" file", c.Kind.adjective()+" files")
		row.Size = size(c.Bytes)
		return row
	case c.Kind == Mode:
		row.What = fmt.Sprintf("mode %04o, was %04o", c.After.Mode, c.Before.Mode)
	case c.Kind == Type:
		row.What = fmt.Sprintf("now a %s, was a %s", c.After.inWords(), c.Before.inWords())
	case c.Kind == Link:
		row.What = "leads to " + visible.Line(c.After.Target)
	case c.From != "":
		row.What = "moved from " + visible.Line(c.From)
	case c.Kind == Added && c.After.What != File:
		row.What = "new " + c.After.inWords()
	default:
		row.What = c.Kind.adjective()
	}
	if c.After != nil && c.After.What == Folder || c.After == nil && c.Before.What == Folder {
		row.Path += "/"
	}
	if c.Later {
		row.What += " after the run had ended"
	}
	if row.Size = lines(c.Plus, c.Minus); row.Size == "" && c.After != nil && c.After.What == File && c.Kind != Mode {
		row.Size = size(c.After.Size)
	}
	return row
}

// inWords is what a path is, for people.
func (s *State) inWords() string {
	switch s.What {
	case Symlink:
		return "link to " + visible.Line(s.Target)
	case Special:
		return "socket, pipe or device"
	}
	return string(s.What)
}

// inWords is a change on one line.
func (c *Change) inWords() string {
	r := c.Row()
	return r.Path + ": " + r.Words()
}

// Words are all of the row but its path.
func (r Row) Words() string {
	parts := []string{r.What}
	for _, part := range []string{r.Size, r.Note, r.Class.Reason()} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", ")
}

// Headline says how much changed: "4 files changed, +12 -3 lines".
func (s *Set) Headline() string {
	text := counted(s.Files, "file", "files") + " changed"
	if l := lines(s.Plus, s.Minus); l != "" {
		text += ", " + l + " lines"
	}
	return text
}

// WriteList writes some lines for people, at most limit of changes: the
// dangerous ones first, marked with "!".
func (s *Set) WriteList(w io.Writer, limit int) error {
	return s.write(w, s.Rows(), limit)
}

// WriteAll writes a line for each change.
func (s *Set) WriteAll(w io.Writer) error {
	rows := make([]Row, len(s.Changes))
	for i := range s.Changes {
		rows[i] = s.Changes[i].Row()
	}
	return s.write(w, rows, len(rows))
}

func (s *Set) write(w io.Writer, rows []Row, limit int) error {
	more := max(len(rows)-limit, 0)
	shown := rows[:len(rows)-more]
	width := 0
	for _, r := range shown {
		width = max(width, min(len(r.Path), 40))
	}
	var b strings.Builder
	for _, r := range shown {
		mark := " "
		if r.Class.Dangerous() {
			mark = "!"
		}
		fmt.Fprintf(&b, "  %s %-*s  %s\n", mark, width, r.Path, r.Words())
	}
	if more+s.More > 0 {
		dangerous := 0
		for _, r := range rows[len(shown):] {
			if r.Class.Dangerous() {
				dangerous++
			}
		}
		fmt.Fprintf(&b, "    and %d more", more+s.More)
		if dangerous > 0 {
			fmt.Fprintf(&b, ", %d of them marked !", dangerous)
		}
		b.WriteByte('\n')
	}
	for _, line := range s.Unlooked() {
		fmt.Fprintf(&b, "  ! not looked at: %s\n", line)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Unlooked says in sentences what was not looked at, and could have changed.
func (s *Set) Unlooked() []string {
	sentences := slices.Clone(s.Unseen)
	for _, folder := range s.Outside {
		sentences = append(sentences, visible.Line(folder)+
			", a mount that the agent could write: changes there are not listed and cannot be taken back")
	}
	return sentences
}

// Paths are the changed paths, dangerous ones first, a folded folder with "/" at
// its end, at most limit of them, as visible.Line shows them.
func (s *Set) Paths(limit int) []string {
	var paths []string
	for _, c := range s.Changes[:min(len(s.Changes), limit)] {
		p := visible.Line(c.Path)
		if c.Folded {
			p += "/"
		}
		paths = append(paths, p)
	}
	return paths
}

// Warnings say in sentences which repositories are new, and which other changed
// files programs obey: first those that need no word of a person, then those of
// builds and CI. It names at most limit of each. It is nil when none changed.
func (s *Set) Warnings(limit int) (sentences []string) {
	sentences = s.RepositoryWarnings(limit)
	dangerous := slices.DeleteFunc(slices.Clone(s.Dangerous()), func(c Change) bool {
		return slices.ContainsFunc(s.Repositories[:min(len(s.Repositories), limit)], func(r Repository) bool { return r.Path == c.Path })
	})
	build := slices.IndexFunc(dangerous, func(c Change) bool { return !c.Class.OnSight() })
	if build < 0 {
		build = len(dangerous)
	}
	if text := named(dangerous[:build], limit); text != "" {
		sentences = append(sentences, "changed since the run began, and programs on this machine obey it unasked, such as git, shells, "+
			"editors, agents and hooks: "+text)
	}
	if text := named(dangerous[build:], limit); text != "" {
		sentences = append(sentences, "changed since the run began, and builds or CI run it: "+text)
	}
	return sentences
}

// named lists paths in a sentence.
func named(changes []Change, limit int) string {
	var paths []string
	for _, c := range changes[:min(len(changes), limit)] {
		paths = append(paths, visible.Line(c.Path))
	}
	if more := len(changes) - len(paths); more > 0 {
		paths = append(paths, counted(more, "more", "more"))
	}
	return strings.Join(paths, ", ")
}

// counted is a number with its noun.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	digits := fmt.Sprint(n)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits + " " + many
}

// lines is "+12 -3"; "" for none.
func lines(plus, minus int) string {
	if plus+minus == 0 {
		return ""
	}
	return fmt.Sprintf("+%d -%d", plus, minus)
}

// size is a number of bytes for people.
func size(n int64) string {
	for _, unit := range []struct {
		name  string
		bytes int64
	}{{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}} {
		if n >= unit.bytes {
			return fmt.Sprintf("%.3g %s", float64(n)/float64(unit.bytes), unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
