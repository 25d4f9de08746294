package effective

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/shellword"
)

// Form is what 'sbx-devc effective --format json' prints: versioned plain data.
func (r *Result) Form() any {
	type workspace struct {
		Folder string `json:"folder"`
		Mount  string `json:"mount"`
	}
	type composed struct {
		Project    string              `json:"project"`
		Service    Object              `json:"service"`
		Provenance map[string][]Origin `json:"provenance"`
		Override   string              `json:"override"`
		Up         []string            `json:"up"`
	}
	var compose *composed
	if c := r.Compose; c != nil {
		compose = &composed{c.Project, c.Service, c.Origins, c.Override, c.Up}
	}
	return struct {
		SchemaVersion int                 `json:"schemaVersion"`
		Configuration Object              `json:"configuration"`
		Provenance    map[string][]Origin `json:"provenance"`
		Workspace     workspace           `json:"workspace"`
		Run           []string            `json:"run"`
		Compose       *composed           `json:"compose"`
		Unknown       []string            `json:"unknown"`
	}{1, r.Configuration, r.Origins, workspace{r.Folder, r.Mount}, append([]string{}, r.Run...), compose, append([]string{}, r.Unknown...)}
}

// WriteText writes a line for each value: its name, what it is and where it comes from.
// The texts are a project's and a registry's: on a terminal w must be one that shows
// control characters as text.
func (r *Result) WriteText(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if err := originRows(table, "", r.Origins, r.Configuration); err != nil {
		return err
	}
	fmt.Fprintf(table, "workspace folder\t%s\n", r.Folder)
	if c := r.Compose; c != nil {
		fmt.Fprintf(table, "\nCompose service of %s\n", c.Project)
		if err := originRows(table, "  ", c.Origins, c.Service); err != nil {
			return err
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if len(r.Run) > 0 {
		fmt.Fprintf(w, "\n%s\n", commandLine(r.Run))
	}
	if c := r.Compose; c != nil {
		override := strings.ReplaceAll(strings.TrimSuffix(c.Override, "\n"), "\n", "\n    ")
		fmt.Fprintf(w, "\n%s\n\n%s:\n    %s\n", commandLine(c.Up), OverrideName, override)
	}
	if len(r.Unknown) > 0 {
		fmt.Fprintf(w, "\nnot known:\n  %s\n", strings.Join(r.Unknown, "\n  "))
	}
	return nil
}

// originRows prints what stands at each pointer, and where that comes from.
func originRows(w io.Writer, before string, origins map[string][]Origin, in Object) error {
	values := map[string]any{}
	eachValue(in, "", func(pointer string, value any) { values[pointer] = value })
	for _, pointer := range slices.SortedFunc(maps.Keys(origins), naturally) {
		var from []string
		for _, o := range origins[pointer] {
			from = append(from, o.String())
		}
		value, err := json.Marshal(values[pointer])
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s%s\t%s\t%s\n", before, strings.ReplaceAll(pointer[1:], "/", "."), clip(string(value)), strings.Join(from, ", "))
	}
	return nil
}

// eachValue visits v and what it holds with their RFC 6901 pointers, each once: to look one
// up by its pointer takes as long as its object is large.
func eachValue(v any, pointer string, visit func(pointer string, value any)) {
	visit(pointer, v)
	switch v := v.(type) {
	case Object:
		for _, m := range v {
			eachValue(m.Value, jsonc.Child(pointer, m.Name), visit)
		}
	case []any:
		for i, e := range v {
			eachValue(e, jsonc.Child(pointer, strconv.Itoa(i)), visit)
		}
	}
}

// naturally orders pointers by their parts, numbers by value.
func naturally(a, b string) int {
	x, y := strings.Split(a, "/"), strings.Split(b, "/")
	return slices.CompareFunc(x, y, func(a, b string) int {
		m, errA := strconv.Atoi(a)
		n, errB := strconv.Atoi(b)
		if errA == nil && errB == nil {
			return m - n
		}
		return strings.Compare(a, b)
	})
}

func clip(s string) string {
	if r := []rune(s); len(r) > 80 {
		return string(r[:79]) + "…"
	}
	return s
}

// commandLine writes a command for a POSIX shell, an option per line.
func commandLine(words []string) string {
	var b strings.Builder
	for i, word := range words {
		switch {
		case i == 0:
		case strings.HasPrefix(word, "-") && word != "-" && i > 1:
			b.WriteString(" \\\n  ")
		default:
			b.WriteByte(' ')
		}
		b.WriteString(shellword.Quote(word))
	}
	return b.String()
}
