package lint

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/baseimage"
	"github.com/org/claude-sandbox/devcontainer/budget"
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
	reading := budget.New(maxBrought)
	for _, s := range neededStages(v) {
		if s.Parent == nil {
			image, _ := baseimage.Of(s.Base().Image)
			out = append(out, scriptsOfContext(v, s, image, context, reading)...)
		}
	}
	out = slices.Concat(out, filesBrought(v, context), ignoreElsewhere(v))
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
	place, from, modeSet, folder := path.Clean(start.Words[0]), "", false, "/"
	for _, i := range v.Build.Final.History() {
		folder = workdirAfter(folder, i)
		if name, _ := under(placesOf(v, context, folder, i), place); name != "" && v.Tree.Kind(name) == devcontainer.File {
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
	image, _ := baseimage.Of(v.BaseImage())
	src, err := v.Tree.Read(from)
	program := dockerfile.Interpreter(src)
	if err != nil || slices.ContainsFunc(v.Build.Final.History(), func(i *dockerfile.Instruction) bool {
		return i.Name == "RUN" && strings.Contains(i.Source(), program)
	}) {
		image = baseimage.Image{} // a step may install it
	}
	f := scriptRefused(v, from, place, image, modeSet, nil)
	text := string(src)
	binary := strings.Contains(text, "\x00") || strings.HasPrefix(text, "\x7f")
	if f.Message == "" && text != "" && !binary && !strings.HasPrefix(text, "#!") {
		const message = "%s does not begin with #!: the engine refuses it (exec format error), unless a shell starts it"
		f = rule.Finding{Place: firstLineOf(v, from), Message: fmt.Sprintf(message, place),
			Hint: "let its first line be #!/bin/sh", Severity: diag.SeverityWarning} // the reference CLI's does
	}
	passes := strings.Contains(text, "$@") || strings.Contains(text, "$*") || staysUp.MatchString(ofRun.ReplaceAllString(text, ""))
	shellScript := program == "sh" || program == "bash" || program == "dash"
	if cmd := v.Build.Final.Last("CMD"); f.Message == "" && cmd != nil && shellScript && !passes {
		f = rule.Finding{Place: lastLineOf(v, from), Message: fmt.Sprintf("%s never runs the CMD, so the container ends with the script", place),
			Hint: `end the script with exec "$@"`, Severity: diag.SeverityWarning}
	}
	if f.Doc == nil {
		f.Place = start.Place
	}
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

// placesOf returns what a COPY or an ADD brings from the context, by its place: files, and folders for what is in them. folder is WORKDIR.
func placesOf(v *rule.View, context, folder string, i *dockerfile.Instruction) map[string]string {
	var brings instructions.SourcesAndDest
	switch c := i.Command.(type) {
	case *instructions.CopyCommand:
		if c.From != "" || c.Parents || len(c.ExcludePatterns) > 0 {
			return nil
		}
		brings = c.SourcesAndDest
	case *instructions.AddCommand: // addresses have a colon
		brings = c.SourcesAndDest
	}
	out := map[string]string{}
	to := placeFrom(folder, i, brings.DestPath)
	into := strings.HasSuffix(i.Expand(brings.DestPath), "/") || to == folder || len(brings.SourcePaths) > 1
	for _, written := range brings.SourcePaths {
		name := i.Expand(written)
		if strings.ContainsAny(name+to, "$*?[<:") {
			continue
		}
		full, place := path.Join(context, path.Clean("/"+name)), to
		if into && v.Tree.Kind(full) == devcontainer.File {
			place = path.Join(to, path.Base(full))
		}
		out[place] = full
	}
	return out
}

// under returns what stands at a place of the image, by the nearest place above that something was brought to, and that one.
func under(brought map[string]string, place string) (full, at string) {
	for at = place; len(brought) > 0; at = path.Dir(at) {
		if from, is := brought[at]; is {
			return path.Join(from, strings.TrimPrefix(place, at)), at
		}
		if at == "/" || at == "." {
			break
		}
	}
	return "", ""
}

// readers are programs whose first operand is a file that must be there.
var readers = append([]string{"python", "python3", "node", "ruby", "perl", "php"}, shell.Shells...)

// mayMake matches steps that may bring files without naming them.
var mayMake = lazyregexp.New(`\b(git|curl|wget|tar|unzip|cp|mv|cd|init|new|create|rsync|ln|make|npx|install -[mdD])\b|--mount|<<|>|\btee\b`)

// scriptsOfContext reports scripts of the context that a step calls and that do not run.
func scriptsOfContext(v *rule.View, s *dockerfile.Stage, image baseimage.Image, context string,
	reading *budget.Budget) (out []rule.Finding) {
	if !slices.ContainsFunc(s.Instructions, func(i *dockerfile.Instruction) bool {
		return i.Name == "RUN" && slices.ContainsFunc(i.Commands, func(cmd *shell.Command) bool { return scriptWord(cmd).Text != "" })
	}) {
		return nil
	}
	type copied struct {
		step    int  // that brings it
		modeSet bool // by it
	}
	brought, by := map[string]string{}, map[string]copied{} // by the place in the image
	judged := map[string]bool{}
	changed, folder := -1, "/" // the last step that may have set the mode of any, and WORKDIR
	for n, i := range s.Instructions {
		folder = workdirAfter(folder, i)
		if i.Name != "RUN" {
			for place, from := range placesOf(v, context, folder, i) {
				brought[place], by[place] = from, copied{n, strings.Contains(i.Source(), "--chmod")}
			}
			continue
		}
		if i.Unread || rewrites.MatchString(i.Source()) {
			clear(brought)
			continue
		}
		changes := strings.Contains(i.Source(), "chmod")
		for _, cmd := range i.Commands {
			w := scriptWord(cmd)
			if w.Text == "" || cmd.OnFailure != shell.Ends || cmd.Folder == "" && !path.IsAbs(w.Text) {
				continue
			}
			place := placeFrom(placeFrom(folder, i, cmd.Folder), i, w.Text)
			if !reading.Spend(perLookup + strings.Count(place, "/")*len(place)/64) {
				continue // each folder above is looked up
			}
			full, at := under(brought, place)
			if full == "" || judged[place] || v.Tree.Kind(full) != devcontainer.File {
				continue
			}
			judged[place] = true // a mode that is set later makes it no worse
			var f rule.Finding
			if w.Start == cmd.Words[0].Start {
				f = scriptRefused(v, full, w.Text, image, by[at].modeSet || changed > by[at].step || changes, reading)
			}
			if f.Message == "" {
				f = scriptMisread(v, full, i, cmd, w.Text, image, reading)
			}
			if f.Message != "" {
				if f.Place.Doc == nil {
					f.Place = v.AtWord(w, "", "").Place
				}
				out = append(out, f)
			}
		}
		if changes {
			changed = n
		}
	}
	return out
}

// rewrites matches steps that may change what is in a script.
var rewrites = lazyregexp.New(`\b(sed|dos2unix|tr|perl)\b`)

// scriptWord returns the word of a command that may name a script: its program's path, or what a shell is given. Its text is "" for none.
func scriptWord(cmd *shell.Command) shell.Word {
	w := cmd.Words[0]
	if cmd.Is(shell.Shells...) {
		words := cmd.Operands()
		if _, inline := cmd.Flag("-c", "-s", "-o"); inline || len(words) == 0 {
			return shell.Word{}
		}
		w = words[0]
	}
	if !w.Literal || !strings.Contains(w.Text, "/") && !cmd.Is(shell.Shells...) {
		return shell.Word{}
	}
	return w
}

// scriptMisread says why a shell does not read a script as it is meant, or the kernel no script without a shell.
func scriptMisread(v *rule.View, full string, i *dockerfile.Instruction, cmd *shell.Command, name string, image baseimage.Image,
	reading *budget.Budget) rule.Finding {
	doc := v.Readable(relativeTo(v, full))
	if doc == nil || len(doc.Src) > 64<<10 || !reading.Spend(4*len(doc.Src)) || bytes.IndexByte(doc.Src, 0) >= 0 || !utf8.Valid(doc.Src) {
		return rule.Finding{}
	}
	src := doc.Src
	if first, _, _ := bytes.Cut(src, []byte("\n")); bytes.HasPrefix(first, []byte("#!")) && bytes.HasSuffix(first, []byte("\r")) {
		return rule.Finding{Message: name + " has the line ends of Windows (CRLF), which the shell takes for a part of its commands",
			Hint: withLF, Place: firstLineOf(v, full), Severity: diag.SeverityWarning} // some commands survive that
	}
	text, program := string(src), dockerfile.Interpreter(src)
	byPath := !cmd.Is(shell.Shells...)
	if run, ok := i.Command.(*instructions.RunCommand); ok && byPath && !run.PrependShell && text != "" && program == "" {
		return rule.Finding{Message: fmt.Sprintf("%s does not begin with #!, and no shell starts it here (exec format error)", name),
			Hint: "let its first line be #!/bin/sh"}
	}
	if !byPath {
		program = cmd.Name()
	}
	if program != "" && !slices.Contains([]string{"sh", "dash", "bash"}, program) {
		return rule.Finding{}
	}
	if offset, why, refused := shell.Refused(text, false); refused {
		f := rule.Finding{Message: fmt.Sprintf("the shell refuses the script: %s", why), Hint: "try it with: bash -n"}
		if strings.Contains(text[:min(offset, len(text))], "exit") { // it may end before
			f.Severity = diag.SeverityWarning
		}
		v.Also(doc)
		f.Place = rights.Place{Doc: doc, Start: min(offset, len(text)), End: lineEnd(src, min(offset, len(text)))}
		return f
	}
	if program == "bash" || image.Family != baseimage.Debian || replacesShell(i.Stage.History()) {
		return rule.Finding{}
	}
	found := onlyOfBashInScript(text, image)
	if found.what == "" {
		return rule.Finding{}
	}
	return rule.Finding{Severity: found.severity, Hint: "run it with bash",
		Message: fmt.Sprintf("dash, the sh of %s, runs %s and does not know: %s", i.Stage.Base().Image, name, found.what)}
}

// scriptRefused says why the kernel does not run a script; its message is "" when it does, and it has a place when the
// script's own text is wrong.
func scriptRefused(v *rule.View, full, place string, image baseimage.Image, modeSet bool, reading *budget.Budget) rule.Finding {
	if reading.Spent() {
		return rule.Finding{}
	}
	src, err := v.Tree.Read(full)
	if err != nil || !reading.Spend(perLookup+len(src)) {
		return rule.Finding{}
	}
	first, _, _ := bytes.Cut(src, []byte("\n"))
	line := string(first)
	program := dockerfile.Interpreter(src)
	executable, known := devcontainer.Executable(v.Tree, full)
	switch {
	case strings.HasPrefix(line, "#!") && strings.HasSuffix(line, "\r"):
		return rule.Finding{Place: firstLineOf(v, full), Hint: withLF,
			Message: fmt.Sprintf("%s gets the line ends of Windows (CRLF) of this script, and no program is called %q", place,
				strings.TrimSpace(program)+`\r`)}
	case program != "" && image.Lacks(program):
		return rule.Finding{Place: firstLineOf(v, full), Message: fmt.Sprintf("%s wants %s, which the image lacks", place, program),
			Hint:     "install it in the image, or begin the script with #!/bin/sh",
			Severity: diag.SeverityWarning}
	case known && !executable && !modeSet:
		return rule.Finding{Message: fmt.Sprintf("%s is not executable", place),
			Hint: "give --chmod=755 to the step that brings it, or call it with its shell"}
	}
	return rule.Finding{}
}
