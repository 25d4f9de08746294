package merge_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/templates/merge"
)

// TestAttackLongFilesFillTheMemory: a repository's lock and Dockerfile may have
// any number of lines, and comparing them all would take 800 MB here.
func TestAttackLongFilesFillTheMemory(t *testing.T) {
	var base, mine strings.Builder
	base.WriteString("FROM a\n")
	mine.WriteString("FROM a\n")
	for i := range 10000 {
		fmt.Fprintf(&base, "# a%d\n", i)
		fmt.Fprintf(&mine, "# b%d\n", i)
	}
	template := "FROM c\n" + strings.TrimPrefix(base.String(), "FROM a\n")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	merged, conflicts := merge.Text([]byte(base.String()), []byte(template), []byte(mine.String()), merge.Neither)
	runtime.ReadMemStats(&after)
	if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 200 {
		t.Errorf("merging took %d MB", used)
	}
	if want := "FROM c\n" + strings.TrimPrefix(mine.String(), "FROM a\n"); len(conflicts) > 0 || string(merged) != want {
		t.Errorf("%d conflicts, and not both sides' changes", len(conflicts))
	}
}
