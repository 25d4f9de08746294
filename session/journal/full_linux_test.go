package journal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A disk that is full in the middle of a run is told once, and the other file goes on.
func TestAFullDiskIsToldOnce(t *testing.T) {
	project, outside := folders(t)
	var told []string
	j := open(t, Options{File: filepath.Join(outside, "log"), Project: project, Warn: func(line string) { told = append(told, line) }})
	j.Keep(outside)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	// The file's own place is the device's, so that the journal does not open it again.
	_ = j.file.f.Close()
	_ = j.file.root.Close()
	if j.file.root, err = os.OpenRoot("/dev"); err != nil {
		t.Fatal(err)
	}
	j.file.f, j.file.name = full, "full"
	for range 3 {
		j.Logger().Info("x", "what", "tool")
	}
	if len(told) != 1 || !strings.Contains(told[0], "no space left") {
		t.Errorf("told %q", told)
	}
	if got := len(records(t, filepath.Join(outside, DebugFile))); got != 3 {
		t.Errorf("%d records of 3", got)
	}
	// A folder that takes no file is told as well.
	k := open(t, Options{Warn: func(line string) { told = append(told, line) }})
	k.Keep(filepath.Join(outside, "none"))
	k.Logger().Info("x", "what", "tool")
	if len(told) != 2 {
		t.Errorf("told %q", told)
	}
}
