package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/baseimage"
	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// serviceEnds reports a service of Compose whose image runs a shell without a terminal,
// which ends at once, as does a command that only prints. The reference CLI keeps a container of an image alive, and one of
// Compose only with overrideCommand.
func serviceEnds(v *rule.View) []rule.Finding {
	dev := v.Composed.Dev()
	if !v.ByCompose() {
		return imageEnds(v)
	}
	if dev == nil || dev.Get("tty").True() || dev.Get("stdin_open").True() {
		return nil
	}
	if v.Root.Member("overrideCommand").Is(true) || v.HasFeatures() && !onlyOfficialFeatures(v) {
		return nil
	}
	command := dev.Get("command")
	if entry := dev.Get("entrypoint"); (command == nil || takesNone(entry.Words())) && isSoonDone(entry.Words()) {
		return []rule.Finding{rule.AtCompose(entry, fmt.Sprintf("the service %s ends as soon as its entrypoint is done", dev.Name),
			`"overrideCommand": true in the configuration replaces it, or write: entrypoint: sleep infinity`)}
	}
	if f := scriptOfEntrypoint(v, dev); f.Message != "" {
		return []rule.Finding{f}
	}
	for _, r := range v.Of(rights.Entrypoint) {
		if !r.Next {
			return nil
		}
	}
	_, start := v.Start()
	done := isSoonDone(start.Words)
	image := v.BaseImage()
	if start.Words != nil && !done || !baseimage.EndsAlone(image) {
		return nil
	}
	if done && command != nil {
		return asSureAs(image, rule.AtCompose(command, fmt.Sprintf("the service %s ends as soon as its command is done", dev.Name),
			`"overrideCommand": true in the configuration replaces the command, or write: command: sleep infinity`))
	}
	why := image + " starts a program that wants a terminal"
	if done {
		why = "the CMD of its Dockerfile is soon done"
	}
	return asSureAs(image, atService(dev, fmt.Sprintf("the service %s ends at once: %s", dev.Name, why),
		`add to the service: command: sleep infinity; or to devcontainer.json: "overrideCommand": true`))
}

// takesNone reports whether a line for a shell does not ask for arguments, as which the words of a command come.
func takesNone(entrypoint []string) bool {
	return len(entrypoint) == 3 && shellFlags.MatchString(entrypoint[1]) && !takesArguments.MatchString(entrypoint[2])
}

// atService is a finding at the name of a service.
func atService(s *compose.Service, message, hint string) rule.Finding {
	return rule.Finding{Place: rights.Place{Doc: s.Doc, Start: s.Start, End: s.End}, Message: message, Hint: hint}
}

// onlyOfficialFeatures reports whether the configuration has no Feature but those whose entrypoints hand over to the command.
func onlyOfficialFeatures(v *rule.View) bool {
	return !slices.ContainsFunc(v.Root.Member("features").Fields(), func(m jsonc.Member) bool { return officialFeature(m.Name) == "" })
}

// asSureAs returns a finding that rests on what an image starts, which is certain of the official ones.
func asSureAs(image string, f rule.Finding) []rule.Finding {
	if of, _ := baseimage.Of(image); !of.Official() {
		f.Severity = diag.SeverityWarning
	}
	return []rule.Finding{f}
}

// keepers are programs with which people keep a container alive.
var keepers = []string{"sleep", "tail", "sh", "bash", "/bin/sh", "/bin/bash"}

// scriptOfEntrypoint reports a command that is to keep the container alive, and that the interpreter which its Dockerfile has for
// ENTRYPOINT takes for a script's name.
func scriptOfEntrypoint(v *rule.View, dev *compose.Service) rule.Finding {
	start, _ := v.Start()
	command := dev.Get("command")
	words := command.Words()
	own := start.Notation == rights.Dockerfile && !start.Next && len(start.Words) == 1 && dev.Get("entrypoint") == nil
	if !own || len(words) == 0 || !slices.Contains(keepers, words[0]) ||
		!slices.Contains([]string{"python", "python3", "node", "ruby", "php", "perl"}, path.Base(start.Words[0])) {
		return rule.Finding{}
	}
	return rule.AtCompose(command, fmt.Sprintf("the service %s ends at once: %s, the ENTRYPOINT of its Dockerfile, looks for a script %s",
		dev.Name, start.Words[0], words[0]), "write entrypoint: for command:")
}

// imageEnds reports a container of an official image that is to run the image's own command, a
// shell or an interpreter without a terminal, or a command of the Dockerfile that ends as soon.
func imageEnds(v *rule.View) []rule.Finding {
	n := v.Root.Member("overrideCommand")
	image := v.BaseImage()
	if !n.Is(false) || !baseimage.EndsAlone(image) || v.HasFeatures() ||
		slices.ContainsFunc(v.Of(rights.Entrypoint, rights.Command), func(r rights.Right) bool { return r.Notation != rights.Dockerfile }) ||
		slices.ContainsFunc(v.RunArgs, func(a rights.Arg) bool { return a.Flag == "tty" || a.Flag == "interactive" || a.Flag == "entrypoint" }) {
		return nil
	}
	why := image + " starts a program that wants a terminal"
	switch entry, command := v.Start(); {
	case entry.Words != nil && isSoonDone(entry.Words) && (command.Words == nil || isPrinter(entry.Words[0])):
		why = "the ENTRYPOINT of its Dockerfile is soon done"
	case entry.Words == nil && isSoonDone(command.Words):
		why = "the CMD of its Dockerfile is soon done"
	case entry.Words != nil || command.Words != nil:
		return nil
	}
	return asSureAs(image, v.AtValue(n, "the container ends at once: "+why, "leave overrideCommand out: the container is kept alive then"))
}

// printers are programs that only say something.
var printers = []string{"echo", "printf", "true", "false", "pwd", "ls", "date", "id", "whoami", "uname"}

// isSoonDone reports whether a command of Compose, which no shell reads, ends at once: a program
// that only prints, a shell or an interpreter that reads an input that is none, or such programs in
// a shell's text.
func isSoonDone(words []string) bool {
	if len(words) == 0 {
		return false
	}
	name := path.Base(words[0])
	isShell := slices.Contains([]string{"sh", "bash", "ash", "dash", "zsh"}, name)
	switch {
	case isPrinter(words[0]), len(words) > 1 && slices.Contains(onlyInstall[name], words[1]) && !slices.Contains(words, "&&"):
		return true
	case len(words) == 1:
		return asksAlone(name)
	case len(words) != 3 || !isShell || words[1] != "-c":
		return false
	}
	commands, err := shell.Parse(words[2], nil)
	return err == nil && len(commands) > 0 && !slices.ContainsFunc(commands, func(c *shell.Command) bool {
		asks := len(c.Words) == 1 && asksAlone(path.Base(c.Words[0].Text))
		installs := len(c.Words) > 1 && slices.Contains(onlyInstall[c.Name()], c.Words[1].Text)
		return !isPrinter(c.Words[0].Text) && !asks && !installs || c.OnFailure == shell.Open // a loop may run it for ever
	})
}

// asksAlone reports whether a program without arguments reads what to do from its input.
func asksAlone(name string) bool {
	return slices.Contains(strings.Fields("sh bash ash dash zsh python python3 node irb iex erl julia ghci jshell R lua"), name)
}

// onlyInstall are programs by the words with which they only install or build something.
var onlyInstall = map[string][]string{"npm": {"install", "ci", "i"}, "yarn": {"install"}, "pnpm": {"install", "i"}, "pip": {"install"},
	"pip3": {"install"}, "bundle": {"install"}, "composer": {"install"}, "poetry": {"install"}, "go": {"mod", "build"},
	"colcon": {"build", "test"}, "catkin": {"build"}, "cargo": {"build", "fetch"}, "dotnet": {"build", "restore"}, "uv": {"sync"},
	"mvn": {"install", "package", "compile"}, "cmake": {"--build"}}

// isPrinter reports whether a word starts one of printers, and no program of the project that is called like one.
func isPrinter(word string) bool {
	return slices.Contains(printers, path.Base(word)) && slices.Contains([]string{".", "/bin", "/usr/bin"}, path.Dir(word)) &&
		!strings.HasPrefix(word, ".")
}
