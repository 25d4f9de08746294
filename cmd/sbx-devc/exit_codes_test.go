package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/exitcode"
)

// codeTests are tests whose programs, or runs on an engine, end with a code that no script of
// testdata ends with.
var codeTests = map[int][2]string{
	exitcode.Internal:    {"../../sandbox/attack_test.go", "TestADeadFirewallOpensNothing"},
	exitcode.Unprotected: {"../../sandbox/replaced_unix_test.go", "TestAttackWriteWhatTheHostReplacesDuringARun"},
	exitcode.DiskFull:    {"../../sandbox/run_test.go", "TestTheAgentCannotFillTheDisk"},
	exitcode.Locked:      {"profile_unix_test.go", "TestAProfileAndACopySurviveAKill"},
	exitcode.Timeout:     {"outlive_unix_test.go", "TestAttackTheSupervisorIsStoppedBeyondTheDeadline"},
	exitcode.NoStart:     {"../../sandbox/run_test.go", "TestFailuresBeforeTheAgent"},
	exitcode.Signal:      {"run_unix_test.go", "TestRunIsInterruptedWhileItsImageComes"},
}

// Every exit code of docs/cli.md is one of ours and the other way round, and a test ends with it.
func TestEveryDocumentedExitCodeIsTested(t *testing.T) {
	page, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[int]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\| ([0-9]+)(\+n)? \|`).FindAllStringSubmatch(string(page), -1) {
		code, _ := strconv.Atoi(row[1])
		documented[code] = true
	}
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	ended := map[int]bool{}
	for _, name := range scripts {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range regexp.MustCompile(`(?m)^code ([0-9]+) `).FindAllStringSubmatch(string(text), -1) {
			code, _ := strconv.Atoi(line[1])
			ended[code] = true
		}
	}
	for _, code := range []int{
		exitcode.OK, exitcode.Failed, exitcode.CheckUsage, exitcode.NoCheck, exitcode.Usage, exitcode.Config, exitcode.NoInput,
		exitcode.Unavailable, exitcode.Internal, exitcode.Unprotected, exitcode.CantWrite, exitcode.DiskFull, exitcode.Locked,
		exitcode.Refused, exitcode.NoSecret, exitcode.Timeout, exitcode.NoStart, exitcode.Signal,
	} {
		if !documented[code] {
			t.Errorf("docs/cli.md lacks %d", code)
		}
		delete(documented, code)
		at := codeTests[code]
		if text, err := os.ReadFile(at[0]); !ended[code] && (err != nil || !strings.Contains(string(text), "func "+at[1]+"(")) {
			t.Errorf("no test ends with %d", code)
		}
	}
	for code := range documented {
		t.Errorf("docs/cli.md has %d, with which nothing ends", code)
	}
}
