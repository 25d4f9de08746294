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
	out, conflicts := mergeLines(lines(base), lines(template), lines(mine), 1, prefer)
	return finish(out, mine, conflicts)
}

// finish returns the lines as a text with the line ends of mine, or mine.
func finish(out []string, mine []byte, conflicts []Conflict) ([]byte, []Conflict) {
	if len(conflicts) > 0 {
		return mine, conflicts
	}
	merged := []byte(strings.Join(out, ""))
	if bytes.Contains(mine, []byte("\r\n")) {
		merged = bytes.ReplaceAll(merged, []byte("\n"), []byte("\r\n"))
	}
	return merged, nil
}

// mergeLines merges the lines of which mine begin at the line first of the
// user's file. With conflicts what it returns is not to be used.
func mergeLines(b, t, m []string, first int, prefer Side) (out []string, conflicts []Conflict) {
	theirs, ours := hunks(b, t), hunks(b, m)
	at, shift := 0, 0 // next line of base; lines that mine has more than base up to here
	for len(theirs)+len(ours) > 0 {
		group := nextGroup(&theirs, &ours)
		out = append(out, b[at:group.start]...)
		at = group.start
		for _, p := range parts(b[group.start:group.end], group.theirs.side(b, group), group.ours.side(b, group)) {
			base, template, mine := p[0], p[1], p[2]
			switch {
			case slices.Equal(mine, template), slices.Equal(template, base):
				out = append(out, mine...)
			case slices.Equal(mine, base):
				out = append(out, template...)
			default:
				settled, ok := settle(base, template, mine, prefer)
				if !ok {
					conflicts = append(conflicts, Conflict{fmt.Sprintf("line %d", first+at+shift), strings.Join(base, ""),
						strings.Join(template, ""), strings.Join(mine, "")})
				}
				out = append(out, settled...)
			}
			at, shift = at+len(base), shift+len(mine)-len(base)
		}
	}
	return append(out, b[at:]...), conflicts
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

// maxCompared bounds how many pairs of lines are compared, which takes eight
// bytes for each. The files of people are far below.
const maxCompared = 4 << 20

// hunks is the difference from base to other, by a longest common subsequence.
// For files that are too long it is one hunk, from the first to the last line
// that differs.
func hunks(base, other []string) []hunk {
	head := 0
	for head < min(len(base), len(other)) && base[head] == other[head] {
		head++
	}
	base, other = base[head:], other[head:]
	for len(base) > 0 && len(other) > 0 && base[len(base)-1] == other[len(other)-1] {
		base, other = base[:len(base)-1], other[:len(other)-1]
	}
	n, m := len(base), len(other)
	if n > 0 && m > maxCompared/n {
		return []hunk{{head, head + n, other}}
	}
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
		h := hunk{start: head + i}
		for (i < n || j < m) && !(i < n && j < m && base[i] == other[j]) {
			if j == m || i < n && common[i+1][j] >= common[i][j+1] {
				i++
			} else {
				h.text = append(h.text, other[j])
				j++
			}
		}
		h.end = head + i
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
// group inserts too. An insertion next to changed lines is its own change.
func (g group) meets(h hunk) bool {
	if h.start == h.end || g.start == g.end {
		samePlace := h.start == g.start && h.end == g.end
		inGroup, inHunk := g.start < h.start && h.start < g.end, h.start < g.start && g.start < h.end
		return samePlace || inGroup || inHunk
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
