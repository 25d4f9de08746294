package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/test/enginetest"
	"github.com/org/claude-sandbox/sandbox"
)

func TestOldRunsThatMayGo(t *testing.T) {
	const day = 24 * time.Hour
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
		"as many as are kept": {runs(keptRuns, keptRun{age: day}), 0},
		"more":                {runs(keptRuns+7, keptRun{age: day}), 7},
		"more, but young":     {runs(keptRuns+7, keptRun{age: time.Minute}), 0},
		"too large":           {runs(5, keptRun{age: day, bytes: 1 << 30}), 3},
		"with commits":        {runs(keptRuns+7, keptRun{age: 29 * day, commits: true}), 0},
		"with old commits":    {runs(keptRuns+7, keptRun{age: 31 * day, commits: true}), 7},
	} {
		gone := surplus(c.runs)
		if len(gone) != c.want {
			t.Errorf("%s: %d go, want %d", name, len(gone), c.want)
		}
		if len(gone) > 0 && gone[len(gone)-1].id != "0" {
			t.Errorf("%s: the oldest stays", name)
		}
	}
}

// A run that has containers is never removed, and what is no run stays.
func TestARunThatLivesIsNotRemoved(t *testing.T) {
	e := enginetest.Connect(t)
	var stderr bytes.Buffer
	state := t.TempDir()
	a := &app{stderr: &stderr, getenv: func(name string) string {
		if name == "XDG_STATE_HOME" {
			return state
		}
		return ""
	}}
	home := a.runsHome()
	make := func(name string) {
		if err := os.MkdirAll(filepath.Join(home, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, name, sandbox.AuditFile), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	make("something else")
	for i := range keptRuns + 3 {
		make(fmt.Sprintf("20250102-1504%02d-ab12cd", i))
	}
	alive := "20250102-150401-ab12cd"
	id, err := e.Create(t.Context(), engine.Spec{Image: "debian:bookworm-slim", Entrypoint: []string{"true"}, Labels: map[string]string{sandbox.LabelRun: alive}, Network: "none"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Remove(t.Context(), id); err != nil {
			t.Error(err)
		}
	}()
	a.pruneRuns(t.Context(), e, time.Now())
	var left []string
	for _, r := range listRuns(home, time.Now()) {
		left = append(left, r.id)
	}
	if len(left) != keptRuns+1 || !slices.Contains(left, alive) || slices.Contains(left, "20250102-150400-ab12cd") || slices.Contains(left, "20250102-150402-ab12cd") {
		t.Errorf("%d are left: %q", len(left), left[:4])
	}
	if !exists(filepath.Join(home, "something else")) {
		t.Error("what is no run was removed")
	}
	if got := stderr.String(); got != fmt.Sprintf("sbx-devc: removed 2 old run(s) from %s\n", home) {
		t.Errorf("said: %q", got)
	}
}
