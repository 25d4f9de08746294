//go:build unix

package main

import (
	"os"
	"strings"
	"testing"
)

// A current folder that was removed has no project. Each command says so.
func TestTheCurrentFolderWasRemoved(t *testing.T) {
	dir := t.TempDir() + "/gone"
	for _, args := range [][]string{
		{"effective"}, {"fix"}, {"validate"}, {"trust"}, {"drift"}, {"update"}, {"policy", "explain", "a.example"},
		{"init"}, {"apply"}, {"report"}, {"settings", "show"}, {"clean"},
	} {
		t.Run(args[0], func(t *testing.T) {
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			t.Chdir(dir)
			if err := os.Remove(dir); err != nil {
				t.Skip("this system keeps a current folder:", err)
			}
			code, _, said := call(t, args...)
			if code == exitOK || !strings.Contains(said, "error: the current folder was removed\n") || strings.Contains(said, "getwd") {
				t.Errorf("ends with %d: %s", code, said)
			}
		})
	}
}
