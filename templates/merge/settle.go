package merge

import (
	"regexp"
	"slices"
	"strings"
)

// settle decides about lines that both sides changed where one answer is right
// for everybody, and otherwise by prefer.
func settle(base, template, mine []string, prefer Side) (out []string, ok bool) {
	for _, rule := range []func(base, template, mine []string) ([]string, bool){pinned, packages} {
		if out, ok := rule(base, template, mine); ok {
			return out, true
		}
	}
	switch prefer {
	case Mine:
		return mine, true
	case Template:
		return template, true
	}
	return nil, false
}

// pinned: both sides changed versions and digests and nothing else, and no
// version of the user's is older than the template's. That is what bots do that
// keep the pins up to date; the template has nothing to add.
func pinned(base, template, mine []string) ([]string, bool) {
	b, _ := pins(base)
	t, theirs := pins(template)
	m, ours := pins(mine)
	if len(ours) == 0 || !slices.Equal(b, t) || !slices.Equal(t, m) || len(theirs) != len(ours) {
		return nil, false
	}
	for i := range ours {
		if older(ours[i], theirs[i]) {
			return nil, false
		}
	}
	return mine, true
}

var (
	pinLine = regexp.MustCompile(`^\s*(FROM |COPY --from=|image: |(- )?uses: |ARG \w+_(VERSION|INTEGRITY)\w*=|# \S+@)`)
	// digest is what a bot puts behind a name: the image's, or the commit's with
	// the version in a comment.
	digest    = regexp.MustCompile(`@sha256:[0-9a-f]{64}|[0-9a-f]{40} # `)
	integrity = regexp.MustCompile(`sha512-[A-Za-z0-9+/]{86}==`)
	version   = regexp.MustCompile(`([:@=]v?)(\d+(?:\.\d+)*)`)
)

// pins takes versions and digests out of the lines that may hold some.
func pins(lines []string) (rest, versions []string) {
	for _, line := range lines {
		if pinLine.MatchString(line) {
			line = integrity.ReplaceAllString(digest.ReplaceAllString(line, ""), "sha512")
			for _, m := range version.FindAllStringSubmatch(line, -1) {
				versions = append(versions, m[2])
			}
			line = version.ReplaceAllString(line, "${1}0")
		}
		rest = append(rest, line)
	}
	return rest, versions
}

// older compares dotted numbers. A shorter one, as "22", is any of its kind.
func older(a, b string) bool {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(as), len(bs)) {
		x, y := strings.TrimLeft(as[i], "0"), strings.TrimLeft(bs[i], "0")
		if x != y {
			return len(x) < len(y) || len(x) == len(y) && x < y
		}
	}
	return false
}

var packageList = regexp.MustCompile(`^(ARG (?:PACKAGES="|EXTRA_PACKAGES=))([^"\\$]*?)("?\n?)$`)

// packages: a list of packages to install is a set, written with blanks or, as
// an option's value, with commas.
func packages(base, template, mine []string) ([]string, bool) {
	var sets [3][]string
	var m []string
	for i, lines := range [][]string{base, template, mine} {
		if len(lines) != 1 {
			return nil, false
		}
		if m = packageList.FindStringSubmatch(lines[0]); m == nil {
			return nil, false
		}
		sets[i] = strings.FieldsFunc(m[2], func(r rune) bool { return r == ' ' || r == ',' })
	}
	old, theirs, out := sets[0], sets[1], sets[2]
	out = slices.DeleteFunc(out, func(p string) bool { return slices.Contains(old, p) && !slices.Contains(theirs, p) })
	for _, p := range theirs {
		if !slices.Contains(old, p) && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	separator := " "
	if strings.HasSuffix(m[1], "=") {
		separator = ","
	}
	return []string{m[1] + strings.Join(out, separator) + m[3]}, true
}

var argument = regexp.MustCompile(`^ARG \w+=`)

// parts splits lines that both sides changed where each is an argument of its
// own, so that a conflict of one is none of its neighbours'. Versions and their
// checksums stay together.
func parts(base, template, mine []string) [][3][]string {
	whole := [][3][]string{{base, template, mine}}
	if len(template) != len(base) || len(mine) != len(base) {
		return whole
	}
	var out [][3][]string
	for i, line := range base {
		name := argument.FindString(line)
		if name == "" || pinLine.MatchString(line) || !strings.HasPrefix(template[i], name) || !strings.HasPrefix(mine[i], name) {
			return whole
		}
		out = append(out, [3][]string{base[i : i+1], template[i : i+1], mine[i : i+1]})
	}
	return out
}
