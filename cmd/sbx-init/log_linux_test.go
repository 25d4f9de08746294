package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const deniedLine = `{"ts":"2026-01-02T03:04:05Z","verdict":"deny","layer":"dns","name":"evil.test","reason":"no ` +
	`allowlist entry matches evil.test"}`

func TestLogIsFollowedOverRotationByTheAgent(t *testing.T) {
	bin := filepath.Join(binaries(t), "sbx-init")
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "audit.jsonl")
	add := func(path, text string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	record := func(name string) string { return strings.ReplaceAll(deniedLine, "evil", name) + "\n" }
	add(path+".1", record("zero"))
	add(path, record("one"))
	cmd := asAgent(exec.Command(bin, "log", "-f", "--audit", path))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewReader(out)
	expect := func(name string) {
		t.Helper()
		line, err := lines.ReadString('\n')
		if err != nil || !strings.Contains(line, " "+name+".test: ") {
			t.Fatalf("%q (%v), want %s", line, err, name)
		}
	}
	expect("zero")
	expect("one")
	two := record("two")
	add(path, two[:20])
	add(path, two[20:])
	expect("two")
	// As the log rotates: renamed, one more line, then a new file.
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	add(path+".1", record("three"))
	add(path, record("four"))
	expect("three")
	expect("four")
}
