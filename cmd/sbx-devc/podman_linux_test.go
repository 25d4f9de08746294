package main

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/org/claude-sandbox/internal/fakeapi"
	"github.com/org/claude-sandbox/internal/test/enginetest"
	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// On Podman a person's terminal is what it is on Docker: Claude Code's own interface, with the
// same screens, is left and joined again, suspended, resized and ended, and nothing stays.
func TestClaudeOnATerminalOfPodman(t *testing.T) {
	enginetest.Carried(t)
	claude, err := filepath.EvalSymlinks(testenv.Program(t, "claude"))
	if err != nil {
		t.Fatal(err)
	}
	enginetest.StartPodman(t, map[string]string{runplan.DefaultClaudePath: claude})
	s, r := onScreen(t, fakeapi.Script{Final: "It is made."},
		"--runtime podman --image "+enginetest.SmallImage+" --firewall-image "+enginetest.SmallImage+" -i 'begin with this'; echo code=$?")
	s.expect("It is made.")
	screens := openScreens(t, "detach", r)
	s.shows(screens, "before")
	s.press("C-p", "C-q")
	s.expect("code=0")
	if up := r.containers(t); len(up) != 2 {
		t.Errorf("containers of the run that goes on: %v", up)
	}
	s.press("clear; sbx attach", "Enter")
	s.shows(screens, "before")
	s.press("C-z")
	s.expect("Stopped")
	s.press("fg", "Enter")
	s.expect("bypass permissions on")
	s.run("resize-window", "-x", "70", "-y", "20")
	s.expect("It is made.")
	waitFor(t, func() bool { return lineOver(s.run("capture-pane", "-p")) == 70 })
	s.press("go on", "Enter")
	waitFor(t, func() bool { return strings.Count(s.run("capture-pane", "-p"), "It is made.") == 2 })
	s.pressTwice("C-c", "again to exit")
	s.expect("no file of the project changed")
	s.press("clear; [ \"$before\" = \"$(stty -g)\" ] && echo the terminal is as it was, code=$?", "Enter")
	s.expect("the terminal is as it was, code=0")
	waitFor(t, func() bool { return len(r.containers(t, "-a")) == 0 })
}

// lineOver is the width of the line that Claude Code draws over its field for prompts.
func lineOver(shown string) (width int) {
	for line := range strings.Lines(shown) {
		if line = strings.TrimSpace(line); strings.Trim(line, "─") == "" {
			width = max(width, utf8.RuneCountInString(line))
		}
	}
	return width
}
