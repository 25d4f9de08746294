package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/test/enginetest"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// builtProgram returns what scripts/build made. The running test binary is no
// substitute: started with a command's name it would run the tests again.
func builtProgram(t testing.TB) string {
	t.Helper()
	program, err := filepath.Abs("../../bin/sbx-devc")
	if err == nil {
		_, err = os.Stat(program)
	}
	if err != nil {
		testenv.Missing(t, "bin/sbx-devc (run scripts/build)", err.Error())
	}
	return program
}

// The demo is the main job from start to end on real parts: git, the engine,
// the image of the template, Claude Code itself. Only the model is scripted.
func TestDemo(t *testing.T) {
	enginetest.Connect(t)
	enginetest.Carried(t)
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for _, name := range []string{"ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"} {
		t.Setenv(name, "") // never spend anybody's money
	}
	var out, people bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &people, getenv: os.Getenv, self: builtProgram(t)}
	if code := a.main(t.Context(), []string{"demo"}); code != exitOK {
		t.Fatalf("the demo ended with %d\n%s\n%s", code, out.String(), people.String())
	}
	for _, want := range []string{
		"SCRIPTED",
		"Hello from docs.sandbox-demo.test",
		"Could not resolve host: exfil.sandbox-demo.test",
		"Failed to connect to 192.0.2.1",
		"docs.sandbox-demo.test   1 request(s)",
		"exfil.sandbox-demo.test  0 request(s)",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the demo does not print %q:\n%s", want, out.String())
		}
	}
	for _, entry := range []string{"exfil.sandbox-demo.test", "192.0.2.1:80"} {
		if report := people.String(); !strings.Contains(report, "(for one run: --allow "+entry+")\n") {
			t.Errorf("the egress report does not offer %s:\n%s", entry, report)
		}
	}
}
