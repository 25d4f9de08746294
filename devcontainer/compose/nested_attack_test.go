package compose_test

import (
	"strings"
	"testing"
)

// TestAttackNestedVariablesKeepTheReaderBusy: the end of each is looked for in
// all that stands behind it.
func TestAttackNestedVariablesKeepTheReaderBusy(t *testing.T) {
	nested := func(levels int) string {
		return load("a.yml", "services: {s: {image: '"+strings.Repeat("${A:-", levels)+"i"+strings.Repeat("}", levels)+"'}}").
			Service("s").Get("image").String()
	}
	if got := nested(20); got != "i" {
		t.Errorf("20 defaults come to %q", got)
	}
	if got := nested(2000); !strings.HasPrefix(got, "${A:-") {
		t.Errorf("2000 defaults come to %.20q, and 100000 of them take minutes", got)
	}
}
