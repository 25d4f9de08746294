package main

import (
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
)

// A line that takes the place of another program's names commands and flags that are here,
// and a flag that is here is not replaced.
func TestReplacementsAreHere(t *testing.T) {
	commands := root(&cli.App{Getenv: func(string) string { return "" }})
	run, _, err := commands.Find([]string{"run"})
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`'sbx-devc ([a-z ]+[a-z])`)
	flag := regexp.MustCompile(`(?:use|or) --([a-z-]+)`)
	all := maps.Clone(cli.ReplacedCommands)
	for command, flags := range cli.ReplacedFlags {
		for flag, line := range flags {
			all[command+" --"+flag] = line
		}
	}
	for word, line := range all {
		if of, name, ok := strings.Cut(word, " --"); ok {
			if c, _, err := commands.Find(strings.Fields(of)); err == nil && c.Flags().Lookup(name) != nil && c.Name() == of {
				t.Errorf("%s is here, and is said to be replaced: %s", word, line)
			}
		} else if c, _, err := commands.Find([]string{word}); err == nil && c.HasParent() && c.Name() == word && word != "run" {
			t.Errorf("the command %s is here, and is said to be replaced: %s", word, line)
		}
		for _, m := range command.FindAllStringSubmatch(line, -1) {
			words := strings.Fields(m[1])
			if c, rest, err := commands.Find(words); err != nil || !c.HasParent() || len(rest) > 0 && c.HasAvailableSubCommands() {
				t.Errorf("%s: there is no command %q", line, m[1])
			}
		}
		for _, m := range flag.FindAllStringSubmatch(line, -1) {
			if run.Flags().Lookup(m[1]) == nil {
				t.Errorf("%s: run has no flag --%s", line, m[1])
			}
		}
	}
}
