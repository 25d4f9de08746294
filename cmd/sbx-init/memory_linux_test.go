package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/firewall/operation"
	"github.com/org/claude-sandbox/initproc/tamper"
)

// Attack: the agent says which refs are its own, in a file that it can write.
func TestAttackMemoryThatTheAgentWrote(t *testing.T) {
	const theirs = `{"git.test/acme/app refs/heads/main": "1111111111111111111111111111111111111111"}`
	for name, tt := range map[string]struct {
		text    string
		mode    os.FileMode
		owner   int
		trusted bool
	}{
		"root's":      {theirs, 0o644, os.Getuid(), true},
		"the agent's": {theirs, 0o644, agentUID, false},
		"anybody's":   {theirs, 0o666, os.Getuid(), false},
		"not whole":   {theirs[:20], 0o644, os.Getuid(), false},
		"null":        {"null", 0o644, os.Getuid(), false},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := os.MkdirTemp("/", "sbx-memory-") // no folder of others above it, as where the log is
			if err != nil {
				t.Skip(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			path := filepath.Join(dir, pushedRefs)
			for _, err := range []error{os.Chmod(dir, 0o755), os.WriteFile(path, []byte(tt.text), 0o600), os.Chmod(path, tt.mode),
				os.Chown(path, tt.owner, -1)} {
				if err != nil {
					t.Skip(err)
				}
			}
			pushed, err := readPushed(path, tamper.Who{UID: agentUID})
			if got := len(pushed) > 0; got != tt.trusted || err == nil != tt.trusted {
				t.Errorf("%v, %v", pushed, err)
			}
		})
	}
}

func TestMemoryIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), pushedRefs)
	p := &program{stdout: io.Discard, stderr: io.Discard}
	if pushed, err := readPushed(path, tamper.Who{UID: agentUID}); err != nil || len(pushed) > 0 {
		t.Errorf("%v, %v", pushed, err)
	}
	p.keepPushed(path)(operation.Pushed{"git.test/acme/app refs/heads/a": "1"})
	if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), "refs/heads/a") {
		t.Errorf("%s, %v", text, err)
	}
}
