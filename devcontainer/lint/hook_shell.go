package lint

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/baseimage"
	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// isDash reports whether /bin/sh, which runs hooks, is dash in the container (Debian, Ubuntu).
func isDash(v *rule.View) bool {
	return rule.Once(v, "sh is dash", func(v *rule.View) bool {
		image, ok := baseimage.Of(v.BaseImage())
		return ok && image.Family == baseimage.Debian && (v.Build == nil || !replacesShell(v.Build.History()))
	})
}

// bashWords are commands that bash has and dash lacks.
var bashWords = []string{"source", "[[", "pushd", "popd", "shopt", "declare", "typeset", "let", "function", "mapfile", "readarray"}

// bashOnly is the first part of a text that bash takes and dash does not.
type bashOnly struct {
	at       int    // offset
	what     string // "" = there is none
	severity diag.Severity
}

// bashTexts are what some of stand in everything that bash takes and dash does not, besides bashWords, parentheses and what
// expansions is for.
var bashTexts = []string{"pipefail", "select ", "<<<", "&>", "|&", "echo -e"}

// holdsBashParenthesis reports whether a text has a parenthesis that only bash reads, by the letter in front.
func holdsBashParenthesis(text string) bool {
	for at := 0; ; at++ {
		next := strings.IndexByte(text[at:], '(')
		if next < 0 {
			return false
		}
		if at += next; at > 0 && strings.IndexByte("<>=(", text[at-1]) >= 0 {
			return true
		}
	}
}

// expansions matches expansions of variables that dash does not know, and few that it does.
var expansions = lazyregexp.New(`\$\{(!|[\w#@*]+([/^,@\[]|:[^-=+?]))`)

// mayBeBash reports whether a text is looked at: all else is the same in both shells. Most texts are neither.
func mayBeBash(text string) bool {
	if holdsBraces(text) || holdsBashParenthesis(text) {
		return true
	}
	hasText := slices.ContainsFunc(bashTexts, func(part string) bool { return strings.Contains(text, part) })
	return hasText || slices.ContainsFunc(bashWords, func(word string) bool { return holdsWord(text, word) }) ||
		comparesInTest(text) || expansions.MatchString(text)
}

// comparesInTest reports whether == stands between a bracket and a closing one, and not in the text of awk and the like.
func comparesInTest(text string) bool {
	if !strings.Contains(text, "==") || !holdsWord(text, "[") {
		return false
	}
	for behind := text; ; {
		_, inside, found := strings.Cut(behind, "[")
		if !found {
			return false
		}
		test, rest, _ := strings.Cut(inside, " ]")
		if strings.Contains(test, "==") {
			return true
		}
		behind = rest
	}
}

// holdsBraces reports whether a text has braces around a comma, without white space, and no dollar sign in front.
func holdsBraces(text string) bool {
	for at := strings.IndexByte(text, '{'); at >= 0; {
		inside := text[at+1:]
		end := strings.IndexAny(inside, "} \t\n")
		if end > 0 && inside[end] == '}' && (at == 0 || text[at-1] != '$') {
			if strings.IndexByte(inside[:end], ',') >= 0 || strings.Contains(inside[:end], "..") {
				return true
			}
		}
		next := strings.IndexByte(inside, '{')
		if next < 0 {
			return false
		}
		at += 1 + next
	}
	return false
}

// holdsWord reports whether a word stands in a text as a shell separates words.
func holdsWord(text, word string) bool {
	ends := func(text string) bool {
		return text == "" || strings.ContainsRune(" \t\r\n;&|(){}<>`'\"$\\", rune(text[0]))
	}
	for at := 0; ; {
		n := strings.Index(text[at:], word)
		if n < 0 {
			return false
		}
		start, end := at+n, at+n+len(word)
		if ends(text[max(0, start-1):start]) && ends(text[end:]) {
			return true
		}
		at = end
	}
}

// braces matches a word, without quotes, that stands for several in bash.
var braces = lazyregexp.New(`^[^\s"'$\\]*\{([^{}\s"'$]*,[^{}\s"'$]*|\d+\.\.\d+|[a-z]\.\.[a-z])\}[^\s"'$]*$`)

// counted matches a loop over numbers in braces.
var counted = lazyregexp.New(`\bfor\s+\w+\s+in\s+[^;\n]*?\{\d+\.\.\d+\}`)

// branches matches texts of which a part may never run.
var branches = lazyregexp.New(`\|\||\b(if|for|while|until|case)\b`)

// onlyOfBash finds it. pipefail says how sure it is that the shell has no such option; "" = it may have.
func onlyOfBash(text string, pipefail diag.Severity) (found bashOnly) {
	if !mayBeBash(text) {
		return bashOnly{}
	}
	commands, err := shell.ParsePOSIX(text, nil)
	if refused, ok := err.(*shell.Refusal); ok {
		found = bashOnly{refused.At, refused.Text, diag.SeverityError}
		if refused.Background || refused.Late && branches.MatchString(text) {
			found.severity = diag.SeverityWarning
		}
		return found
	}
	if strings.Contains(text, "..") {
		if m := counted.FindStringIndex(text); m != nil && strings.Count(text[:m[0]], "'")%2 == 0 {
			return bashOnly{strings.LastIndexByte(text[:m[1]], '{'), "{1..3}, which is one word to it", diag.SeverityWarning}
		}
	}
	for _, cmd := range commands {
		word := cmd.Words[0]
		what := ""
		switch {
		case cmd.Wrapped != "" && cmd.Wrapped != "sh":
			continue
		case slices.Contains(bashWords, word.Text):
			what = word.Text
		case cmd.Words[0].Text == "set":
			at := slices.IndexFunc(cmd.Args(), func(w shell.Word) bool { return w.Text == "pipefail" })
			if at >= 0 && pipefail != "" {
				what, word = "pipefail", cmd.Args()[at]
			}
		case cmd.Words[0].Text == "echo" && len(cmd.Words) > 2 && cmd.Words[1].Text == "-e":
			what, word = "-e of echo, which becomes a part of the text", cmd.Words[1]
		case slices.Contains(takeFiles, cmd.Words[0].Text):
			for _, w := range cmd.Args() {
				if w.Start <= w.End && w.End <= len(text) && braces.MatchString(text[w.Start:w.End]) {
					what, word = "{…,…}", w
					if strings.Contains(w.Text, "..") {
						what = "{1..3}"
					}
				}
			}
		case cmd.Words[0].Text == "[":
			if at := slices.IndexFunc(cmd.Args(), func(w shell.Word) bool { return w.Text == "==" }); at >= 0 {
				what, word = "==", cmd.Args()[at]
			}
		}
		if what == "" {
			continue
		}
		found = bashOnly{word.Start, what, diag.SeverityWarning}
		switch {
		case cmd.Words[0].Text == "echo" || slices.Contains(takeFiles, cmd.Words[0].Text): // it does something else
		case what == "pipefail":
			found.severity = pipefail
		case cmd.OnFailure == shell.Ends:
			found.severity = diag.SeverityError
		}
		return found
	}
	return bashOnly{}
}

// withoutPipefail says how sure it is that the dash of an image has no pipefail: Debian has it since 13 and Ubuntu since 24.10 (dash
// 0.5.12-7).
func withoutPipefail(image baseimage.Image) diag.Severity {
	switch image.Release {
	case "10", "11", "12", "18.04", "20.04", "22.04", "24.04":
		return diag.SeverityError
	}
	return ""
}

// bashInHook reports a hook's text that only bash understands, in a container whose /bin/sh is another shell.
func bashInHook(v *rule.View, property string, n *jsonc.Node) (out []rule.Finding) {
	if property == "initializeCommand" || v.Kind() != devcontainer.ConfigFile || !isDash(v) {
		return nil
	}
	known, _ := baseimage.Of(v.BaseImage())
	found := onlyOfBash(rights.Variable.ReplaceAllString(n.Text, "x"), withoutPipefail(known))
	if found.what == "" {
		return nil
	}
	f := v.AtValue(n, fmt.Sprintf("dash, the /bin/sh of %s, runs this command and does not know: %s", v.BaseImage(), found.what),
		`run it by bash: ["bash", "-c", "…"], or put it into a script`)
	f.Severity = found.severity
	return []rule.Finding{f}
}

// bashSteps reports steps of a Dockerfile that only bash understands, where dash runs them.
func bashSteps(v *rule.View) (out []rule.Finding) {
	for _, s := range neededStages(v) {
		base := s.Base()
		known, ok := baseimage.Of(base.Image)
		if !ok || !base.Known || known.Family != baseimage.Debian {
			continue
		}
		replaced := sync.OnceValue(func() bool { return replacesShell(s.History()) })
		for _, i := range s.Instructions {
			text, start := i.Script()
			plain := len(i.Shell) == 0 || slices.Contains([]string{"/bin/sh", "sh", "dash", "/bin/dash"}, i.Shell[0])
			if text == "" || !plain || i.Broken != nil || strings.HasPrefix(text, "#!") || strings.Contains(text, "${templateOption:") {
				continue
			}
			found := onlyOfBash(text, withoutPipefail(known))
			if found.what == "" || replaced() {
				continue
			}
			at := start + found.at
			f := v.AtDockerfile(at, min(at+1, i.End), fmt.Sprintf("dash, the /bin/sh of %s, runs this step and does not know: %s", base.Image,
				found.what), `write SHELL ["/bin/bash", "-c"] above, or the form that every shell has`)
			f.Severity = found.severity
			out = append(out, f)
		}
	}
	return out
}

// replacesShell reports whether a step may put another shell in the place of /bin/sh.
func replacesShell(history []*dockerfile.Instruction) bool {
	return slices.ContainsFunc(history, func(i *dockerfile.Instruction) bool {
		return strings.Contains(i.Source(), "/bin/sh ") || strings.HasSuffix(i.Source(), "/bin/sh") || strings.Contains(i.Source(), "dash")
	})
}

// hookMissingSudo reports hooks that call sudo in an image that has none.
func hookMissingSudo(v *rule.View) (out []rule.Finding) {
	image := v.BaseImage()
	of, _ := baseimage.Of(image)
	lacks, sure := of.LacksSudo()
	if !lacks || v.HasFeatures() || v.Kind() != devcontainer.ConfigFile {
		return nil
	}
	if v.Build != nil {
		for _, s := range v.Build.Final.Chain() {
			if mayBringSudo(s) {
				return nil
			}
		}
	}
	brings := false
	eachHookText(v, func(property string, n *jsonc.Node) {
		if property == "initializeCommand" {
			return
		}
		v.EachCommand(n, func(_ *jsonc.Node, cmd *shell.Command) {
			named := slices.ContainsFunc(cmd.Args(), func(w shell.Word) bool { return w.Text == "sudo" })
			brings = brings || named || cmd.Is(shell.Shells...) || strings.Contains(cmd.Words[0].Text, "/") || cmd.Is(shell.Downloaders...)
			if cmd.Words[0].Text == "sudo" && !brings && !guarded.MatchString(n.Text) && len(out) == 0 {
				f := v.AtValue(n, fmt.Sprintf("%s has no sudo, and nothing installs it", image),
					"leave it out; where another user than root runs hooks, do it in the Dockerfile")
				if !sure {
					f.Severity = diag.SeverityWarning
				}
				out = append(out, f)
			}
		})
	})
	return out
}

// askingHooks reports installs in hooks that wait for an answer.
func askingHooks(v *rule.View) (out []rule.Finding) {
	if v.Kind() != devcontainer.ConfigFile {
		return nil
	}
	eachHookText(v, func(property string, n *jsonc.Node) {
		v.EachCommand(n, func(_ *jsonc.Node, cmd *shell.Command) {
			packages, ok := aptInstall(cmd)
			_, yes := cmd.Flag("-y", "--yes", "--assume-yes", "-q=2", "--force-yes")
			answered := yes || quiet(cmd) || piped(cmd)
			if ok && len(packages) > 0 && !answered && cmd.Words[0].Text != "sudo" {
				out = append(out, v.AtValue(n, cmd.Name()+" asks before it installs, and no one is there to answer", "add -y"))
			}
		})
	})
	return out
}

// packageList returns the file of packages that a command of pip's reads, "" for none.
func packageList(cmd *shell.Command) string {
	at := slices.IndexFunc(cmd.Words, func(w shell.Word) bool { return w.Text == "install" })
	if at < 1 || !strings.HasPrefix(strings.TrimLeft(cmd.Words[at-1].Text, "./"), "pip") {
		return ""
	}
	w, ok := cmd.Value("-r", "--requirement")
	if !ok || strings.ContainsAny(w.Text, "$*?[~`<>(:") || strings.HasPrefix(w.Text, "/") {
		return ""
	}
	return w.Text
}
