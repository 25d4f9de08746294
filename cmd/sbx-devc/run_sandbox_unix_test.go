//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// On a terminal a person decides: Enter cancels, the sandbox can be had after all, and only
// the third answer starts the claude of this machine, with the terminal.
func TestWithoutASandboxAsksOnATerminal(t *testing.T) {
	dir := t.TempDir()
	claude := "#!/bin/sh\n[ -t 0 ] && [ -t 1 ] && echo \"claude: $*, key $ANTHROPIC_API_KEY\"\nexit 5\n"
	for name, text := range map[string]string{"bin/claude": claude, "project/README": ""} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if os.Geteuid() == 0 { // the agent never is root
		if err := os.Chown(filepath.Join(dir, "project"), 1000, 1000); err != nil {
			t.Fatal(err)
		}
	}
	rc := filepath.Join(dir, "rc")
	text := fmt.Sprintf("PS1='host$ '\ncd %s\nexport PATH=%s:$PATH XDG_STATE_HOME=%s XDG_CONFIG_HOME=%[3]s ANTHROPIC_API_KEY=of-this-test "+
		"DOCKER_HOST=unix:///no-engine.sock\nsbx() { clear; echo case $1; shift; %s run \"$@\"; echo code=$?; }\n",
		filepath.Join(dir, "project"), filepath.Join(dir, "bin"), filepath.Join(dir, "state"), builtProgram(t))
	if err := os.WriteFile(rc, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newTerminal(t, 130, 30, "bash --rcfile "+rc+" -i")
	s.expect("host$")
	for i, answer := range []struct{ args, keys, want, not string }{
		{"--no-sandbox", "", "code=77", "claude: "},
		{"--no-sandbox", "1", "code=77", "claude: "},
		{"--no-sandbox", "2", "code=69", "claude: "},           // it asks for the engine
		{"--no-sandbox \"do it\"", "2", "code=69", "claude: "}, // headless, in one process
		{"--no-sandbox", "3", "claude: --dangerously-skip-permissions, key of-this-test", "code=77"},
		{"--no-sandbox --accept-risks", "-", "claude: --dangerously-skip-permissions, key of-this-test", "a number"},
	} {
		s.press(fmt.Sprintf("sbx %d %s", i, answer.args), "Enter")
		s.expect(fmt.Sprintf("case %d", i))
		if answer.keys != "-" {
			s.expect("or Enter for cancel: ")
			if answer.keys != "" {
				s.press(answer.keys)
			}
			s.press("Enter")
		}
		shown := s.expect("code=")
		if !strings.Contains(shown, answer.want) || strings.Contains(shown, answer.not) || !strings.Contains(shown, "WITHOUT A SANDBOX") {
			t.Errorf("%q, answered with %q:\n%s", answer.args, answer.keys, shown)
		}
	}
}
