package runs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/test/enginetest"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

func TestOldRunsThatMayGo(t *testing.T) {
	const day = 24 * time.Hour
	keep := Keep{Runs: 50, Days: 100}
	runs := func(n int, each keptRun) (all []keptRun) {
		for i := range n {
			each.id = fmt.Sprint(i)
			all = append(all, each)
		}
		return all
	}
	for name, c := range map[string]struct {
		runs []keptRun
		want int
	}{
		"as many as are kept": {runs(keep.Runs, keptRun{age: day}), 0},
		"more":                {runs(keep.Runs+7, keptRun{age: day}), 7},
		"more, but young":     {runs(keep.Runs+7, keptRun{age: time.Minute}), 0},
		"too large":           {runs(5, keptRun{age: day, bytes: 1 << 30}), 3},
		"too old":             {append(runs(5, keptRun{age: 99 * day}), keptRun{id: "5", age: 101 * day}), 1},
		"with commits":        {runs(keep.Runs+7, keptRun{age: 29 * day, commits: true}), 0},
		"with a copy":         {runs(keep.Runs+7, keptRun{age: 400 * day, tree: true}), 0},
		"with old commits":    {runs(keep.Runs+7, keptRun{age: 31 * day, commits: true}), 7},
	} {
		gone := surplus(c.runs, keep)
		if len(gone) != c.want {
			t.Errorf("%s: %d go, want %d", name, len(gone), c.want)
		}
		if len(gone) > 0 && gone[len(gone)-1].id != fmt.Sprint(len(c.runs)-1) {
			t.Errorf("%s: the oldest stays", name)
		}
	}
}

// A run that has containers is never removed, and what is no run stays.
func TestARunThatLivesIsNotRemoved(t *testing.T) {
	e := enginetest.Connect(t)
	keep := Keep{Runs: 50, Days: 100_000}
	var said []string
	state := t.TempDir()
	h := HomeOf(func(name string) string { return map[string]string{"XDG_STATE_HOME": state}[name] },
		func(line string) { said = append(said, line) })
	home := h.Dir()
	make := func(name string) {
		if err := os.MkdirAll(filepath.Join(home, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, name, sandbox.AuditFile), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	make("something else")
	for i := range keep.Runs + 3 {
		make(fmt.Sprintf("20250102-1504%02d-ab12cd", i))
	}
	alive := "20250102-150401-ab12cd"
	id, err := e.Create(t.Context(), engine.Spec{
		Image: "debian:bookworm-slim", Labels: map[string]string{runplan.LabelRun: alive},
		Process: engine.Process{Entrypoint: []string{"true"}}, Link: engine.Link{Network: "none"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Remove(t.Context(), id); err != nil {
			t.Error(err)
		}
	}()
	h.Prune(t.Context(), e, time.Now(), keep)
	var left []string
	for _, r := range h.list(time.Now()) {
		left = append(left, r.id)
	}
	if len(left) != keep.Runs+1 || !slices.Contains(left, alive) || slices.Contains(left, "20250102-150400-ab12cd") ||
		slices.Contains(left, "20250102-150402-ab12cd") {
		t.Errorf("%d are left: %q", len(left), left[:4])
	}
	if !exists(filepath.Join(home, "something else")) {
		t.Error("what is no run was removed")
	}
	if want := "removed 2 old run(s) from " + home; !slices.Equal(said, []string{want}) {
		t.Errorf("said %q, want %q", said, want)
	}
}
