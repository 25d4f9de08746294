package lint

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// guarded matches commands that ask whether a script is there, or go on without it.
var guarded = lazyregexp.New(`\[\[?\s|\btest\b|\|\||\b(if|for|while|case)\b`)

// hookScripts reports scripts of the project that a hook calls and that do not run.
func hookScripts(v *rule.View) (out []rule.Finding) {
	out = hookMeanings(v, notMountedThere, mountedElsewhere, shellForScript, containersOnHost, readOnlyProject, clonedIntoProject,
		repositoryElsewhere, withoutNetwork, browsersRefused, pathsOfHost)
	if v.Tree == nil {
		return out
	}
	out = append(out, attributesOfScripts(v)...)
	made := false    // an earlier hook may have made files
	written := false // it may have made any, and not only those that an installation makes
	calls := false   // the scripts at hand are those of a hook that comes next, and runs before them
	var madeBefore, writtenBefore, madeByScripts, writtenByScripts bool
	eachHookText(v, func(property string, n *jsonc.Node) {
		switch script := v.IsScript(n); {
		case script && !calls:
			calls, madeBefore, writtenBefore = true, made, written
		case calls && !script:
			calls, madeByScripts, writtenByScripts = false, made, written
			made, written = madeBefore, writtenBefore
			defer func() { made, written = made || madeByScripts, written || writtenByScripts }()
		}
		start, known := v.Home, true
		if property != "initializeCommand" {
			start, known = workspaceOnHost(v)
		}
		if !known {
			return
		}
		if n.Kind == jsonc.String && guarded.MatchString(n.Text) && !v.IsScript(n) {
			made, written = true, true
			return
		}
		chmod := false
		add := func(f rule.Finding) {
			if f.Message != "" {
				out = append(out, at(v, n, f))
			}
		}
		v.EachCommand(n, func(_ *jsonc.Node, cmd *shell.Command) {
			name, byPath := scriptOf(cmd)
			folder, here := folderIn(start, cmd.Folder)
			if to, moves := cmd.Goes(); moves {
				if to, known := folderIn(start, to); known && !written {
					add(folderMissing(v, to, cmd))
					written = v.Tree.Kind(to) != devcontainer.Folder
					made = made || written
				}
				return
			}
			if !here {
				made, written = true, written || !makesNoFile(cmd)
				return
			}
			if !written {
				if f := wantedByCommand(v, folder, cmd); f.Message != "" {
					out, written = append(out, at(v, n, f)), true
				}
			}
			inside := property != "initializeCommand"
			if inside && !written {
				if !strings.Contains(n.Text, "PATH") {
					add(notInPath(v, folder, cmd))
				}
				add(atRoot(v, cmd))
			}
			quiet := name != "" && scriptMakesNoFile(v, path.Join(folder, name)) || v.IsScript(n) && makesNoFile(cmd)
			written = written || !makesNoFile(cmd) && !quiet
			if !made && cmd.OnFailure != shell.Open { // otherwise it may not run at all
				add(packagesMissing(v, folder, cmd, inside))
				if name != "" {
					add(scriptFails(v, folder, name, cmd, byPath, chmod))
				}
			}
			chmod = chmod || cmd.Is("chmod", "find", "xargs")
			_, inline := cmd.Flag("-c") // its text is among the commands
			mayMake := name != "" || cmd.Is(before...) && !inline && !makesNoScript(v, folder, cmd)
			made = made || !quiet && mayMake && !makesOutside(cmd) || !writesOutside(cmd.Files)
		})
	})
	return out
}

// wantedByCommand reports a file or a target that a command cannot do without, unless the text asks whether it fails.
func wantedByCommand(v *rule.View, folder string, cmd *shell.Command) rule.Finding {
	if cmd.OnFailure == shell.Open {
		return rule.Finding{}
	}
	f := wantedFile(v, folder, cmd)
	if f.Message == "" {
		f = targetMissingIn(v, folder, cmd)
	}
	for _, ask := range []func(*rule.View, string, *shell.Command) rule.Finding{exampleMissing, namedMissing, partMissing} {
		if f.Message == "" {
			f = ask(v, folder, cmd)
		}
	}
	if f.Message != "" && !isProject(v) {
		return rule.Finding{}
	}
	if f.Message != "" && cmd.OnFailure == shell.Unheard {
		f.Severity = diag.SeverityWarning
	}
	return f
}

// folderIn returns the folder of the project that is named from the one where a hook starts; known is false for any other place.
func folderIn(start, name string) (folder string, known bool) {
	if name == "" || path.IsAbs(name) {
		return start, false
	}
	folder = path.Join(start, name)
	return folder, !devcontainer.LeavesTree(folder)
}

// folderMissing reports a cd to a folder that is not there.
func folderMissing(v *rule.View, to string, cmd *shell.Command) rule.Finding {
	if !isMissing(v, to) || cmd.OnFailure != shell.Ends || !isProject(v) {
		return rule.Finding{}
	}
	return rule.Finding{Message: fmt.Sprintf("there is no folder %s", cmd.Operands()[0].Text),
		Hint: "the hook starts in the folder that is opened"}
}

// scriptFile matches the files that interpreters besides shells are given.
var scriptFile = lazyregexp.New(`^[\w./-]+\.(py|js|mjs|cjs|rb|pl|php)$`)

// scriptOf returns the relative path of the script that a command runs, "" for none, and
// whether the script itself is the program.
func scriptOf(cmd *shell.Command) (name string, byPath bool) {
	word := cmd.Words[0]
	byPath = true
	if cmd.Is("sh", "bash", "dash", "zsh") {
		if _, inline := cmd.Flag("-c", "-s", "-o"); inline || len(cmd.Operands()) == 0 {
			return "", false
		}
		word, byPath = cmd.Operands()[0], false
	}
	if args := cmd.Args(); cmd.Is("python", "python3", "node", "ruby", "perl", "php") && len(args) > 0 &&
		scriptFile.MatchString(args[0].Text) {
		word, byPath = args[0], false
	}
	text := strings.TrimPrefix(word.Text, "${containerWorkspaceFolder}/")
	program := text == "-" || slices.Contains(shell.Shells, text)
	if path.IsAbs(text) || program || strings.ContainsAny(text, "$*?[~`<>(") || byPath && !strings.Contains(text, "/") {
		return "", false
	}
	return text, byPath
}

// notInPath reports a script of the project that is called by its name alone, which the shell looks for in PATH. Only the
// images that are used as they are have no such program for certain.
func notInPath(v *rule.View, folder string, cmd *shell.Command) rule.Finding {
	name := cmd.Words[0].Text
	byName := strings.HasSuffix(name, ".sh") && !strings.ContainsAny(name, "/$*?[~`<>(")
	if byName && v.Tree.Kind(path.Join(folder, ".devcontainer", name)) == devcontainer.File {
		name = ".devcontainer/" + name
	}
	if !byName || cmd.OnFailure == shell.Open || v.Tree.Kind(path.Join(folder, name)) != devcontainer.File {
		return rule.Finding{}
	}
	asItIs := v.Root.Member("image") != nil && !v.HasFeatures() && len(v.Mounts()) == 0
	if !asItIs || setsPath(v) {
		return rule.Finding{}
	}
	return rule.Finding{Message: fmt.Sprintf("%s is looked for in PATH, not in the folder that is opened", cmd.Words[0].Text),
		Hint: "write ./" + name}
}

// atRoot reports a script of .devcontainer that is called as if the project were the container's root folder.
func atRoot(v *rule.View, cmd *shell.Command) rule.Finding {
	word := cmd.Words[0]
	if args := cmd.Operands(); cmd.Is(shell.Shells...) && len(args) > 0 {
		word = args[0]
	}
	rest := strings.TrimPrefix(word.Text, "/")
	isOurs := word.Literal && strings.HasPrefix(word.Text, "/.devcontainer/") && cmd.OnFailure != shell.Open &&
		v.Tree.Kind(path.Join(v.Home, rest)) == devcontainer.File
	if !isOurs {
		return rule.Finding{}
	}
	if rule.Once(v, "something may bring /.devcontainer", bringsToRoot) || v.Root.Member("workspaceMount") != nil {
		return rule.Finding{}
	}
	return rule.Finding{Message: fmt.Sprintf("there is no script %s: the project is not the container's root folder", word.Text),
		Hint: "hooks start in the folder that is opened: write ./" + rest}
}

// bringsToRoot reports whether the image or a mount may have a folder /.devcontainer.
func bringsToRoot(v *rule.View) bool {
	return v.Build != nil && slices.ContainsFunc(v.Build.History(), func(i *dockerfile.Instruction) bool {
		return strings.Contains(i.Source(), "/.devcontainer") || i.Name == "COPY" && strings.HasSuffix(strings.TrimSpace(i.Source()), " /")
	}) || slices.ContainsFunc(slices.Concat(v.Mounts(), v.ServiceMounts()), func(r rights.Right) bool {
		return r.Mount.Target == "/" || strings.HasPrefix(r.Mount.Target, "/.devcontainer")
	})
}

// setsPath reports whether the configuration sets the folders in which programs are looked for.
func setsPath(v *rule.View) bool {
	return rule.Once(v, "sets PATH", func(v *rule.View) bool {
		return slices.ContainsFunc(v.Of(rights.Env, rights.SessionEnv), func(r rights.Right) bool { return r.Name == "PATH" })
	})
}

// scriptFails says why the script of a command does not run; its message is "" when it does, and it has a place when the
// script's own text is wrong. chmod says that its mode may be another one by then.
func scriptFails(v *rule.View, folder, name string, cmd *shell.Command, byPath, chmod bool) rule.Finding {
	full := path.Join(folder, name)
	if devcontainer.LeavesTree(full) {
		return rule.Finding{}
	}
	first := scriptLineOf(v, full)
	executable, known := devcontainer.Executable(v.Tree, full)
	switch {
	case first.unread && cmd.Is("bash") && path.Base(name) == name && path.Ext(name) == "": // which bash then looks for in PATH
		return rule.Finding{}
	case first.unread:
		parent := path.Dir(full)
		if !isMissing(v, full) && (path.Base(parent) != ".devcontainer" || !isMissing(v, parent)) { // which no build makes
			inNoFolder := v.Tree.Kind(folder) == devcontainer.Folder && v.Tree.Kind(parent) == devcontainer.Nothing
			brought := scriptElsewhere(v, folder, name) == "" && (v.Tree.Kind(path.Join(v.Home, ".gitmodules")) != devcontainer.Nothing ||
				!ofSources.MatchString(path.Clean(name)))
			if path.Ext(name) != ".sh" || !inNoFolder || brought {
				return rule.Finding{}
			}
		}
		other := scriptElsewhere(v, folder, name)
		hint := "add it, or leave the command out; it is looked for from the folder that is opened"
		switch {
		case other == "" && !isProject(v) && path.Base(parent) != ".devcontainer":
			return rule.Finding{} // a configuration for the files of others
		case other != "":
			if byPath && !strings.Contains(other, "/") || strings.HasPrefix(name, "./") {
				other = "./" + other
			}
			hint = fmt.Sprintf("it is looked for from the folder that is opened: did you mean %s?", other)
		}
		return rule.Finding{Message: fmt.Sprintf("there is no script %s", name), Hint: hint}
	case first.windows && (byPath || cmd.Is(shell.Shells...)): // all other interpreters read them
		f := rule.Finding{Message: name + " has the line ends of Windows (CRLF), which the shell takes for a part of its commands",
			Hint: withLF, Place: firstLineOf(v, full), Severity: diag.SeverityWarning} // some commands survive that
		if byPath {
			f.Message = fmt.Sprintf("%s has the line ends of Windows (CRLF), so its first line asks for %q", name, first.asks)
			f.Severity = diag.SeverityError
		}
		return f
	case byPath && known && !executable && !chmod:
		return rule.Finding{Message: fmt.Sprintf("%s is not executable", name),
			Hint: fmt.Sprintf("write %s %s; or run chmod +x %[2]s and git update-index --chmod=+x %[2]s", first.program, name)}
	}
	return rule.Finding{}
}

// ofSources matches scripts in folders that people write, and no build.
var ofSources = lazyregexp.New(`^\.?(scripts?|tools?|hack|devops|ci|github|setup|config|dev|docker|infra|ops|etc|utils?|hooks?)/`)

// scriptElsewhere returns the script that was probably meant by one that is not there, from the folder that is opened: one with nearly its
// name, or in another folder of the project or of .devcontainer; "" for none.
func scriptElsewhere(v *rule.View, folder, name string) string {
	base, parent := path.Base(name), path.Dir(name)
	best := nearest(base, v.Tree.List(path.Join(folder, parent)))
	if best != "" && v.Tree.Kind(path.Join(folder, parent, best)) == devcontainer.File {
		return path.Join(parent, best)
	}
	return rule.Once(v, "files near "+folder, func(v *rule.View) map[string]string { return filesNear(v, folder) })[base]
}

// filesNear are files of the folder that is opened, of .devcontainer and of the folders in both: their path by their name.
func filesNear(v *rule.View, folder string) map[string]string {
	out := map[string]string{}
	for _, top := range []string{".", ".devcontainer"} {
		entries := v.Tree.List(path.Join(folder, top))
		for _, entry := range append([]string{"."}, entries[:min(len(entries), maxCandidates)]...) {
			at := path.Join(top, entry)
			names := v.Tree.List(path.Join(folder, at))
			for _, name := range names[:min(len(names), maxCandidates)] {
				if full := path.Join(at, name); out[name] == "" && v.Tree.Kind(path.Join(folder, full)) == devcontainer.File {
					out[name] = full
				}
			}
		}
	}
	return out
}

// scriptLine is what is known of the first line of a script.
type scriptLine struct {
	unread  bool   // it cannot be read
	windows bool   // it names a program, and ends with CR LF
	program string // that reads the script
	asks    string // what its first line names, with arguments and the CR
}

func scriptLineOf(v *rule.View, full string) scriptLine {
	return rule.Once(v, "first line of "+full, func(v *rule.View) scriptLine {
		src, err := v.Tree.Read(full)
		line, _, more := bytes.Cut(src, []byte("\n"))
		asks, named := strings.CutPrefix(string(line), "#!")
		return scriptLine{unread: err != nil, program: cmp.Or(dockerfile.Interpreter(src), "sh"),
			windows: more && named && strings.HasSuffix(asks, "\r"), asks: strings.TrimLeft(asks, " ")}
	})
}

// packagesMissing reports a file of packages that a command reads and that is not there.
func packagesMissing(v *rule.View, folder string, cmd *shell.Command, inside bool) (f rule.Finding) {
	list := packageList(cmd)
	if list == "" {
		return f
	}
	if f = listMissing(v, path.Join(folder, list), list); f.Message == "" && inside {
		f = listAbove(v, folder, list)
	}
	return f
}

// listMissing says that a file of packages is not there; its message is "" when it is.
func listMissing(v *rule.View, full, name string) rule.Finding {
	if devcontainer.LeavesTree(full) || !isMissing(v, full) {
		return rule.Finding{}
	}
	f := rule.Finding{Message: fmt.Sprintf("there is no file %s", name), Hint: "it is looked for from the folder that is opened"}
	if other := scriptElsewhere(v, path.Clean(strings.TrimSuffix(full, path.Clean(name))), name); other != "" {
		f.Hint += fmt.Sprintf(": did you mean %s?", other)
	}
	return f
}

// listAbove reports a file of packages that is named as if the hook started in .devcontainer. The container of an image has
// nothing above the project.
func listAbove(v *rule.View, folder, name string) rule.Finding {
	here, up := strings.CutPrefix(name, "../")
	if !up || folder != v.Home || v.Root.Member("image") == nil || len(v.Mounts()) > 0 ||
		v.Tree.Kind(path.Join(folder, here)) != devcontainer.File {
		return rule.Finding{}
	}
	return rule.Finding{Message: fmt.Sprintf("there is no file %s: the container has nothing above the folder that is opened", name),
		Hint: "hooks start in the folder that is opened, not in .devcontainer: write " + here}
}

// isMissing reports whether a folder that is there has no such entry. One that is not there either is mostly
// made by a build.
func isMissing(v *rule.View, full string) bool {
	parent := path.Dir(full)
	return v.Tree.Kind(full) == devcontainer.Nothing && v.Tree.Kind(parent) == devcontainer.Folder &&
		!devcontainer.HasEntry(v.Tree, full)
}

// attributesOfScripts reports lines of .gitattributes that give scripts of a hook the line ends of Windows, and a file whose name git
// does not read.
func attributesOfScripts(v *rule.View) (out []rule.Finding) {
	if v.Tree == nil || v.Kind() != devcontainer.ConfigFile {
		return nil
	}
	calls := false
	v.EachHookText(func(text string) { calls = calls || strings.Contains(text, ".sh") })
	if !calls {
		return nil
	}
	for _, name := range []string{".gitattributes", ".gitattribute", "gitattributes", ".gitatributes", ".devcontainer/.gitattribute"} {
		full := path.Join(v.Home, name)
		if v.Tree.Kind(full) != devcontainer.File {
			continue
		}
		src, err := v.Tree.Read(full)
		if err != nil || len(src) > jsonc.MaxSize {
			continue
		}
		at := crlfScripts.FindSubmatchIndex(src)
		wrong := path.Base(name) != ".gitattributes"
		if wrong {
			at = []int{0, len(firstLine(src))}
		}
		doc := v.Readable(relativeTo(v, full))
		if at == nil || doc == nil {
			continue
		}
		f := rule.Finding{Place: rights.Place{Doc: doc, Start: at[0], End: at[1]}, Severity: diag.SeverityWarning,
			Message: "git writes these scripts with the line ends of Windows, and the container's shell refuses them",
			Hint:    "write *.sh text eol=lf"}
		if wrong {
			f.Message, f.Hint = fmt.Sprintf("git reads no file %s", path.Base(name)), "call it .gitattributes"
		}
		v.Also(doc)
		out = append(out, f)
	}
	return out
}

var crlfScripts = lazyregexp.New(`(?m)^\*(\.sh)?[ \t]+([^#\n]*[ \t])?eol=crlf`)

// withLF is the hint about a script with the line ends of Windows.
const withLF = "save it with LF, and keep it so with a line of .gitattributes: *.sh text eol=lf"

// firstLineOf is the place of a file's first line; it has no document when the file cannot be read.
func firstLineOf(v *rule.View, full string) rights.Place {
	doc := v.Readable(relativeTo(v, full))
	if doc == nil {
		return rights.Place{}
	}
	v.Also(doc)
	return rights.Place{Doc: doc, End: len(firstLine(doc.Src))}
}

// lastLineOf is the place of a file's last line with text.
func lastLineOf(v *rule.View, full string) rights.Place {
	place := firstLineOf(v, full)
	if place.Doc != nil {
		text := bytes.TrimRight(place.Doc.Src, " \t\r\n")
		place.Start, place.End = bytes.LastIndexByte(text, '\n')+1, len(text)
	}
	return place
}

func firstLine(src []byte) string {
	line, _, _ := strings.Cut(string(src), "\n")
	return line
}

// relativeTo is a name of the tree as the configuration would write it.
func relativeTo(v *rule.View, full string) string {
	up := ""
	for dir := path.Clean(v.Dir); dir != path.Clean(v.Home) && dir != "." && dir != "/"; dir = path.Dir(dir) {
		up += "../"
	}
	return up + strings.TrimPrefix(full, strings.TrimPrefix(v.Home+"/", "./"))
}
