package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/baseimage"
	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

var (
	shellWord = lazyregexp.New(`^(&&|\|\|?|;|>>?|<)$`)
	shellLine = lazyregexp.New(`\s(&&|\|\|?|>>?)\s|;\s|\s`)
)

// onlyInShells are words of shells that do nothing as programs of their own.
var onlyInShells = []string{"cd", "source", ".", "export", "set", "unset", "eval", "pushd", "popd", "shopt"}

// arrayCommands reports arrays that were meant for a shell.
func arrayCommands(v *rule.View) (out []rule.Finding) {
	for _, r := range v.Of(rights.HostCommand, rights.Hook) {
		if r.Notation != rights.Property {
			continue
		}
		if r.Node.Kind == jsonc.Object {
			for _, m := range r.Node.Members {
				out = append(out, arrayCommand(v, m.Value)...)
			}
			continue
		}
		out = append(out, arrayCommand(v, r.Node)...)
	}
	if v.Kind() == devcontainer.ConfigFile {
		out = slices.Concat(out, linesToStart(v), healthLines(v), runTogether(v), hookMeanings(v, restLost))
	}
	return out
}

// isShellLine reports whether a word is a line for a shell: no path, and nothing that is
// filled in later.
func isShellLine(word string) bool {
	return shellLine.MatchString(strings.TrimSpace(word)) && !strings.ContainsAny(word, "/$")
}

// linesToStart reports a first process whose program is a whole line: ["sleep infinity"].
func linesToStart(v *rule.View) (out []rule.Finding) {
	entrypoint, command := v.Start()
	out = operatorsToStart(v)
	first := entrypoint
	if len(first.Words) == 0 {
		first = command
	}
	written := first.Notation == rights.Compose || first.Notation == rights.Dockerfile
	if !written || first.Next || len(first.Words) != 1 || !isShellLine(first.Words[0]) {
		return out
	}
	return append(out, rule.AtRight(first, fmt.Sprintf("this starts a program called %q", first.Words[0]),
		"write it without the brackets, or one word per element"))
}

// healthLines reports health checks of services that give a shell more than its one line, or a program's name a whole line.
func healthLines(v *rule.View) (out []rule.Finding) {
	if v.Composed == nil || !v.ByCompose() {
		return nil
	}
	for _, s := range v.Composed.Project.Services() {
		test := s.Get("healthcheck").Get("test")
		words := test.Words()
		switch {
		case test == nil || test.Kind != compose.List || len(words) < 2:
		case words[0] == "CMD-SHELL" && len(words) > 2 && !strings.Contains(words[1], "$"):
			out = append(out, rule.AtCompose(test, fmt.Sprintf("the shell runs only %q, and the words behind it are lost", words[1]),
				"write CMD for CMD-SHELL, or all of it as one text"))
		case words[0] == "CMD" && slices.ContainsFunc(words, func(w string) bool { return w == "||" || w == "&&" || w == "|" }):
			out = append(out, rule.AtCompose(test, fmt.Sprintf("the words behind %s are its arguments: no shell reads this", words[1]),
				"write CMD-SHELL and all of it as one text"))
		case words[0] == "CMD" && len(words) == 2 && isShellLine(words[1]):
			out = append(out, rule.AtCompose(test, fmt.Sprintf("this looks for a program called %q", words[1]),
				"write CMD-SHELL for CMD, or one word per element"))
		}
	}
	return out
}

// operatorsToStart reports operators and words of a shell in services' commands, which no shell reads.
func operatorsToStart(v *rule.View) (out []rule.Finding) {
	if v.Composed == nil || !v.ByCompose() {
		return nil
	}
	dev := v.Composed.Dev()
	for _, s := range v.Composed.Project.Services() {
		if s == dev && v.Root.Member("overrideCommand").Is(true) {
			continue
		}
		for _, key := range []string{"entrypoint", "command"} {
			n := s.Get(key)
			words := n.Words()
			if len(words) == 0 || slices.Contains(shell.Shells, path.Base(words[0])) || key == "command" && len(s.Get("entrypoint").Words()) > 0 {
				continue
			}
			at := slices.IndexFunc(words, func(w string) bool { return w == "&&" || w == "||" || w == "|" || w == ";" })
			switch {
			case at > 0:
				out = append(out, rule.AtCompose(n, fmt.Sprintf("%q is a word to %s, not the shell's", words[at], words[0]),
					`write ["sh", "-c", "…"]`))
			case slices.Contains(onlyInShells, words[0]) || slices.Contains([]string{"while", "for", "if", "until"}, words[0]):
				out = append(out, rule.AtCompose(n, fmt.Sprintf("%s is a word of the shell, and no shell reads this", words[0]),
					`write ["sh", "-c", "…"]`))
			case s != dev && len(words) == 1 && n.Kind == compose.List && isShellLine(words[0]) && startsPlainly(s):
				out = append(out, rule.AtCompose(n, fmt.Sprintf("this starts a program called %q", words[0]),
					"write it without the brackets, or one word per element"))
			}
		}
	}
	return out
}

// startsPlainly reports whether the image of a service starts its command without a shell: it is an official one.
func startsPlainly(s *compose.Service) bool {
	if _, _, _, built := s.Build(); built {
		return false
	}
	known, ok := baseimage.Of(s.Get("image").String())
	return ok && known.Official()
}

func arrayCommand(v *rule.View, n *jsonc.Node) []rule.Finding {
	words := rights.Texts(n)
	if n.Kind != jsonc.Array || len(words) == 0 || len(words) != len(n.Elements) {
		return nil
	}
	if len(words) == 1 && shellLine.MatchString(strings.TrimSpace(words[0].Text)) {
		return []rule.Finding{v.AtValue(n, fmt.Sprintf("this starts a program called %q", jsonc.Abbreviate(words[0].Text)),
			"write it as a string, or one word per element").FixedBy(jsonc.Replace(n, string(v.Config.Src[words[0].Start:words[0].End])))}
	}
	line := strings.TrimSpace(words[0].Text)
	if slices.Contains(onlyInShells, line) {
		return []rule.Finding{v.AtValue(words[0], fmt.Sprintf("%s is a word of the shell, and this array starts a program of that name", line),
			"write the command as one string; what it sets ends with its shell")}
	}
	program, _, more := strings.Cut(line, " ")
	severalLines := !strings.Contains(program, "/") &&
		slices.ContainsFunc(words[1:], func(w *jsonc.Node) bool { return strings.Contains(strings.TrimSpace(w.Text), " ") })
	if more && (slices.Contains(shell.Shells, program) || severalLines) {
		return []rule.Finding{v.AtValue(n, fmt.Sprintf("this starts one program, called %q", jsonc.Abbreviate(line)),
			`an array is one command; write several as one text with &&, or as an object: {"NAME": "…", "OTHER": "…"}`).
			Offering(jsonc.Replace(n, jsonc.Quote(joined(words))))}
	}
	for _, w := range words[1:] {
		if shellWord.MatchString(w.Text) {
			return []rule.Finding{v.AtValue(w, fmt.Sprintf("%q is a word to the program, not the shell's", w.Text),
				`write the command as one string, or as ["sh", "-c", "…"]`)}
		}
	}
	if f := secondLine(v, words); f != nil {
		return f
	}
	return wordsForAShell(v, words)
}

// secondLine reports a shell and a line for it behind the line of another: they are arguments of the first line, which takes none.
func secondLine(v *rule.View, words []*jsonc.Node) []rule.Finding {
	isShell := func(n int) bool {
		return n+2 < len(words) && slices.Contains(shell.Shells, path.Base(words[n].Text)) && shellFlags.MatchString(words[n+1].Text)
	}
	if !isShell(0) || !isShell(3) || takesArguments.MatchString(words[2].Text) {
		return nil
	}
	return []rule.Finding{v.AtValue(words[3], fmt.Sprintf("this does not run: %s runs only the first text behind -c", words[0].Text),
		`an array is one command; write one line with &&, or an object: {"NAME": […], "OTHER": […]}`)}
}

var (
	shellFlags     = lazyregexp.New(`^-[a-z]*c$`)
	takesArguments = lazyregexp.New(`\$\{?[0-9@*#]|\bshift\b`)
)

// wholeVariable matches a word that begins with a variable of a shell. The CLI replaces none of them.
var wholeVariable = lazyregexp.New(`^(~|\$(HOME|USER|PWD|PATH|UID|\{(HOME|USER|PWD|PATH|UID)\}))(/|$)`)

// plainReaders are programs that get such a word as a path or a text, and hand it to no shell.
var plainReaders = append(slices.Clone(plainPrograms), "ls", "tar", "unzip", "pip", "pip3", "npm", "python", "python3", "node")

// wordsForAShell reports a word of an array that only a shell would replace.
func wordsForAShell(v *rule.View, words []*jsonc.Node) []rule.Finding {
	if !slices.Contains(plainReaders, words[0].Text) || len(words) > 1 && strings.HasSuffix(words[1].Text, "c") {
		return nil
	}
	for _, w := range words[1:] {
		if at := wholeVariable.FindString(w.Text); at != "" {
			return []rule.Finding{v.AtValue(w, fmt.Sprintf("no shell replaces %s in an array: the program gets the text as it is",
				strings.TrimSuffix(at, "/")), `write the command as one string, or as ["sh", "-c", "…"]`)}
		}
		if strings.Contains(w.Text, "*") && slices.Contains(takeFiles, words[0].Text) {
			return []rule.Finding{v.AtValue(w,
				fmt.Sprintf("no shell replaces * in an array: %s looks for a file of the name %s", words[0].Text, w.Text),
				`write the command as one string, or as ["sh", "-c", "…"]`)}
		}
	}
	return nil
}

// takeFiles are programs whose words are names of files, and no patterns.
var takeFiles = []string{"rm", "cp", "mv", "ls", "cat", "chmod", "chown", "mkdir", "touch", "ln"}

// joined is one text of several commands, of which each runs if those before it succeed.
func joined(commands []*jsonc.Node) string {
	var texts []string
	for _, c := range commands {
		texts = append(texts, strings.TrimSpace(c.Text))
	}
	return strings.Join(texts, " && ")
}
