package history

import (
	"strings"
	"testing"

	"github.com/org/claude-sandbox/session/runs"
)

// On a narrow screen prompts get shorter, and nothing else.
func TestAListFitsTheScreen(t *testing.T) {
	list := []runs.Run{{ID: "20260102-030405-abcdef", Prompt: strings.Repeat("ä", 80), Model: "claude-opus"},
		{ID: "20260102-030405-000000", Prompt: "short"}}
	for columns, want := range map[int]int{0: maxInList, 200: maxInList, 100: 27, 20: leastPrompt} {
		rows := table(list, false)
		fit(rows, columns)
		if got := []rune(rows[1][2]); len(got) != want || string(got[want-1:]) != "…" || rows[2][2] != "short" || rows[1][0] != list[0].ID {
			t.Errorf("%d columns: %q", columns, rows)
		}
	}
}
