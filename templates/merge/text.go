package merge

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Text merges files line by line. Changes of neighbouring lines are no
// conflict as long as no line is changed by both, unlike in merge tools for
// programs: what the template's files hold, line for line, are pins and steps.
// A nil text is a file that is not there. With conflicts the merged text is
// mine, unless prefer decides them.
func Text(base, template, mine []byte, prefer Side) (merged []byte, conflicts []Conflict) {
	if merged, conflicts, done := whole(base, template, mine, prefer); done {
		return merged, conflicts
	}
	crlf := bytes.Contains(mine, []byte("\r\n"))
	b, t, m := lines(base), lines(template), lines(mine)
	theirs, ours := hunks(b, t), hunks(b, m)
	var out []string
	at, shift := 0, 0 // next line of base; lines that mine has more than base up to here
	for len(theirs)+len(ours) > 0 {
		group := nextGroup(&theirs, &ours)
		out = append(out, b[at:group.start]...)
		base, template, mine := b[group.start:group.end], group.theirs.side(b, group), group.ours.side(b, group)
		switch {
		case slices.Equal(mine, template), slices.Equal(template, base), prefer == Mine:
			out = append(out, mine...)
		case slices.Equal(mine, base), prefer == Template:
			out = append(out, template...)
		default:
			conflicts = append(conflicts, Conflict{fmt.Sprintf("line %d", group.start+shift+1), strings.Join(base, ""), strings.Join(template, ""), strings.Join(mine, "")})
		}
		at, shift = group.end, shift+len(mine)-len(base)
	}
	if len(conflicts) > 0 {
		return mine, conflicts
	}
	merged = []byte(strings.Join(append(out, b[at:]...), ""))
	if crlf {
		merged = bytes.ReplaceAll(merged, []byte("\n"), []byte("\r\n"))
	}
	return merged, nil
}

// lines splits text behind its line feeds; carriage returns count for nothing.
func lines(text []byte) []string {
	return slices.Collect(strings.Lines(strings.ReplaceAll(string(text), "\r\n", "\n")))
}

// hunk replaces the lines from start to end of base.
type hunk struct {
	start, end int
	text       []string
}

// hunks is the difference from base to other, by a longest common subsequence.
func hunks(base, other []string) []hunk {
	n, m := len(base), len(other)
	common := make([][]int, n+1) // length of the longest common tail
	for i := range common {
		common[i] = make([]int, m+1)
	}
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			if base[i] == other[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var out []hunk
	for i, j := 0, 0; i < n || j < m; {
		if i < n && j < m && base[i] == other[j] {
			i, j = i+1, j+1
			continue
		}
		h := hunk{start: i}
		for (i < n || j < m) && !(i < n && j < m && base[i] == other[j]) {
			if j == m || i < n && common[i+1][j] >= common[i][j+1] {
				i++
			} else {
				h.text = append(h.text, other[j])
				j++
			}
		}
		h.end = i
		out = append(out, h)
	}
	return out
}

// side is what one side made of some lines of base: its hunks within them.
type side []hunk

// group is a stretch of base that at least one side changed and no hunk
// crosses the ends of.
type group struct {
	start, end   int
	theirs, ours side
}

// nextGroup takes the hunks off that belong together, from the front.
func nextGroup(theirs, ours *[]hunk) group {
	var g group
	take := func(from *[]hunk, to *side) {
		h := (*from)[0]
		if len(g.theirs)+len(g.ours) == 0 {
			g.start, g.end = h.start, h.end
		}
		g.end = max(g.end, h.end)
		*to, *from = append(*to, h), (*from)[1:]
	}
	if len(*ours) == 0 || len(*theirs) > 0 && (*theirs)[0].before((*ours)[0]) {
		take(theirs, &g.theirs)
	} else {
		take(ours, &g.ours)
	}
	for {
		switch {
		case len(*theirs) > 0 && g.meets((*theirs)[0]):
			take(theirs, &g.theirs)
		case len(*ours) > 0 && g.meets((*ours)[0]):
			take(ours, &g.ours)
		default:
			return g
		}
	}
}

// before orders hunks; of two that start together, an insertion comes first.
func (h hunk) before(other hunk) bool {
	return h.start < other.start || h.start == other.start && h.end <= other.end
}

// meets reports whether h changes a line of the group, or inserts where the
// group inserts too. An insertion beside changed lines is its own change.
func (g group) meets(h hunk) bool {
	if h.start == h.end || g.start == g.end {
		return h.start == g.start && h.end == g.end || h.start > g.start && h.start < g.end || g.start > h.start && g.start < h.end
	}
	return h.start < g.end && g.start < h.end
}

// side returns the lines of the group as one side has them.
func (s side) side(base []string, g group) []string {
	var out []string
	at := g.start
	for _, h := range s {
		out = append(append(out, base[at:h.start]...), h.text...)
		at = h.end
	}
	return append(out, base[at:g.end]...)
}
