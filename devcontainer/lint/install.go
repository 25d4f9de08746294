package lint

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// startsBash matches scripts that give themselves to bash before sh reads the rest.
var startsBash = lazyregexp.New(`exec\s+(\S*/)?(env\s+)?bash`)

// brokenInstalls reports an install.sh that its shell refuses.
func brokenInstalls(v *rule.View) []rule.Finding {
	if v.Build == nil {
		return nil
	}
	src := v.Build.File.Doc.Src
	program := dockerfile.Interpreter(src)
	if at := bytes.IndexByte(src, '\n'); at > 0 && src[at-1] == '\r' {
		return []rule.Finding{v.AtDockerfile(0, at, "the lines end with CR LF, so the system looks for a program whose name ends with CR",
			"save it with LF, and write *.sh text eol=lf into .gitattributes")}
	}
	if program != "" && program != "bash" && program != "sh" && program != "dash" {
		return nil // another language
	}
	at := func(offset int, message, hint string) rule.Finding {
		offset = min(max(offset, 0), len(src))
		end := offset + max(1, len(bytes.TrimRight(src[offset:lineEnd(src, offset)], "\r")))
		return v.AtDockerfile(offset, min(end, len(src)), message, hint)
	}
	if v.Build.Final.Instructions[0].Unread { // what was read is text that bash takes
		if offset, why, refused := shell.Refused(string(src), false); refused {
			return []rule.Finding{at(offset, fmt.Sprintf("the shell refuses the script: %s", why), "try it with: bash -n install.sh")}
		}
	}
	if start, end, fails := endsWithFalse(v, string(src)); fails {
		f := v.AtDockerfile(start, end, "with the defaults of the options this last command is false, so install.sh fails",
			"write if …; then …; fi, or end the script with exit 0")
		f.Severity = diag.SeverityWarning
		return []rule.Finding{f}
	}
	if program == "bash" || startsBash.Match(src) {
		return nil
	}
	if offset, why, refused := shell.Refused(string(src), true); refused {
		f := at(offset, fmt.Sprintf("sh is no bash in Debian, Ubuntu and Alpine, and refuses this: %s", why),
			"begin the script with #!/usr/bin/env bash")
		f.Severity = diag.SeverityWarning
		return []rule.Finding{f}
	}
	if found := onlyOfBash(string(src), ""); found.what != "" {
		f := at(found.at, fmt.Sprintf("sh is dash in Debian and Ubuntu, and does not know: %s", found.what),
			"begin the script with #!/usr/bin/env bash, or write the form that every shell has")
		f.Severity = diag.SeverityWarning
		return []rule.Finding{f}
	}
	return nil
}

var (
	expanded = lazyregexp.New(`\$\{?[#!]?([A-Za-z_]\w*)`)
	// setElsewhere matches scripts whose variables may come from other texts. The files of the system's names set none of them.
	setElsewhere = lazyregexp.New(`\beval\b|\bprintenv\b|\bcompgen\b|\$\{!|(^|[\s;&|])(\.|source)\s+[^\s/]|(^|[\s;&|])(\.|source)\s+/[^e]`)
	notInName    = lazyregexp.New(`[^\w]`)
	leading      = lazyregexp.New(`^[\d_]+`)
)

// optionVariable is the name of the variable by which install.sh gets an option (specification, "Option Resolution").
func optionVariable(option string) string {
	return strings.ToUpper(leading.ReplaceAllString(notInName.ReplaceAllString(option, "_"), "_"))
}

// misreadOptions reports a variable of install.sh that nothing sets, and that differs from an option's in the case of its
// letters or in underscores alone. The script reads the option's own nowhere.
func misreadOptions(v *rule.View) (out []rule.Finding) {
	if v.Build == nil || v.Kind() != devcontainer.FeatureFile {
		return nil
	}
	src := string(v.Build.File.Doc.Src)
	program := dockerfile.Interpreter([]byte(src))
	if program != "" && !slices.Contains(shell.Shells, program) {
		return nil
	}
	reads := expanded.FindAllStringSubmatchIndex(src, -1)
	for _, at := range reads {
		read := src[at[2]:at[3]]
		instead := unsetInBuilds[read]
		if instead == "" || isSetBeforeInstall(v, read) || isSetIn(src, read) || hasDefault(src[at[0]:]) {
			continue
		}
		isOption := slices.ContainsFunc(options(v), func(m jsonc.Member) bool { return optionVariable(m.Name) == read })
		if !isOption && !isQuoted(src, at[0]) && !setElsewhere.MatchString(src) {
			out = append(out, v.AtDockerfile(at[0], at[1], fmt.Sprintf("nothing sets %s while the image is built", read), "write $"+instead))
			break
		}
	}
	for _, m := range options(v) {
		name := optionVariable(m.Name)
		if names(src, name) {
			continue
		}
		plain := strings.ReplaceAll(name, "_", "")
		for _, at := range reads {
			read := src[at[2]:at[3]]
			if !strings.EqualFold(strings.ReplaceAll(read, "_", ""), plain) || isSetBeforeInstall(v, read) || isSetIn(src, read) {
				continue
			}
			if setElsewhere.MatchString(src) {
				return nil
			}
			out = append(out, v.AtDockerfile(at[0], at[1], fmt.Sprintf("nothing sets %s: the option %s comes as %s", read, m.Name, name),
				fmt.Sprintf("write $%s", name)))
			break
		}
	}
	return out
}

// unsetInBuilds are variables that people expect in install.sh, and those of the reference CLI that were meant.
var unsetInBuilds = map[string]string{"REMOTE_USER": "_REMOTE_USER", "REMOTE_USER_HOME": "_REMOTE_USER_HOME",
	"CONTAINER_USER": "_CONTAINER_USER", "CONTAINER_USER_HOME": "_CONTAINER_USER_HOME",
	"USERNAME": "_REMOTE_USER", "USER": "_REMOTE_USER", "SUDO_USER": "_REMOTE_USER"}

// isQuoted reports whether a place may be in a text that another shell reads later: a heredoc, or single quotes in its line.
func isQuoted(src string, at int) bool {
	start := strings.LastIndexByte(src[:at], '\n') + 1
	return strings.Contains(src, "<<") || strings.ContainsAny(src[start:lineEnd([]byte(src), at)], `'\`)
}

// hasDefault reports whether an expansion says what stands for a variable that is not set.
func hasDefault(text string) bool {
	if !strings.HasPrefix(text, "${") {
		return false
	}
	inner, _, _ := strings.Cut(text, "}")
	return strings.ContainsAny(strings.TrimPrefix(inner, "${"), ":-+?=")
}

// isSetBeforeInstall reports whether the Feature's own containerEnv or the CLI (_REMOTE_USER and others) sets a variable.
func isSetBeforeInstall(v *rule.View, name string) bool {
	return strings.HasPrefix(name, "_") || v.Root.Member("containerEnv").Member(name) != nil
}

// isSetIn reports whether a script has a name anywhere but behind a dollar sign, as each way of setting it does.
func isSetIn(src, name string) bool {
	return names(expanded.ReplaceAllString(src, "$$"), name)
}

func lineEnd(src []byte, offset int) int {
	if n := bytes.IndexByte(src[offset:], '\n'); n >= 0 {
		return offset + n
	}
	return len(src)
}

// strayDefaults reports an option whose default is none of the values that it allows.
func strayDefaults(v *rule.View) (out []rule.Finding) {
	for _, m := range options(v) {
		enum, fallback := m.Value.Member("enum"), m.Value.Member("default")
		value, ok := fallback.Str()
		if enum == nil || !ok || len(enum.Elements) == 0 {
			continue
		}
		found := false
		for _, n := range enum.Elements {
			found = found || n.TextOr("") == value
		}
		if !found {
			out = append(out, v.AtValue(fallback, fmt.Sprintf("the default of %s is none of the values in enum", m.Name),
				"add it there, or name one of them"))
		}
	}
	return out
}

// endsWithFalse returns the place of a script's last command when it is a test of an option in front of &&, and the option's
// default makes it false: the script ends with that.
func endsWithFalse(v *rule.View, src string) (start, end int, fails bool) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(src), "")
	if err != nil || len(file.Stmts) == 0 {
		return 0, 0, false
	}
	last := file.Stmts[len(file.Stmts)-1]
	first, joined := last.Cmd, false
	for {
		binary, ok := first.(*syntax.BinaryCmd)
		if !ok {
			break
		}
		if binary.Op != syntax.AndStmt || binary.X.Negated {
			return 0, 0, false
		}
		first, joined = binary.X.Cmd, true
	}
	test, ok := first.(*syntax.CallExpr)
	if !ok || !joined || last.Negated || last.Background || len(test.Args) < 4 {
		return 0, 0, false
	}
	start, end = int(last.Pos().Offset()), int(last.End().Offset())
	return start, end, isFalse(v, src, src[test.Pos().Offset():test.End().Offset()])
}

// optionTest matches a test of one variable: with a word, or whether it is empty.
var optionTest = lazyregexp.New(`^\[\s+(?:"?\$\{?(\w+)\}?"?\s+(==?|!=)\s+["']?([\w.-]*)["']?|(-[nz])\s+"?\$\{?(\w+)\}?"?)\s+\]$`)

// isFalse reports whether a test is false with the default of the option that it asks for.
func isFalse(v *rule.View, src, test string) bool {
	m := optionTest.FindStringSubmatch(test)
	if m == nil {
		return false
	}
	name := m[1] + m[5]
	for _, o := range options(v) {
		fallback := o.Value.Member("default")
		if optionVariable(o.Name) != name || fallback == nil || isSetIn(src, name) {
			continue
		}
		value := fallback.Text
		switch m[2] + m[4] {
		case "=", "==":
			return value != m[3]
		case "!=":
			return value == m[3]
		case "-n":
			return value == ""
		case "-z":
			return value != ""
		}
	}
	return false
}
