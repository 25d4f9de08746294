package devcontainer

import (
	"reflect"
	"slices"
	"testing"
)

// together are rules that one walk reports, by the first of them: what it sees
// decides which of them it is. The others are reported while a file is read
// (package jsonc, comments that suppress, files that cannot be read) or are about
// files of their own (Features, Templates).
var together = map[string][]string{
	"SBX201": {"SBX202", "SBX203", "SBX204", "SBX205", "SBX206", "SBX207", "SBX208", "SBX210", "SBX211", "SBX212", "SBX301", "SBX303"},
	"SBX801": {"SBX802", "SBX803", "SBX804", "SBX805", "SBX806", "SBX807", "SBX812", "SBX816", "SBX822"},
	"":       {"SBX101", "SBX103", "SBX104", "SBX105", "SBX106", "SBX107", "SBX108", "SBX109", "SBX903", "SBX904", "SBX905", "SBX906", "SBX907", "SBX908", "SBX909", "SBX910", "SBX911", "SBX912"},
}

// A rule is found by its id: its entry names the one check that looks for it,
// and no check is two rules'.
func TestEveryRuleHasItsCheck(t *testing.T) {
	owner := map[uintptr]string{}
	for _, r := range Rules() {
		walked := ""
		for first, others := range together {
			if slices.Contains(others, r.ID) {
				walked = "with " + first
			}
		}
		switch {
		case r.check != nil && r.walk != nil:
			t.Errorf("%s has a check and a walk", r.ID)
		case (r.check != nil || r.walk != nil) == (walked != ""):
			t.Errorf("%s: has a check of its own: %v; listed as one of a walk: %v", r.ID, walked == "", walked != "")
		}
		if r.check == nil {
			continue
		}
		at := reflect.ValueOf(r.check).Pointer()
		if owner[at] != "" {
			t.Errorf("%s and %s have one check", owner[at], r.ID)
		}
		owner[at] = r.ID
	}
}
