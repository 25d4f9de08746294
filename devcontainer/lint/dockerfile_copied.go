package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/baseimage"
	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// copiedFiles reports files of the context that a step runs or reads, and that are not as they must be: no COPY in
// front brings them, they have the line ends of Windows, are not executable, or want a shell that the image lacks.
func copiedFiles(v *rule.View) (out []rule.Finding) {
	context, known := buildContext(v)
	if !known {
		return nil
	}
	for _, s := range neededStages(v) {
		image, ok := baseimage.Of(s.Base().Image)
		if ok && image.Official() {
			out = append(out, readTooEarly(v, s)...)
		}
		if s.Parent == nil {
			out = append(out, scriptsOfContext(v, s, image, context)...)
			out = append(out, listsOfLists(v, s, context)...)
		}
	}
	if f := startRefused(v, context); f.Message != "" {
		out = append(out, f)
	}
	return out
}

// startRefused reports a script of the context that the container begins with and that does not run. The reference CLI leaves
// the ENTRYPOINT of a Dockerfile out unless overrideCommand is false, and that of a service unless it is true.
func startRefused(v *rule.View, context string) rule.Finding {
	start, command := v.Start()
	if len(start.Words) == 0 {
		start = command
	}
	if len(start.Words) == 0 {
		return rule.Finding{}
	}
	own := start.Notation == rights.Dockerfile || start.Notation == rights.Compose && v.ByCompose()
	override := v.Root.Member("overrideCommand")
	runs := v.ByCompose() && !override.Is(true) || override.Is(false)
	if !own || !runs || start.Next || v.Build.Final == nil || v.HasFeatures() {
		return rule.Finding{}
	}
	place, from, modeSet := path.Clean(start.Words[0]), "", false
	for _, i := range v.Build.Final.History() {
		if name, brings := placesOf(i)[place]; brings {
			from, modeSet = name, strings.Contains(i.Source(), "--chmod")
			continue
		}
		changes := i.Name == "RUN" && (i.Unread || strings.Contains(i.Source(), "sed ") || strings.Contains(i.Source(), "dos2unix"))
		if changes || i.Name == "COPY" && strings.Contains(i.Source(), "--from") && strings.Contains(i.Source(), path.Dir(place)) {
			from = ""
		}
		modeSet = modeSet || strings.Contains(i.Source(), "chmod") || strings.Contains(i.Source(), "install ")
	}
	if from == "" {
		return startMissing(v, start, place)
	}
	full := path.Join(context, path.Clean("/"+from))
	image, _ := baseimage.Of(v.BaseImage())
	src, err := v.Tree.Read(full)
	program := dockerfile.Interpreter(src)
	if err != nil || slices.ContainsFunc(v.Build.Final.History(), func(i *dockerfile.Instruction) bool {
		return i.Name == "RUN" && strings.Contains(i.Source(), program)
	}) {
		image = baseimage.Image{} // a step may install it
	}
	f := scriptRefused(v, full, place, image, modeSet)
	text := string(src)
	passes := strings.Contains(text, "$@") || strings.Contains(text, "$*") || staysUp.MatchString(ofRun.ReplaceAllString(text, ""))
	shellScript := program == "sh" || program == "bash" || program == "dash"
	if cmd := v.Build.Final.Last("CMD"); f.Message == "" && cmd != nil && shellScript && !passes {
		f = rule.Finding{Message: fmt.Sprintf("%s never runs the CMD, so the container ends with the script", place),
			Hint: `end the script with exec "$@"`, Severity: diag.SeverityWarning}
	}
	f.Place = start.Place
	return f
}

// staysUp matches scripts that may stay, or run something that does.
var staysUp = lazyregexp.New(`\b(exec|sleep|tail|wait|while|until|supervisord|run|start|serve|server|up)\b|-f\b`)

// ofRun matches the folder /run, which says nothing about what stays.
var ofRun = lazyregexp.New(`(/var)?/run/`)

// startMissing reports a program that the container begins with and that nothing can have brought.
func startMissing(v *rule.View, start rights.Right, place string) rule.Finding {
	image, _ := baseimage.Of(v.BaseImage())
	system := strings.HasPrefix(place, "/bin/") || strings.HasPrefix(place, "/usr/") || strings.HasPrefix(place, "/sbin/")
	if !path.IsAbs(place) || system || !image.Official() || image.Family == "" || strings.Contains(place, "$") {
		return rule.Finding{}
	}
	for _, i := range v.Build.Final.History() {
		switch i.Name {
		case "ENTRYPOINT", "CMD", "LABEL", "EXPOSE":
		case "COPY", "ADD", "VOLUME", "ONBUILD":
			return rule.Finding{}
		default:
			if i.Unread || strings.Contains(i.Source(), path.Base(place)) || mayMake.MatchString(i.Source()) {
				return rule.Finding{}
			}
		}
	}
	return rule.Finding{Place: start.Place, Message: fmt.Sprintf("nothing brings %s, so the container does not start", place),
		Hint: "copy it into the image"}
}

// placesOf returns where a COPY or an ADD of single files of the context puts each, with its
// name there: absolute places alone.
func placesOf(i *dockerfile.Instruction) map[string]string {
	var brings instructions.SourcesAndDest
	switch c := i.Command.(type) {
	case *instructions.CopyCommand:
		if c.From != "" {
			return nil
		}
		brings = c.SourcesAndDest
	case *instructions.AddCommand: // addresses have a colon
		brings = c.SourcesAndDest
	}
	out := map[string]string{}
	to := i.Expand(brings.DestPath)
	for _, written := range brings.SourcePaths {
		from := i.Expand(written)
		place := to
		if strings.HasSuffix(to, "/") || len(brings.SourcePaths) > 1 {
			place = path.Join(to, path.Base(from))
		}
		if path.IsAbs(place) && !strings.ContainsAny(from+place, "$*?[<:") {
			out[path.Clean(place)] = from
		}
	}
	return out
}

// readers are programs whose first operand is a file that must be there.
var readers = append([]string{"python", "python3", "node", "ruby", "perl", "php"}, shell.Shells...)

// projectFiles are the files that commands of package managers read in the folder where they run.
var projectFiles = map[string]string{"npm ci": "package.json", "bundle install": "Gemfile", "composer install": "composer.json",
	"go mod download": "go.mod", "poetry install": "pyproject.toml"}

// readBy returns the file that a command cannot do without, "" for none.
func readBy(cmd *shell.Command) (name string, at shell.Word) {
	args := cmd.Args()
	list, listed := cmd.Value("-r", "--requirement")
	switch {
	case hasFlag(cmd, inAnother...):
		return "", at
	case cmd.Is(readers...) && len(args) > 0 && args[0].Literal && (scriptFile.MatchString(args[0].Text) || strings.HasSuffix(args[0].Text,
		".sh")):
		return args[0].Text, args[0]
	case listed && list.Literal && strings.HasPrefix(cmd.Name(), "pip"):
		return list.Text, list
	}
	return projectFiles[joinedWords(cmd)], cmd.Words[0]
}

// mayMake matches steps that may bring files without naming them.
var mayMake = lazyregexp.New(`\b(git|curl|wget|tar|unzip|cp|mv|cd|init|new|create|rsync|ln|make|npx|install -[mdD])\b|--mount|<<|>|\btee\b`)

// readTooEarly reports files that a step needs and that no COPY in front of it brings to an official image.
func readTooEarly(v *rule.View, s *dockerfile.Stage) (out []rule.Finding) {
	folder, all := "/", false
	filled := map[string]bool{} // what COPY brings, and the folders that it fills
	for _, i := range s.History() {
		switch c := i.Command.(type) {
		case *instructions.WorkdirCommand:
			folder = path.Join(folder, i.Expand(c.Path))
			if path.IsAbs(i.Expand(c.Path)) {
				folder = path.Clean(i.Expand(c.Path))
			}
		case *instructions.CopyCommand:
			to := i.Expand(c.DestPath)
			if !path.IsAbs(to) {
				to = path.Join(folder, to)
			}
			filled[path.Clean(to)] = true
			all = all || strings.Contains(to, "$") || c.Parents
		case *instructions.RunCommand:
			all = all || i.Unread || mayMake.MatchString(i.Source())
			for _, cmd := range i.Commands {
				if f := missingInStage(v, i, cmd, folder, filled); !all && i.Stage == s && f.Message != "" {
					out = append(out, f)
					all = true
				}
				if !makesNoFile(cmd) && !cmd.Is(quietPrograms...) {
					all = true
				}
			}
		case *instructions.AddCommand:
			all = true
		}
		all = all || strings.Contains(folder, "$") || i.Name == "ONBUILD"
	}
	return out
}

// missingInStage is the finding about a file that a command reads, without a message when a COPY fills its folder.
func missingInStage(v *rule.View, i *dockerfile.Instruction, cmd *shell.Command, folder string, filled map[string]bool) rule.Finding {
	name, at := readBy(cmd)
	if name == "" || cmd.OnFailure != shell.Ends || strings.ContainsAny(name, "$*~") || strings.Count(i.Source(), path.Base(name)) > 1 {
		return rule.Finding{}
	}
	full := name
	if !path.IsAbs(name) {
		full = path.Join(folder, name)
	}
	if strings.HasPrefix(full, "/usr/") || strings.HasPrefix(full, "/etc/") {
		return rule.Finding{}
	}
	for at := full; ; at = path.Dir(at) {
		if filled[at] {
			return rule.Finding{}
		}
		if at == "/" {
			break
		}
	}
	return v.AtWord(at, fmt.Sprintf("%s is not there yet: no COPY above brings it", full), "put the COPY of the file above this step")
}

// scriptsOfContext reports scripts of the context that a step calls by their path and that do not run.
func scriptsOfContext(v *rule.View, s *dockerfile.Stage, image baseimage.Image, context string) (out []rule.Finding) {
	type script struct {
		from    string
		step    int  // that brings it
		modeSet bool // by it
	}
	brought := map[string]script{} // by the place in the image
	changed := -1                  // the last step that may have set the mode of any
	for n, i := range s.Instructions {
		for place, from := range placesOf(i) {
			brought[place] = script{from, n, strings.Contains(i.Source(), "--chmod")}
		}
		if i.Name != "RUN" {
			continue
		}
		changes := strings.Contains(i.Source(), "chmod") || strings.Contains(i.Source(), "sed ") || strings.Contains(i.Source(), "dos2unix") ||
			i.Unread
		for _, cmd := range i.Commands {
			place := path.Clean(cmd.Words[0].Text)
			b, copied := brought[place]
			if !copied || cmd.OnFailure != shell.Ends {
				continue
			}
			modeSet := b.modeSet || changed > b.step || changes
			if f := scriptRefused(v, path.Join(context, path.Clean("/"+b.from)), place, image, modeSet); f.Message != "" {
				f.Place = v.AtWord(cmd.Words[0], "", "").Place
				out = append(out, f)
				delete(brought, place)
			}
		}
		if strings.Contains(i.Source(), "sed ") || strings.Contains(i.Source(), "dos2unix") || i.Unread {
			clear(brought)
		} else if changes {
			changed = n
		}
	}
	return out
}

// otherList matches a line of a list of packages for pip that names another one.
var otherList = lazyregexp.New(`(?m)^\s*(?:-r|-c|--requirement|--constraint)[ \t=]*([\w./-]+)`)

// listsOfLists reports a list of packages that a stage brings and installs, and that names another one which no COPY brings. It
// looks at stages to which single files of the context come, and nothing else.
func listsOfLists(v *rule.View, s *dockerfile.Stage, context string) (out []rule.Finding) {
	brought := map[string]string{}
	for _, i := range s.Instructions {
		places := placesOf(i)
		for place, from := range places {
			if v.Tree.Kind(path.Join(context, path.Clean("/"+from))) != devcontainer.File {
				return out
			}
			brought[place] = from
		}
		c, copies := i.Command.(*instructions.CopyCommand)
		makes := i.Name == "RUN" && (i.Unread || mayMake.MatchString(i.Source()))
		if copies && len(places) < len(c.SourcePaths) || i.Name == "ADD" || makes {
			return out
		}
		for _, cmd := range i.Commands {
			name, at := readBy(cmd)
			from, ours := brought[path.Clean(name)]
			if !ours || cmd.OnFailure != shell.Ends || !strings.HasPrefix(cmd.Name(), "pip") {
				continue
			}
			src, _ := v.Tree.Read(path.Join(context, path.Clean("/"+from)))
			for _, m := range otherList.FindAllSubmatch(src, -1) {
				place := path.Join(path.Dir(path.Clean(name)), string(m[1]))
				if _, there := brought[place]; !there && !path.IsAbs(string(m[1])) {
					return append(out, v.AtWord(at, fmt.Sprintf("%s names %s, and no COPY brings %s", name, m[1], place),
						"bring both files, into the same folders as in the project"))
				}
			}
		}
	}
	return out
}

// scriptRefused says why the kernel does not run a script, without its place; its message is "" when it does.
func scriptRefused(v *rule.View, full, place string, image baseimage.Image, modeSet bool) rule.Finding {
	src, err := v.Tree.Read(full)
	if err != nil {
		return rule.Finding{}
	}
	line, _, _ := strings.Cut(string(src), "\n")
	program := dockerfile.Interpreter(src)
	executable, known := devcontainer.Executable(v.Tree, full)
	switch {
	case strings.HasPrefix(line, "#!") && strings.HasSuffix(line, "\r"):
		return rule.Finding{Message: fmt.Sprintf("%s has the line ends of Windows, and no program is called %q", place,
			strings.TrimSpace(program)+`\r`),
			Hint: "save it with LF, and keep it so with a line of .gitattributes: *.sh text eol=lf"}
	case program != "" && image.Lacks(program):
		return rule.Finding{Message: fmt.Sprintf("%s wants %s, which the image lacks", place, program),
			Hint:     "install it above, or begin the script with #!/bin/sh",
			Severity: diag.SeverityWarning}
	case known && !executable && !modeSet:
		return rule.Finding{Message: fmt.Sprintf("%s is not executable", place),
			Hint: "give --chmod=755 to the step that brings it, or call it with sh"}
	}
	return rule.Finding{}
}
