package changes

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/session/decision"
	"github.com/org/claude-sandbox/session/runs"
)

// Very many files take some seconds to be taken: people hear of it before.
func TestPeopleHearOfALongSettling(t *testing.T) {
	for n, want := range map[int]bool{3: false, 10_000: true} {
		decided := decision.Taken{}
		for i := range n {
			decided[fmt.Sprint(i)] = true
		}
		var people bytes.Buffer
		run := &decision.Run{Work: runs.Work{Run: "r", Project: "/p", Gone: true}} // so nothing is written
		if err := settle(&cli.App{Stderr: &people}, run, decided); err == nil {
			t.Error("a copy that is gone is taken")
		}
		if got := strings.Contains(people.String(), fmt.Sprintf("settling %d changes in /p", n)); got != want {
			t.Errorf("%d changes: said %q", n, people.String())
		}
	}
}
