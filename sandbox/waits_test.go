package sandbox

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// A step that takes longer than the person's patience is named once, and no other.
func TestALongStepIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said []string
		w := &waits{say: func(line string) { said = append(said, line) }, patience: patience}
		w.on("the engine")
		time.Sleep(patience - time.Millisecond)
		w.on("the copy of the project")
		time.Sleep(10 * patience)
		w.on("the agent")
		w.on("")
		time.Sleep(10 * patience)
		synctest.Wait()
		if want := []string{"waiting for the copy of the project"}; !slices.Equal(said, want) {
			t.Errorf("it says %q, want %q", said, want)
		}
	})
}
