package action

import (
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// What GitHub's runner would do with what we write. Both readers are a little
// more willing than the real one: an attack that works there works here.

// commandsIn returns the workflow commands that the runner would execute.
func commandsIn(log string) []string {
	var found []string
	for line := range strings.FieldsFuncSeq(log, func(r rune) bool { return r == '\n' || r == '\r' }) {
		visible := strings.Map(func(r rune) rune {
			if unicode.In(r, unicode.Cf, unicode.Cc, unicode.Mn) { // a culture's comparison skips them
				return -1
			}
			return r
		}, line)
		visible = strings.TrimLeftFunc(visible, unicode.IsSpace)
		if strings.HasPrefix(visible, "::") || strings.Contains(visible, "##[") {
			found = append(found, line)
		}
	}
	return found
}

var heredoc = regexp.MustCompile(`^([^=<]+)<<(.+)$`)

// readOutputs reads a $GITHUB_OUTPUT file; a later value of a name wins.
func readOutputs(t *testing.T, file string) map[string]string {
	t.Helper()
	values := map[string]string{}
	all := strings.Split(strings.TrimSuffix(file, "\n"), "\n")
	for i := 0; i < len(all); i++ {
		m := heredoc.FindStringSubmatch(all[i])
		if m == nil {
			if name, value, ok := strings.Cut(all[i], "="); ok {
				values[name] = value
				continue
			}
			t.Fatalf("the runner would refuse this line of the outputs: %q", all[i])
		}
		var value []string
		for i++; i < len(all) && all[i] != m[2]; i++ {
			value = append(value, all[i])
		}
		if i == len(all) {
			t.Fatalf("the value of %s does not end", m[1])
		}
		values[m[1]] = strings.Join(value, "\n")
	}
	return values
}
