package lint

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/schema"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// fromUnpinned reports images of FROM that can become others under the same
// name and tag.
func fromUnpinned(v *rule.View) (out []rule.Finding) {
	for _, i := range unpinned(v) {
		if tag := imageTag(i.name); tag != "" && tag != "latest" {
			out = append(out, v.AtDockerfile(i.at.Start, i.at.End, unpinnedMessage(i.name), hintDigest))
		}
	}
	return out
}

// newestImages reports images that FROM, COPY or a mount takes whatever is newest
// of.
func newestImages(v *rule.View) (out []rule.Finding) {
	images := unpinned(v)
	for _, s := range v.Build.Sources() {
		if !strings.Contains(s.Image, "@sha256:") && strings.ContainsAny(s.Image, "/:") { // a bare name may be a context that the build is given
			images = append(images, namedImage{name: s.Image, at: rights.Place{Start: s.Start, End: s.End}})
		}
	}
	for _, i := range images {
		if tag := imageTag(i.name); tag != "" && tag != "latest" {
			continue
		}
		if refused, _, _ := imageRefused(i.name); refused != "" {
			continue // a placeholder, or a mistake of its own
		}
		out = append(out, v.AtDockerfile(i.at.Start, i.at.End, newestMessage(i.name), hintVersion(strings.TrimSuffix(i.name, ":latest"))))
	}
	return out
}

// unpinned returns the images of FROM without a digest.
func unpinned(v *rule.View) (out []namedImage) {
	for _, s := range neededStages(v) {
		from, ok := s.From.Command.(*instructions.Stage)
		pinned := s.Image == "scratch" || strings.Contains(s.Image, "@sha256:")
		unknown := !s.Known || strings.Contains(s.Image, "${") || stageBelow(v, s) != nil
		if !ok || s.Parent != nil || pinned || unknown {
			continue
		}
		start, end := s.From.Find(from.BaseName)
		out = append(out, namedImage{name: s.Image, at: rights.Place{Start: start, End: end}})
	}
	return out
}

// imageTag returns the tag of an image's name, "" when it has none.
func imageTag(image string) string {
	_, tag, _ := strings.Cut(path.Base(image), ":")
	return tag
}

// buildProblems reports what BuildKit refuses.
func buildProblems(v *rule.View) (out []rule.Finding) {
	if v.Build == nil {
		return
	}
	unread := 0 // the offset of an unknown instruction; those behind it are parts of the same lines mostly
	for n, p := range v.Build.File.Problems {
		if p.Unknown != "" && n > 0 && v.Build.File.Problems[n-1].Unknown != "" && !hasInstruction(v.Build.File.Doc.Src[unread:p.Start]) {
			unread = p.Start
			continue
		}
		unread = p.End
		if p.Stage != nil && !slices.Contains(v.Build.Needed, p.Stage) {
			continue // nothing is built of it
		}
		hint := p.Hint
		message, _, _ := strings.Cut(p.Message, "\n")
		if p.Unknown != "" {
			message = "there is no instruction " + strconv.Quote(p.Unknown)
			if strings.HasPrefix(p.Unknown, "{{") || strings.HasPrefix(p.Unknown, "{%") {
				return []rule.Finding{v.AtDockerfile(p.Start, p.End, "this is a template, and no builder reads it",
					"name the Dockerfile that is made from it")}
			}
			if best := diag.Suggest(strings.ToUpper(p.Unknown), instructionNames); best != "" {
				hint = fmt.Sprintf("did you mean %q?", best)
			} else {
				hint = `the line above may lack its \ at the end`
			}
		}
		out = append(out, v.AtDockerfile(p.Start, p.End, message, hint))
	}
	return out
}

// hasInstruction reports whether a line of a text begins with the name of an instruction.
func hasInstruction(src []byte) bool {
	for line := range bytes.Lines(src) {
		if words := bytes.Fields(line); len(words) > 0 && slices.Contains(instructionNames, strings.ToUpper(string(words[0]))) {
			return true
		}
	}
	return false
}

var instructionNames = []string{"ADD", "ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "LABEL",
	"MAINTAINER", "ONBUILD", "RUN", "SHELL", "STOPSIGNAL", "USER", "VOLUME", "WORKDIR"}

// targetMissing reports a build target that is no stage: the file's, or that of
// the Compose service.
func targetMissing(v *rule.View) (out []rule.Finding) {
	if v.Build == nil || v.Build.Final != nil || len(v.Build.File.Stages) == 0 {
		return
	}
	target, ok := v.Build.Target.Str()
	var inService *compose.Node
	if s := v.Composed.Dev(); s != nil {
		inService = s.Get("build").Get("target")
		target, ok = inService.String(), inService.String() != ""
	}
	if !ok || strings.Contains(target, "$") {
		return
	}
	var names []string
	for _, s := range v.Build.File.Stages {
		if s.Name != "" {
			names = append(names, s.Name)
		}
	}
	hint := "the Dockerfile names no stages"
	if len(names) > 0 {
		hint = schema.DidYouMean(target, names)
	}
	message := fmt.Sprintf("the Dockerfile has no stage %q", target)
	if inService != nil {
		out = append(out, rule.AtCompose(inService, message, hint))
		return
	}
	out = append(out, v.AtValue(v.Build.Target, message, hint))
	return out
}

// predefined arguments need no ARG (Dockerfile reference, "Predefined ARGs").
var predefined = lazyregexp.New(`^((?i:https?|ftp|no|all)_(?i:proxy)|BUILDKIT_.*|TARGET.*|BUILD(PLATFORM|OS|ARCH|VARIANT)|` +
	`SOURCE_DATE_EPOCH)$`)

// unusedArguments reports build.args that the Dockerfile does not take.
func unusedArguments(v *rule.View) (out []rule.Finding) {
	if v.Build == nil || len(v.Build.File.Problems) > 0 {
		return
	}
	var known []string
	all := v.Build.File.Global
	for _, s := range v.Build.File.Stages {
		all = append(all[:len(all):len(all)], s.Instructions...)
	}
	for _, i := range all {
		if arg, ok := i.Command.(*instructions.ArgCommand); ok {
			for _, kv := range arg.Args {
				known = append(known, kv.Key)
			}
		}
	}
	unused := func(name string) (message, hint string) {
		if slices.Contains(known, name) || predefined.MatchString(name) {
			return "", ""
		}
		if best := nearest(name, known); best != "" {
			return fmt.Sprintf("the Dockerfile has no ARG %s", name), fmt.Sprintf("did you mean %q?", best)
		}
		return fmt.Sprintf("the Dockerfile has no ARG %s", name), "declare it with ARG, or remove it"
	}
	for _, m := range v.Build.Args.Fields() {
		if message, hint := unused(m.Name); message != "" {
			out = append(out, v.AtName(m, message, hint))
		}
	}
	if dev := v.Composed.Dev(); dev != nil {
		for _, m := range dev.Get("build").Get("args").Variables() {
			if message, hint := unused(m.Name); message != "" {
				out = append(out, rule.AtCompose(m.Node, message, hint))
			}
		}
	}
	return out
}

// stageMissing reports --from that names a stage which is not there.
func stageMissing(v *rule.View) (out []rule.Finding) {
	for _, i := range v.Build.Instructions() {
		for _, from := range i.Sources() {
			if v.Build.File.StageOf(i, from) != nil || strings.ContainsAny(from, "$/:.@") {
				continue
			}
			_, notNumber := strconv.Atoi(from)
			var names []string
			for _, s := range v.Build.File.Stages {
				if s.Name != "" && s.Index < i.Stage.Index {
					names = append(names, s.Name)
				}
			}
			later := v.Build.File.Target(from)
			best := nearest(strings.ToLower(from), names)
			word := i.Stage.Index > 0 && slices.Contains(namesOfStages, strings.ToLower(from))
			if notNumber != nil && later == nil && best == "" && !word || v.BuildContext(from) {
				continue // an image or a context of that name
			}
			message, hint := fmt.Sprintf("no earlier stage is called %q", from), stageMeant(best, names)
			severity := diag.Severity("") // the rule's
			switch {
			case notNumber == nil:
				message = fmt.Sprintf("there is no stage number %s before this one", from)
				hint = fmt.Sprintf("stages count from 0, and this is number %d", i.Stage.Index)
			case later != nil:
				hint = "a stage can only take from stages above it"
				if later == i.Stage {
					message, hint = fmt.Sprintf("the stage %q takes from itself", from), "write a FROM for the stage that takes the files, above this"
				}
			case best == "": // somebody may have built an image of that name
				message, severity = message+", so the builder looks for an image of that name", diag.SeverityWarning
			}
			start, end := i.Find("--from=" + from)
			f := v.AtDockerfile(start, end, message, hint)
			f.Severity = severity
			out = append(out, f)
		}
	}
	return append(out, stagesMisspelt(v)...)
}

// onbuild notes triggers.
func onbuild(v *rule.View) (out []rule.Finding) {
	for _, i := range v.Build.History() {
		if i.Name == "ONBUILD" {
			out = append(out, v.AtDockerfile(i.Start, i.HeadEnd, "ONBUILD does nothing here", "write the instruction itself"))
		}
	}
	return out
}

// lineInstruction is how the reference CLI finds FROM and USER
// (dockerfileUtils.ts): at the start of any line, in any case.
var lineInstruction = lazyregexp.New(`(?i)^(FROM[\t ]+[^\s]+|USER[\t ]+[^\s=]+)`)

// misread reports lines that only the reference CLI takes for instructions, and
// a FROM whose image it does not find. Both end in a build that fails, or in
// rights of another user than the Dockerfile's.
func misread(v *rule.View) (out []rule.Finding) {
	if v.Build == nil || v.Build.Final == nil {
		return
	}
	var real []int // where instructions begin, one behind the other
	for _, s := range v.Build.File.Stages {
		real = append(real, s.From.Start)
		if line := strings.TrimRight(s.From.Source()[:s.From.HeadEnd-s.From.Start], " \t"); strings.HasSuffix(line, `\`) {
			out = append(out, v.AtDockerfile(s.From.Start, s.From.HeadEnd, "the reference CLI does not read on in the next line",
				"write FROM in one line"))
		}
		for _, i := range s.Instructions {
			real = append(real, i.Start)
		}
	}
	at := 0
	for line := range bytes.Lines(v.Build.File.Doc.Src) {
		begin := at + len(line) - len(bytes.TrimLeft(line, "\t "))
		at += len(line)
		if begin+4 > at {
			continue
		}
		word := v.Build.File.Doc.Src[begin : begin+4]
		if !bytes.EqualFold(word, []byte("FROM")) && !bytes.EqualFold(word, []byte("USER")) {
			continue
		}
		if _, found := slices.BinarySearch(real, begin); found {
			continue
		}
		if m := lineInstruction.FindStringIndex(string(v.Build.File.Doc.Src[begin:at])); m != nil {
			out = append(out, v.AtDockerfile(begin, begin+m[1], fmt.Sprintf("the reference CLI takes this line for %s", bytes.ToUpper(word)),
				"let the line start with something else, or keep the script in a file of its own"))
		}
	}
	return out
}
