package main

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
)

// The README's session is what a user would see: each command is run in a new
// folder, and its output must be what the README prints.
func TestReadmeSession(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	session := regexp.MustCompile("(?s)```console\n(.*?)```").FindSubmatch(readme)
	if session == nil {
		t.Fatal("README.md has no console session")
	}
	t.Chdir(t.TempDir())
	if err := os.MkdirAll(".git/hooks", 0o755); err != nil { // a repository, as far as init looks
		t.Fatal(err)
	}
	if err := os.WriteFile(".git/config", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	commands := 0
	for _, step := range strings.Split(string(session[1]), "$ ")[1:] {
		line, want, _ := strings.Cut(step, "\n")
		args, ok := strings.CutPrefix(line, "sbx-devc ")
		if !ok {
			t.Fatalf("the session types %q, and this test runs sbx-devc only", line)
		}
		var got bytes.Buffer // both streams, as on a terminal
		a := &app{stdin: strings.NewReader(""), stdout: &got, stderr: &got, getenv: func(string) string { return "" }}
		a.main(context.Background(), strings.Fields(args))
		if got.String() != want {
			t.Errorf("$ %s prints\n%s\nREADME.md says\n%s", line, got.String(), want)
		}
		commands++
	}
	if commands < 3 {
		t.Errorf("the session has %d commands", commands)
	}
}

// Every command that the README shows anywhere exists, with the flags it shows.
func TestReadmeCommandsExist(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	a := &app{stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}, getenv: func(string) string { return "" }}
	root := a.root()
	found := 0
	for _, m := range regexp.MustCompile("sbx-devc ([a-z]+(?: [a-z]+)?)((?: +[^ \n#|`]+)*)").FindAllStringSubmatch(string(readme), -1) {
		cmd, rest, err := root.Find(strings.Fields(m[1]))
		if err != nil || cmd == root {
			t.Errorf("README.md shows %q, which is no command", strings.TrimSpace(m[0]))
			continue
		}
		found++
		for _, word := range append(rest, strings.Fields(m[2])...) {
			name, ok := strings.CutPrefix(word, "--")
			if name, _, _ = strings.Cut(name, "="); ok && name != "" && cmd.Flags().Lookup(name) == nil && name != "help" {
				t.Errorf("README.md shows %q, and %s has no flag --%s", strings.TrimSpace(m[0]), cmd.CommandPath(), name)
			}
		}
	}
	if found < 8 {
		t.Errorf("found only %d commands in README.md: the pattern is wrong", found)
	}
}
