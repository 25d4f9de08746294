package merge

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// The template's lines in a Dockerfile stand between these two comments; the
// rest is the user's.
var (
	begin = regexp.MustCompile(`^# sbx:begin ([a-z0-9-]+)\n?$`)
	end   = regexp.MustCompile(`^# sbx:end ([a-z0-9-]+)\n?$`)
)

// Dockerfile merges Dockerfiles region by region: what the user wrote outside
// of them is not looked at, and inside lines are merged as by Text. Where the
// versions do not have the same regions all lines are merged; note says so when
// the user's markers are the reason. With conflicts the merged text is mine, unless prefer decides them.
func Dockerfile(base, template, mine []byte, prefer Side) (merged []byte, conflicts []Conflict, note string) {
	if merged, conflicts, done := whole(base, template, mine, prefer); done {
		return merged, conflicts, ""
	}
	b, badBase := split(lines(base))
	t, badTemplate := split(lines(template))
	m, bad := split(lines(mine))
	if badBase == "" && len(names(b)) > 0 {
		if bad == "" && !slices.Equal(names(m), names(b)) {
			bad = "its regions are not those that the template wrote"
		}
		if bad != "" {
			note = bad + "; its lines are merged without them"
		}
	}
	wellFormed := badBase == "" && badTemplate == "" && bad == ""
	if !wellFormed || !canMergeRegions(b, t) {
		merged, conflicts = Text(base, template, mine, prefer)
		return merged, conflicts, note
	}
	out, conflicts := mergeRegions(b, t, m, prefer)
	merged, conflicts = finish(out, mine, conflicts)
	return merged, conflicts, ""
}

// part is a region with its markers or, without a name, what stands between two.
type part struct {
	name  string
	lines []string
}

// split takes a file apart, or says what is wrong with its markers.
func split(all []string) (parts []part, bad string) {
	var now part
	seen := map[string]bool{}
	for i, line := range all {
		opens, closes := begin.FindStringSubmatch(line), end.FindStringSubmatch(line)
		switch {
		case opens != nil && now.name != "":
			return nil, fmt.Sprintf("line %d begins the region %s, and %s has no end before it", i+1, opens[1], now.name)
		case opens != nil && seen[opens[1]]:
			return nil, fmt.Sprintf("line %d begins the region %s a second time", i+1, opens[1])
		case closes != nil && now.name != closes[1]:
			return nil, fmt.Sprintf("line %d ends the region %s, which is not open", i+1, closes[1])
		case opens != nil:
			if len(now.lines) > 0 {
				parts = append(parts, now)
			}
			now = part{opens[1], []string{line}}
			seen[opens[1]] = true
		case closes != nil:
			parts = append(parts, part{now.name, append(now.lines, line)})
			now = part{}
		default:
			now.lines = append(now.lines, line)
		}
	}
	if now.name != "" {
		return nil, fmt.Sprintf("the region %s has no end", now.name)
	}
	if len(now.lines) > 0 {
		parts = append(parts, now)
	}
	return parts, ""
}

func names(parts []part) []string {
	var out []string
	for _, p := range parts {
		if p.name != "" {
			out = append(out, p.name)
		}
	}
	return out
}

func blankOutside(parts []part) bool {
	return !slices.ContainsFunc(parts, func(p part) bool {
		return p.name == "" && strings.TrimSpace(strings.Join(p.lines, "")) != ""
	})
}

// canMergeRegions reports whether the template's two versions have regions, nothing outside
// of them, and those that both have in one order.
func canMergeRegions(b, t []part) bool {
	return len(names(b)) > 0 && blankOutside(b) && blankOutside(t) && sameOrder(b, t)
}

// sameOrder reports whether the regions that both have stand in one order.
func sameOrder(b, t []part) bool {
	common := func(of, in []part) []string {
		return slices.DeleteFunc(names(of), func(n string) bool { return find(in, n) < 0 })
	}
	return slices.Equal(common(b, t), common(t, b))
}

func find(parts []part, name string) int {
	return slices.IndexFunc(parts, func(p part) bool { return p.name == name })
}

// mergeRegions merges files of which the user's has the regions of base.
func mergeRegions(b, t, m []part, prefer Side) (out []string, conflicts []Conflict) {
	result := []part{}
	at := 1 // line of the user's file
	for _, p := range m {
		first := at
		at += len(p.lines)
		if p.name == "" {
			result = append(result, p)
			continue
		}
		old, now := b[find(b, p.name)].lines, []string(nil)
		if i := find(t, p.name); i >= 0 {
			now = t[i].lines
		}
		merged, found := mergeLines(old, now, p.lines, first, prefer)
		conflicts = append(conflicts, found...)
		if len(merged) > 0 {
			result = append(result, part{p.name, merged})
		} else if n := len(result); n > 0 && result[n-1].name == "" {
			// The region is gone; the empty line above it goes with it.
			result[n-1].lines = withoutBlankEnd(result[n-1].lines)
		}
	}
	last := "" // region of the template before the present one
	for _, p := range t {
		if p.name == "" {
			continue
		}
		if find(b, p.name) < 0 {
			if i := find(result, last); i >= 0 && last != "" {
				result = slices.Insert(result, i+1, part{lines: []string{"\n"}}, p)
			} else {
				i := slices.IndexFunc(result, func(p part) bool { return p.name != "" })
				result = slices.Insert(result, max(i, 0), p, part{lines: []string{"\n"}})
			}
		}
		last = p.name
	}
	for _, p := range result {
		if n := len(out); n > 0 && !strings.HasSuffix(out[n-1], "\n") {
			out[n-1] += "\n"
		}
		out = append(out, p.lines...)
	}
	return out, conflicts
}

func withoutBlankEnd(lines []string) []string {
	if n := len(lines); n > 0 && strings.TrimSpace(lines[n-1]) == "" {
		return lines[:n-1]
	}
	return lines
}
