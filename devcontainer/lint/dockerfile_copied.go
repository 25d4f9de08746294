package lint

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

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
	f := scriptRefused(v, full, place, image, modeSet, nil)
	text := string(src)
	binary := strings.Contains(text, "\x00") || strings.HasPrefix(text, "\x7f")
	if f.Message == "" && text != "" && !binary && !strings.HasPrefix(text, "#!") {
		const message = "%s does not begin with #!: the engine refuses it (exec format error), unless a shell starts it"
		f = rule.Finding{Message: fmt.Sprintf(message, place),
			Hint: "let its first line be #!/bin/sh", Severity: diag.SeverityWarning} // the reference CLI's does
	}
	passes := strings.Contains(text, "$@") || strings.Contains(text, "$*") || staysUp.MatchString(ofRun.ReplaceAllString(text, ""))
	shellScript := program == "sh" || program == "bash" || program == "dash"
	if cmd := v.Build.Final.Last("CMD"); f.Message == "" && cmd != nil && shellScript && !passes {
		f = rule.Finding{Message: fmt.Sprintf("%s never runs the CMD, so the container ends with the script", place),
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

// mayMake matches steps that may bring files without naming them.
var mayMake = lazyregexp.New(`\b(git|curl|wget|tar|unzip|cp|mv|cd|init|new|create|rsync|ln|make|npx|install -[mdD])\b|--mount|<<|>|\btee\b`)

// scriptsOfContext reports scripts of the context that a step calls by their path and that do not run.
func scriptsOfContext(v *rule.View, s *dockerfile.Stage, image baseimage.Image, context string,
	reading *budget.Budget) (out []rule.Finding) {
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
			if f := scriptRefused(v, path.Join(context, path.Clean("/"+b.from)), place, image, modeSet, reading); f.Message != "" {
				if f.Doc == nil {
					f.Place = v.AtWord(cmd.Words[0], "", "").Place
				}
				out = append(out, f)
			}
			delete(brought, place) // a mode that is set later makes it no worse
		}
		if strings.Contains(i.Source(), "sed ") || strings.Contains(i.Source(), "dos2unix") || i.Unread {
			clear(brought)
		} else if changes {
			changed = n
		}
	}
	return out
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
		return rule.Finding{Message: fmt.Sprintf("%s wants %s, which the image lacks", place, program),
			Hint:     "install it above, or begin the script with #!/bin/sh",
			Severity: diag.SeverityWarning}
	case known && !executable && !modeSet:
		return rule.Finding{Message: fmt.Sprintf("%s is not executable", place),
			Hint: "give --chmod=755 to the step that brings it, or call it with its shell"}
	}
	return rule.Finding{}
}
