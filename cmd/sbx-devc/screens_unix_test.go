//go:build unix

package main

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/test/golden"
)

// goldenScreens are whole screens of one test, as they have to look.
type goldenScreens struct {
	*golden.Case
	names *strings.Replacer // of this test's own folders
}

// openScreens reads testdata/screens/NAME.txtar. go test -run '^Test…$' -update rewrites it.
func openScreens(t *testing.T, name string, r *programRun) *goldenScreens {
	t.Helper()
	return &goldenScreens{golden.Open(t, "testdata/screens/"+name+".txtar"), strings.NewReplacer(r.state(), "STATE", r.Dir, "PROJECT")}
}

// volatile is what differs between two screens that are alike: Claude's logo, which moves,
// its hints that come and go, what a slow engine is waited for, times, sizes, versions and names made by chance.
var volatile = []struct {
	pattern *regexp.Regexp
	plain   string
}{
	{regexp.MustCompile(`(?m)^ *[▀-▟][▀-▟ ]* `), "LOGO "},
	{regexp.MustCompile(`(?m)^ .* /effort$`), ""},
	{regexp.MustCompile(`(?m)^sbx-devc: waiting for .*\n`), ""}, // on a machine that is busy
	{regexp.MustCompile(`(?m)^✻ \pL+ for .*$`), ""},
	{regexp.MustCompile(`(?m) · ← for agents$`), ""},
	{regexp.MustCompile(`v[0-9]+\.[0-9]+\.[0-9]+`), "vVERSION"},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "CONVERSATION"},
	{regexp.MustCompile(`[0-9]{8}-[0-9]{6}-[0-9a-f]{6}`), "RUN"},
	{regexp.MustCompile(`\b([0-9]+[hm])*[0-9.]+ ?(ms|s)\b`), "TIME"},
	{regexp.MustCompile(`[0-9]+ MiB of memory and [0-9]+ processes`), "N MiB of memory and N processes"},
	{regexp.MustCompile(`(?m) +$`), ""},
	{regexp.MustCompile(`\n+\z`), "\n"},
}

// shows waits until the whole screen is the golden one of that name.
func (tt *screen) shows(want *goldenScreens, name string) {
	tt.t.Helper()
	plain := func() string {
		shown := want.names.Replace(tt.run("capture-pane", "-p", "-J"))
		for _, v := range volatile {
			shown = v.pattern.ReplaceAllString(shown, v.plain)
		}
		return shown
	}
	shown, same := plain(), 0
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		before := shown
		if shown = plain(); shown == before {
			same++
		} else {
			same = 0
		}
		if golden.Updating() && same > 40 || !golden.Updating() && shown == string(want.Input(tt.t, name)) {
			break
		}
	}
	want.Compare(tt.t, name, shown)
}
