package lint

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/budget"
	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// copiedMissing reports files that COPY takes from the context and that are not there.
func copiedMissing(v *rule.View) (out []rule.Finding) {
	context, known := buildContext(v)
	if !known {
		return nil
	}
	comparing := budget.New(maxCompared)
	narrow := false // the context that is written lacks what the project's folder has
	for _, i := range v.Build.Instructions() {
		if run, ok := i.Command.(*instructions.RunCommand); ok {
			for _, m := range instructions.GetMounts(run) {
				full := path.Join(context, path.Clean("/"+i.Expand(m.Source)))
				bound := m.Type == "bind" && m.From == "" && m.Source != "" && !strings.Contains(full, "$")
				if bound && v.Tree.Kind(full) == devcontainer.Nothing && !devcontainer.HasEntry(v.Tree, full) {
					start, end := i.Find(m.Source)
					f := v.AtDockerfile(start, end, fmt.Sprintf("the build's context has no %s", m.Source),
						fmt.Sprintf("the context is the folder %s", shownFolder(v, context)))
					f.Severity = diag.SeverityWarning // a file that each person makes, such as a certificate
					out = append(out, f)
				}
			}
		}
		c, ok := i.Command.(*instructions.CopyCommand)
		if !ok || c.From != "" {
			continue
		}
		if f := nothingMatches(v, i, c, context, comparing); f.Message != "" {
			out = append(out, f)
		}
		above := false // what it lacks lies in the project's folder
		for _, written := range c.SourcePaths {
			name := i.Expand(written)
			if above || strings.ContainsAny(name, "*?[$") || strings.Contains(name, "://") || path.Base(name) == devcontainer.SettingsName {
				continue // SBX823 is about settings
			}
			start, end := i.Find(written)
			full := path.Join(context, path.Clean("/"+name))
			switch {
			case strings.HasPrefix(path.Clean(name), ".."):
				out = append(out, v.AtDockerfile(start, end, fmt.Sprintf("%s lies outside of the build's context", name),
					"COPY takes only files of the context: set a context that holds it, such as \"context\": \"..\", and write the path from there"))
			case v.Tree.Kind(full) == devcontainer.Nothing && !devcontainer.HasEntry(v.Tree, full):
				f := v.AtDockerfile(start, end, fmt.Sprintf("the build's context has no %s", name),
					fmt.Sprintf("COPY takes only files of the context, the folder %s", shownFolder(v, context)))
				if path.IsAbs(name) {
					f.Hint += "; its paths begin there, with or without a / in front"
				}
				if above = context != v.Home && v.Tree.Kind(path.Join(v.Home, path.Clean("/"+name))) != devcontainer.Nothing; above {
					if narrow {
						continue
					}
					line, _ := v.Build.File.Doc.Position(start)
					f, narrow = narrowContext(v, f, context, fmt.Sprintf("%s for the COPY in line %d of %s", name, line,
						path.Base(v.Build.File.Doc.File)))
				}
				out = append(out, f)
			}
		}
	}
	return out
}

// narrowContext is the finding that the context of the build lacks what the project's folder has: where the context is
// named, or would be, unless the build takes other files from it.
func narrowContext(v *rule.View, f rule.Finding, context, what string) (found rule.Finding, said bool) {
	at := contextPlace(v)
	own := rule.Once(v, "files of the context alone: "+context, func(v *rule.View) bool { return takesOwnFiles(v, context) })
	if at.Doc == nil || own {
		f.Hint += fmt.Sprintf("; the project's folder has it: write %s for the build", contextOfProject(v))
		if own {
			f.Hint += fmt.Sprintf(", and put %s/ in front of the other files", shownFolder(v, context))
		}
		return f, false
	}
	f.Place, f.Hint = at, "write "+contextOfProject(v)
	f.Message = fmt.Sprintf("the build's context is the folder %s, which has no %s; the project's folder has it",
		shownFolder(v, context), what)
	return f, true
}

// takesOwnFiles reports whether a COPY takes what the context has and the project's folder has not.
func takesOwnFiles(v *rule.View, context string) bool {
	return slices.ContainsFunc(v.Build.Instructions(), func(i *dockerfile.Instruction) bool {
		c, ok := i.Command.(*instructions.CopyCommand)
		return ok && c.From == "" && slices.ContainsFunc(c.SourcePaths, func(written string) bool {
			name := path.Clean("/" + i.Expand(written))
			return v.Tree.Kind(path.Join(context, name)) != devcontainer.Nothing && v.Tree.Kind(path.Join(v.Home, name)) == devcontainer.Nothing
		})
	})
}

// contextPlace is the place where the configuration, or the dev container's service, names the context of the build,
// or the Dockerfile, next to which a context would stand.
func contextPlace(v *rule.View) rights.Place {
	if v.ByCompose() {
		build := v.Composed.Dev().Get("build")
		if build != nil && build.Kind == compose.Scalar {
			return rule.ComposePlace(build)
		}
		return rule.ComposePlace(cmp.Or(build.Get("context"), build.Get("dockerfile")))
	}
	build := v.Root.Member("build")
	for _, n := range []*jsonc.Node{build.Member("context"), v.Root.Member("context"), build.Member("dockerfile"),
		v.Root.Member("dockerFile")} {
		if n != nil {
			return v.AtValue(n, "", "").Place
		}
	}
	return rights.Place{}
}

// contextOfProject is how the configuration, or the dev container's service, names the project's folder for the context of a build.
func contextOfProject(v *rule.View) string {
	from, form := v.Dir, `"context": %q`
	if v.ByCompose() {
		from, form = path.Join(v.Dir, path.Dir(v.Composed.First)), "context: %s"
	}
	up, err := filepath.Rel(from, v.Home)
	if err != nil {
		up = ".."
	}
	return fmt.Sprintf(form, filepath.ToSlash(up))
}

// maxCompared bounds the bytes of patterns that are compared with names, or of names that are looked for in texts, by one rule.
const maxCompared = 32 << 20

// nothingMatches reports a COPY of a pattern alone that no file of its folder matches: BuildKit copies nothing.
func nothingMatches(v *rule.View, i *dockerfile.Instruction, c *instructions.CopyCommand, context string,
	comparing *budget.Budget) rule.Finding {
	if len(c.SourcePaths) != 1 || len(c.SourceContents) > 0 {
		return rule.Finding{}
	}
	name := path.Clean("/" + i.Expand(c.SourcePaths[0]))
	folder, pattern := path.Join(context, path.Dir(name)), path.Base(name)
	if !strings.ContainsAny(pattern, "*?") || strings.ContainsAny(path.Dir(name), "*?[$") || strings.Contains(pattern, "$") ||
		v.Tree.Kind(folder) != devcontainer.Folder {
		return rule.Finding{}
	}
	entries := v.Tree.List(folder)
	if !comparing.Spend(len(entries) * len(pattern)) {
		return rule.Finding{}
	}
	for _, entry := range entries {
		if match, err := path.Match(pattern, entry); match || err != nil {
			return rule.Finding{}
		}
	}
	start, end := i.Find(c.SourcePaths[0])
	f := v.AtDockerfile(start, end, fmt.Sprintf("no file matches %s, so nothing is copied", c.SourcePaths[0]),
		fmt.Sprintf("the context is the folder %s", shownFolder(v, context)))
	f.Severity = diag.SeverityWarning
	return f
}

// buildContext returns the folder of the tree that a build gets. A context elsewhere, and
// a folder that is not there, have rules of their own.
func buildContext(v *rule.View) (folder string, known bool) {
	if v.Tree == nil || v.Build == nil || v.Bare || v.Root.Member("initializeCommand") != nil { // which may make files of it
		return "", false
	}
	if v.Root.Member("context") != nil && v.Root.Member("build").Member("dockerfile") != nil { // SBX206: another one was meant
		return "", false
	}
	folder = v.Context()
	return folder, !devcontainer.LeavesTree(folder) && !strings.ContainsAny(folder, "$:") && v.Tree.Kind(folder) == devcontainer.Folder
}

func shownFolder(v *rule.View, folder string) string {
	if folder == v.Home || folder == "." {
		return "of the project"
	}
	return strings.TrimPrefix(folder, v.Home+"/")
}

// quotedArrays reports CMD and ENTRYPOINT with single quotes, which make a shell's text of
// what was meant as an array.
func quotedArrays(v *rule.View) (out []rule.Finding) {
	for _, i := range v.Build.Instructions() {
		_, rest, _ := strings.Cut(i.Source(), " ")
		rest = strings.TrimSpace(rest)
		if slices.Contains([]string{"CMD", "ENTRYPOINT", "SHELL", "RUN"}, i.Name) && meantArray(i, rest) {
			out = append(out, v.AtDockerfile(i.Start, i.HeadEnd,
				fmt.Sprintf("%s is no array: JSON has double quotes, and a shell gets this text", i.Name),
				fmt.Sprintf("write %s %s", i.Name, quotesOfJSON(rest))))
		}
		if f := misreadText(i); f.Message != "" {
			f.Place = v.AtDockerfile(i.Start, i.HeadEnd, "", "").Place
			out = append(out, f)
		}
	}
	return out
}

// meantArray reports whether a shell gets a text that was meant as an array.
func meantArray(i *dockerfile.Instruction, rest string) bool {
	if !strings.HasPrefix(rest, "[") || !strings.HasSuffix(rest, "]") || strings.Contains(rest, "\n") {
		return false
	}
	if strings.HasPrefix(rest, "['") && i.Name != "RUN" {
		return true
	}
	var line instructions.ShellDependantCmdLine
	switch c := i.Command.(type) {
	case *instructions.CmdCommand:
		line = c.ShellDependantCmdLine
	case *instructions.EntrypointCommand:
		line = c.ShellDependantCmdLine
	case *instructions.RunCommand:
		line = c.ShellDependantCmdLine
	}
	return line.PrependShell && likeArray.MatchString(rest)
}

// likeArray matches words between brackets with commas, and one word; [ … ] with spaces is a test of the shell's.
var likeArray = lazyregexp.New(`^\[["'“”‘’]?[\w./$-]+["'“”‘’]?(\s*,\s*["'“”‘’]?[^,\]]+)*\s*\]$`)

// quotesOfJSON is an array with the quotes that JSON has.
func quotesOfJSON(text string) string {
	text = strings.NewReplacer("'", `"`, "“", `"`, "”", `"`, "‘", `"`, "’", `"`).Replace(text)
	if strings.Contains(text, `"`) {
		return text
	}
	words := strings.Split(strings.Trim(text, "[]"), ",")
	for n, w := range words {
		words[n] = `"` + strings.TrimSpace(w) + `"`
	}
	return "[" + strings.Join(words, ", ") + "]"
}

// misreadText reports, without its place, a variable whose value begins with the equals sign, and an array that holds
// a shell's line or operators, which no shell reads.
func misreadText(i *dockerfile.Instruction) rule.Finding {
	var line instructions.ShellDependantCmdLine
	switch c := i.Command.(type) {
	case *instructions.EnvCommand:
		if len(c.Env) == 1 && c.Env[0].NoDelim && strings.HasPrefix(c.Env[0].Value, "=") {
			return rule.Finding{Message: fmt.Sprintf("the value of %s is %q", c.Env[0].Key, c.Env[0].Value),
				Hint: "write ENV NAME=VALUE without spaces around ="}
		}
		return rule.Finding{}
	case *instructions.RunCommand:
		line = c.ShellDependantCmdLine
	case *instructions.CmdCommand:
		line = c.ShellDependantCmdLine
	case *instructions.EntrypointCommand:
		line = c.ShellDependantCmdLine
	}
	if line.PrependShell || len(line.CmdLine) == 0 {
		return rule.Finding{}
	}
	const hint = "write it without the brackets, or one word per element"
	if first := strings.TrimSpace(line.CmdLine[0]); i.Name == "RUN" && len(line.CmdLine) == 1 && strings.Contains(first, " ") &&
		!strings.Contains(first, "/") {
		return rule.Finding{Message: fmt.Sprintf("this runs a program called %q", first), Hint: hint, Severity: diag.SeverityError}
	}
	for _, word := range line.CmdLine[1:] {
		if word == "&&" || word == "||" || word == "|" {
			return rule.Finding{Message: fmt.Sprintf("%q is a word to the program, not the shell's", word), Hint: "write it without the brackets"}
		}
	}
	return variableInArray(i, line.CmdLine)
}

// stagesTwice reports a second stage of one name, which --from and build.target may or may
// not mean.
func stagesTwice(v *rule.View) (out []rule.Finding) {
	if v.Build == nil {
		return nil
	}
	seen := map[string]bool{}
	for _, s := range v.Build.File.Stages {
		if s.Name != "" && seen[s.Name] {
			out = append(out, v.AtDockerfile(s.From.Start, s.From.HeadEnd, fmt.Sprintf("a second stage is called %s", s.Name),
				"give each stage a name of its own"))
		}
		seen[s.Name] = true
	}
	return out
}
