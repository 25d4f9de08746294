package devcontainer

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/internal/diag"
)

// fromUnpinned reports images that can become others under the same name.
func (c *pass) fromUnpinned() {
	if c.build == nil {
		return
	}
	for _, s := range c.build.needed {
		from, ok := s.From.Command.(*instructions.Stage)
		if !ok || s.Parent != nil || s.Image == "scratch" || strings.Contains(s.Image, "@sha256:") || !s.Known || strings.Contains(s.Image, "${") {
			continue
		}
		start, end := s.From.Find(from.BaseName)
		if tag := imageTag(s.Image); tag == "" || tag == "latest" {
			c.inBuild(start, end, "SBX726", fmt.Sprintf("%s is whatever is newest at the time of the build", s.Image), "name a version, better a digest")
			continue
		}
		c.inBuild(start, end, "SBX701", fmt.Sprintf("%s is not pinned by digest", s.Image), "write it as NAME:TAG@sha256:…")
	}
	c.sourcesUnpinned()
}

// sourcesUnpinned reports images that COPY or a mount takes whatever is newest
// from.
func (c *pass) sourcesUnpinned() {
	for _, s := range c.build.sources() {
		if strings.Contains(s.image, "@sha256:") || !strings.ContainsAny(s.image, "/:") {
			continue // a bare name may be a context that the build is given
		}
		if tag := imageTag(s.image); tag == "" || tag == "latest" {
			c.inBuild(s.start, s.end, "SBX726", fmt.Sprintf("%s is whatever is newest at the time of the build", s.image), "name a version, better a digest")
		}
	}
}

// imageTag returns the tag of an image's name, "" when it has none.
func imageTag(image string) string {
	_, tag, _ := strings.Cut(path.Base(image), ":")
	return tag
}

// buildProblems reports what BuildKit refuses.
func (c *pass) buildProblems() {
	if c.build == nil {
		return
	}
	for _, p := range c.build.file.Problems {
		hint := ""
		message, _, _ := strings.Cut(p.Message, "\n")
		if p.Unknown != "" {
			message = "there is no instruction " + strconv.Quote(p.Unknown)
			if best := diag.Suggest(strings.ToUpper(p.Unknown), instructionNames); best != "" {
				hint = fmt.Sprintf("did you mean %q?", best)
			}
		}
		c.inBuild(p.Start, p.End, "SBX715", message, hint)
	}
}

var instructionNames = []string{"ADD", "ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "LABEL",
	"MAINTAINER", "ONBUILD", "RUN", "SHELL", "STOPSIGNAL", "USER", "VOLUME", "WORKDIR"}

// targetMissing reports a build target that is no stage: the file's, or that of
// the Compose service.
func (c *pass) targetMissing() {
	if c.build == nil || c.build.final != nil || len(c.build.file.Stages) == 0 {
		return
	}
	target, ok := c.build.target.Str()
	var inService *compose.Node
	if s := c.composed.dev(); s != nil {
		inService = s.Get("build").Get("target")
		target, ok = inService.String(), inService.String() != ""
	}
	if !ok || strings.Contains(target, "$") {
		return
	}
	var names []string
	for _, s := range c.build.file.Stages {
		if s.Name != "" {
			names = append(names, s.Name)
		}
	}
	hint := "the Dockerfile names no stages"
	if len(names) > 0 {
		hint = didYouMean(target, names)
	}
	message := fmt.Sprintf("the Dockerfile has no stage %q", target)
	if inService != nil {
		c.inCompose(inService, "SBX712", message, hint)
		return
	}
	c.at(c.build.target, "SBX712", message, hint)
}

// predefined arguments need no ARG (Dockerfile reference, "Predefined ARGs").
var predefined = regexp.MustCompile(`^((?i:https?|ftp|no|all)_(?i:proxy)|BUILDKIT_.*|TARGET.*|BUILD(PLATFORM|OS|ARCH|VARIANT)|SOURCE_DATE_EPOCH)$`)

// unusedArguments reports build.args that the Dockerfile does not take.
func (c *pass) unusedArguments() {
	if c.build == nil || c.build.args == nil || len(c.build.file.Problems) > 0 {
		return
	}
	var known []string
	all := c.build.file.Global
	for _, s := range c.build.file.Stages {
		all = append(all[:len(all):len(all)], s.Instructions...)
	}
	for _, i := range all {
		if arg, ok := i.Command.(*instructions.ArgCommand); ok {
			for _, kv := range arg.Args {
				known = append(known, kv.Key)
			}
		}
	}
	for _, m := range c.build.args.Members {
		if !slices.Contains(known, m.Name) && !predefined.MatchString(m.Name) {
			hint := "declare it with ARG, or remove it"
			if best := diag.Suggest(m.Name, known); best != "" {
				hint = fmt.Sprintf("did you mean %q?", best)
			}
			c.name(m, "SBX713", fmt.Sprintf("the Dockerfile has no ARG %s", m.Name), hint)
		}
	}
}

// stageMissing reports --from that names a stage which is not there.
func (c *pass) stageMissing() {
	for _, i := range c.build.instructions() {
		for _, from := range i.Sources() {
			if c.build.file.StageOf(i, from) != nil || strings.ContainsAny(from, "$/:.@") {
				continue
			}
			_, notNumber := strconv.Atoi(from)
			var names []string
			for _, s := range c.build.file.Stages {
				if s.Name != "" && s.Index < i.Stage.Index {
					names = append(names, s.Name)
				}
			}
			later := c.build.file.Target(from)
			best := diag.Suggest(strings.ToLower(from), names)
			if notNumber != nil && later == nil && best == "" || c.buildContext(from) {
				continue // an image of that name
			}
			message, hint := fmt.Sprintf("no earlier stage is called %q", from), ""
			switch {
			case notNumber == nil:
				message = fmt.Sprintf("there is no stage number %s before this one", from)
			case later != nil:
				hint = "a stage can only take from stages above it"
			default:
				hint = fmt.Sprintf("did you mean %q?", best)
			}
			start, end := i.Find("--from=" + from)
			c.inBuild(start, end, "SBX719", message, hint)
		}
	}
}

// buildContext reports whether build.options, or the Compose service, names a
// further context, which --from may mean.
func (c *view) buildContext(name string) bool {
	if s := c.composed.dev(); s != nil && slices.ContainsFunc(s.Get("build").Get("additional_contexts").Variables(), func(v compose.Variable) bool { return v.Name == name }) {
		return true
	}
	return slices.ContainsFunc(c.built, func(a rights.Arg) bool {
		return a.Flag == "build-context" && strings.HasPrefix(a.Value, name+"=")
	})
}

// onbuild notes triggers.
func (c *pass) onbuild() {
	for _, i := range c.build.history() {
		if i.Name == "ONBUILD" {
			c.inBuild(i.Start, i.HeadEnd, "SBX721", "ONBUILD does nothing here", "write the instruction itself")
		}
	}
}

// lineInstruction is how the reference CLI finds FROM and USER
// (dockerfileUtils.ts): at the start of any line, in any case.
var lineInstruction = regexp.MustCompile(`(?mi)^[\t ]*((FROM)[\t ]+[^\s]+|(USER)[\t ]+[^\s=]+)`)

// misread reports lines that only the reference CLI takes for instructions, and
// a FROM whose image it does not find. Both end in a build that fails, or in
// rights of another user than the Dockerfile's.
func (c *pass) misread() {
	if c.build == nil || c.build.final == nil {
		return
	}
	real := map[int]bool{}
	for _, s := range c.build.file.Stages {
		real[s.From.Start] = true
		if line := strings.TrimRight(s.From.Source()[:s.From.HeadEnd-s.From.Start], " \t"); strings.HasSuffix(line, `\`) {
			c.inBuild(s.From.Start, s.From.HeadEnd, "SBX711", "the reference CLI does not read on in the next line", "write FROM in one line")
		}
		for _, i := range s.Instructions {
			real[i.Start] = true
		}
	}
	for _, m := range lineInstruction.FindAllSubmatchIndex(c.build.file.Doc.Src, -1) {
		if !real[m[2]] {
			c.inBuild(m[2], m[3], "SBX711", fmt.Sprintf("the reference CLI takes this line for %s", strings.ToUpper(string(c.build.file.Doc.Src[m[2]:m[2]+4]))), "let the line start with something else, or keep the script in a file of its own")
		}
	}
}
