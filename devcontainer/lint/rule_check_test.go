package lint

import (
	"reflect"
	"testing"
)

// A rule is found by its id: its entry names the one check that looks for it, or
// what finds it while the files are read. No check is two rules'.
func TestEveryRuleHasItsCheck(t *testing.T) {
	owner := map[uintptr]string{}
	for _, r := range Rules() {
		if r.Check == nil {
			if r.FoundBy == "" {
				t.Errorf("nothing looks for %s", r.ID)
			}
			continue
		}
		at := reflect.ValueOf(r.Check).Pointer()
		if owner[at] != "" {
			t.Errorf("%s and %s have one check", owner[at], r.ID)
		}
		owner[at] = r.ID
	}
}
