package runplan

import (
	"strings"
	"testing"
)

// Each uid and gid has one name, whatever the project's owner is.
func TestAccountsNameEachIDOnce(t *testing.T) {
	for _, ids := range [][2]int{{1000, 1000}, {1001, 1001}, {1234, 5}, {65534, 65534}, {1000, 0}} {
		for i, file := range AccountFiles() {
			text := AccountText(file, ids[0], ids[1])
			seen := map[string]bool{}
			for line := range strings.Lines(text) {
				fields := strings.Split(strings.TrimSpace(line), ":")
				if want := []int{7, 4}[i]; len(fields) != want || seen[fields[0]] || seen[fields[2]] {
					t.Errorf("%v: %s has the line %q", ids, file, line)
				}
				seen[fields[0]], seen[fields[2]] = true, true
			}
			if !strings.HasPrefix(text, "agent:x:") || !strings.Contains(text, "root:x:0:") && ids[i] != 0 {
				t.Errorf("%v: %s is\n%s", ids, file, text)
			}
		}
	}
}
