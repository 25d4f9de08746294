package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
)

// everyCommand calls visit with each command that people see, and root.
func everyCommand(t *testing.T, visit func(cmd *cobra.Command)) {
	t.Helper()
	a := &app{stdin: strings.NewReader(""), stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}, getenv: func(string) string { return "" }}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		visit(cmd)
		for _, c := range cmd.Commands() {
			if c.Name() != "completion" && c.Name() != "help" { // cobra's
				walk(c)
			}
		}
	}
	walk(root(a.cli()))
}

// maxHelpLine is how long a line of a command's text may be, in characters: a terminal of
// 100 columns shows it unbroken.
const maxHelpLine = 100

// Whoever asks for help finds each command in a group and each flag with its meaning; run
// has so many flags that each is under a title.
func TestHelpHasAPlaceForEverything(t *testing.T) {
	everyCommand(t, func(cmd *cobra.Command) {
		path := cmd.CommandPath()
		if cmd.Parent() != nil && cmd.Parent().Parent() == nil && cmd.GroupID == "" && !cmd.Hidden {
			t.Errorf("%s is in no group: see commandGroups", path)
		}
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: %q is no line for a list", path, cmd.Short)
		}
		for line := range strings.Lines(cmd.Long) {
			if n := utf8.RuneCountInString(line); n > maxHelpLine {
				t.Errorf("%s: a line of its help has %d characters: %s", path, n, line)
			}
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden {
				return
			}
			if f.Usage == "" {
				t.Errorf("%s --%s says nothing of itself", path, f.Name)
			}
			if cmd.Name() == "run" && f.Name != "help" && f.Name != "dry-run" && cli.GroupOf(f) == "" {
				t.Errorf("%s --%s is under no title: see runGroup", path, f.Name)
			}
		})
	})
}

// Every example can be typed: its flags and arguments are those of the command.
func TestExamplesParse(t *testing.T) {
	commands, examples := 0, 0
	everyCommand(t, func(cmd *cobra.Command) {
		if !cmd.HasSubCommands() {
			commands++
			if cmd.Example == "" {
				t.Errorf("%s has no example", cmd.CommandPath())
			}
		}
		for _, words := range callsOf(t, cmd.Example) {
			examples++
			a := &app{stdin: strings.NewReader(""), stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}, getenv: func(string) string { return "" }}
			if err := parses(root(a.cli()), words); err != nil {
				t.Errorf("%s shows %q: %v", cmd.CommandPath(), words, err)
			}
		}
	})
	if commands < 50 || examples < commands {
		t.Errorf("found %d examples of %d commands", examples, commands)
	}
}

// callsOf are the arguments of each sbx-devc in a text of shell.
func callsOf(t *testing.T, text string) (calls [][]string) {
	t.Helper()
	file, err := syntax.NewParser().Parse(strings.NewReader(text), "")
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	names := &expand.Config{Env: expand.FuncEnviron(func(string) string { return "x" }),
		CmdSubst: func(w io.Writer, _ *syntax.CmdSubst) error { _, err := io.WriteString(w, "x"); return err }}
	syntax.Walk(file, func(node syntax.Node) bool {
		call, ok := node.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 || call.Args[0].Lit() != "sbx-devc" {
			return true
		}
		var words []string
		for _, word := range call.Args[1:] {
			text, err := expand.Literal(names, word)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			words = append(words, text)
		}
		calls = append(calls, words)
		return true
	})
	return calls
}

// parses reports whether a command line is one, without running it.
func parses(root *cobra.Command, words []string) error {
	cmd, rest, err := root.Find(words)
	if err != nil {
		return err
	}
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

// A page for each command, the same in every run.
func TestManualPages(t *testing.T) {
	dir, again := t.TempDir(), t.TempDir()
	for _, d := range []string{dir, again} {
		if code, people := runOn(t, &bytes.Buffer{}, "man", d); code != 0 {
			t.Fatal(people)
		}
	}
	everyCommand(t, func(cmd *cobra.Command) {
		if cmd.Hidden {
			return
		}
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
		page, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !bytes.Contains(page, []byte(".SH SYNOPSIS")) {
			t.Errorf("%s: %v\n%.300s", name, err, page)
		}
		if second, err := os.ReadFile(filepath.Join(again, name)); err != nil || !bytes.Equal(page, second) {
			t.Errorf("%s is another one the second time: %v", name, err)
		}
	})
	if code, people := runOn(t, &bytes.Buffer{}, "man", filepath.Join(dir, "none")); code != exitNoInput ||
		!strings.Contains(people, "mkdir -p") {
		t.Errorf("%d: %s", code, people)
	}
}
