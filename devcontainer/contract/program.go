package contract

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/org"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
	"github.com/org/claude-sandbox/internal/release"
)

const (
	programName   = "sbx-init"
	programPlace  = "/usr/local/sbin/" + programName
	programSource = "/" + programName // in the init image
)

var (
	programPath = lazyregexp.New(`(?:/[\w.-]+)*/sbx-init\b`)
	// programLine is text that a reader takes for the firewall's instruction.
	programLine = lazyregexp.New(`(?mi)^[\t ]*((?:COPY|ADD|ENTRYPOINT)[\t ].*\bsbx-init\b.*)$`)
)

// untouching are programs that neither write nor move the files they name.
var untouching = []string{programName, "chmod", "setcap", "getcap", "true", ":", "echo", "printf", "test", "[", "ls", "stat", "file",
	"which", "command", "type", "cat", "grep", "cmp", "readlink", "sha256sum", "sha512sum"}

// programHint is what to do about all of these.
const programHint = "leave the lines of sbx-devc init as they are, or say with sbx-ignore why this program is the firewall"

// suspect is a place of the Dockerfile that puts something where the firewall
// is.
type suspect struct {
	start, end int
	message    string
}

// firewallProgram reports a Dockerfile that starts something under the name of
// sbx-init which is not, as far as the file says. It reads what is written: a
// script that a build runs can do anything.
func firewallProgram(v *rule.View) (out []rule.Finding) {
	if v.Build == nil || !raisesItself(v) {
		return nil
	}
	c := &programSearch{View: v, asked: map[programPlaceIn]bool{}}
	var found []suspect
	starts := map[*dockerfile.Stage]bool{}
	for _, s := range c.Build.File.Stages {
		place, ok := startedProgram(s)
		if !ok {
			continue
		}
		starts[s] = true
		for _, f := range append(startedBy(s), c.programAt(s, place, s.Last("ENTRYPOINT"))...) {
			if !slices.Contains(found, f) {
				found = append(found, f)
			}
		}
	}
	real := map[int]bool{}
	for _, s := range c.Build.File.Stages {
		for _, i := range s.Instructions {
			real[i.Start] = true
		}
	}
	lost := false
	for _, m := range programLine.FindAllSubmatchIndex(c.Build.File.Doc.Src, -1) {
		if !real[m[2]] {
			lost = true
			found = append(found, suspect{m[2], m[3], "this line is no instruction: it belongs to what begins above it"})
		}
	}
	final := c.Build.Final
	elsewhere := len(starts) > 0 && final != nil && !starts[final]
	if elsewhere && !lost && c.Root.Member("dockerComposeFile") == nil && !isImage(final.Base().Image, release.ImageRepo()) {
		if entrypoint, _ := final.Start(); entrypoint == nil { // another one is SBX802's
			found = append(found, suspect{final.From.Start, final.From.HeadEnd,
				"the container is made from this stage, and only another one starts the firewall"})
		}
	}
	for _, f := range found {
		out = append(out, v.AtDockerfile(f.start, f.end, f.message, programHint))
	}
	return out
}

// programSearch follows the firewall's program through the stages of a build.
type programSearch struct {
	*rule.View
	asked map[programPlaceIn]bool // places that were judged
}

// startedProgram returns the path of the sbx-init that the stage starts.
func startedProgram(s *dockerfile.Stage) (place string, ok bool) {
	entrypoint, _ := s.Start()
	line := strings.Join(entrypoint, " ")
	if !strings.Contains(line, programName) {
		return "", false
	}
	if place = programPath.FindString(line); place == "" {
		place = programPlace // the first folder of the usual PATH
	}
	return path.Clean(place), true
}

// starters are programs that start another one as it is, besides shells.
var starters = []string{programName, "tini", "dumb-init", "docker-init", "catatonit", "env"}

// startedBy returns what speaks against the ENTRYPOINT running the program that
// it names: another one in front, or a search for it in changed folders.
func startedBy(s *dockerfile.Stage) []suspect {
	entrypoint, _ := s.Start()
	use := s.Last("ENTRYPOINT")
	if name := path.Base(entrypoint[0]); !slices.Contains(starters, name) && !slices.Contains(shell.Shells, name) {
		return []suspect{{use.Start, use.HeadEnd, fmt.Sprintf("%s is started, and %s is only a word that it gets", entrypoint[0], programName)}}
	}
	if programPath.MatchString(strings.Join(entrypoint, " ")) {
		return nil
	}
	for _, i := range s.History() {
		if cmd, ok := i.Command.(*instructions.EnvCommand); ok && slices.ContainsFunc(cmd.Env,
			func(kv instructions.KeyValuePair) bool { return kv.Key == "PATH" }) {
			return []suspect{{use.Start, use.HeadEnd, programName + " is looked for in PATH, which this Dockerfile changes"}}
		}
	}
	return nil
}

// programPlaceIn is a file of a stage's image, and what needs it there.
type programPlaceIn struct {
	stage *dockerfile.Stage
	place string
	use   *dockerfile.Instruction
}

// programAt returns what speaks against the file at place, in the stage's
// image, being the published sbx-init. use is what needs it there.
func (c *programSearch) programAt(s *dockerfile.Stage, place string, use *dockerfile.Instruction) []suspect {
	// Stages that copy from stages lead to the same file on many ways, whose
	// suspects are the same.
	at := programPlaceIn{s, place, use}
	if c.asked[at] {
		return nil
	}
	c.asked[at] = true
	base := s.Base()
	brought := isImage(base.Image, release.ImageRepo()) && place == programPlace ||
		isImage(base.Image, release.InitRepo()) && place == programSource
	brought = brought && !c.replaced(base.Image)
	var copies, runs []suspect
	folder := "/"
	for _, i := range s.History() {
		switch cmd := i.Command.(type) {
		case *instructions.WorkdirCommand:
			folder = absolute(folder, i.Expand(cmd.Path))
		case *instructions.CopyCommand:
			switch c.lands(i, cmd.SourcesAndDest, cmd.From, folder, place) {
			case exactly:
				copies, brought = c.copied(i, cmd, place), true
			case maybe:
				if cmd.From == "" || !c.trusted(i, i.Expand(cmd.From)) {
					copies = append(copies, suspect{i.Start, i.HeadEnd, "this can bring another file to " + place + ", after the firewall"})
				}
			}
		case *instructions.AddCommand:
			if c.lands(i, cmd.SourcesAndDest, "", folder, place) != never || c.unpacks(i, cmd, folder, place) {
				copies, brought = append(copies, suspect{i.Start, i.HeadEnd, "ADD can bring another file to " + place}), true
			}
		case *instructions.RunCommand:
			runs = append(runs, touched(i)...)
		}
		if i.Name == "ONBUILD" && strings.Contains(i.Source(), programName) {
			runs = append(runs, suspect{i.Start, i.HeadEnd, "a trigger acts on " + programName})
		}
	}
	if !brought && use != nil {
		copies = append(copies, suspect{use.Start, use.HeadEnd, "nothing here says where " + place + " comes from"})
	}
	return append(copies, runs...)
}

// copied judges the COPY that puts a file at place.
func (c *programSearch) copied(i *dockerfile.Instruction, cmd *instructions.CopyCommand, place string) []suspect {
	from := i.Expand(cmd.From)
	start, end := i.Find(cmd.From)
	if from == "" {
		return []suspect{{i.Start, i.HeadEnd, "a file of the repository becomes " + place}}
	}
	if stage := c.Build.File.StageOf(i, from); stage != nil && !c.replaced(from) {
		if len(cmd.SourcePaths) != 1 {
			return []suspect{{start, end, fmt.Sprintf("one of several files of the stage %s becomes %s", from, place)}}
		}
		source := absolute("/", i.Expand(cmd.SourcePaths[0]))
		if strings.ContainsAny(source, "*?[") {
			return []suspect{{start, end, fmt.Sprintf("a file that %s matches becomes %s", source, place)}}
		}
		return c.programAt(stage, source, i)
	}
	if c.trusted(i, from) {
		return nil
	}
	return []suspect{{start, end, fmt.Sprintf("%s comes from %s, and is published in %s", place, from, release.InitRepo())}}
}

// trusted reports whether files from there are the published ones, or from a
// place for them that the organisation names.
func (c *programSearch) trusted(i *dockerfile.Instruction, from string) bool {
	if c.Build.File.StageOf(i, from) != nil || c.replaced(from) {
		return false
	}
	if isImage(from, release.InitRepo()) || strings.Contains(from, "${templateOption:") {
		return true
	}
	if c.Org == nil || strings.Contains(from, "$") {
		return false
	}
	full := rights.RegistryName(from)
	if why, _ := c.Org.Judge("registries", func(e string) bool { return org.RegistryMatch(e, full) }); why != "" {
		return false
	}
	name, _, _ := rights.SplitImage(full)
	return slices.ContainsFunc(c.Org.Entries("registries", "allow"), func(n *jsonc.Node) bool {
		return strings.EqualFold(strings.Trim(n.Text, "/"), name) // a whole registry is no word about this image
	})
}

// replaced reports whether the build is given something else under the name of
// an image or a stage.
func (c *programSearch) replaced(name string) bool {
	if c.BuildContext(name) {
		return true
	}
	for _, s := range c.ComposeServices() {
		for _, v := range s.Get("build").Get("additional_contexts").Variables() {
			if v.Name == name {
				return true
			}
		}
	}
	return false
}

func isImage(reference, repository string) bool {
	name, _, _ := rights.SplitImage(reference)
	return name == repository
}

// landing says whether a copy writes a certain file.
type landing int

const (
	never landing = iota
	maybe         // as a part of a folder
	exactly
)

// lands says whether a copy writes to place.
func (c *programSearch) lands(i *dockerfile.Instruction, what instructions.SourcesAndDest, from, folder, place string) landing {
	written := i.Expand(what.DestPath)
	to := absolute(folder, written)
	if to == place {
		return exactly
	}
	rest, below := strings.CutPrefix(place, strings.TrimSuffix(to, "/")+"/")
	if !below {
		return never
	}
	for _, text := range what.SourceContents {
		if text.Path == rest {
			return exactly
		}
	}
	for _, source := range what.SourcePaths {
		source = i.Expand(source)
		if ok, err := path.Match(path.Base(source), rest); err == nil && ok {
			return exactly
		}
		switch {
		case from != "":
			return maybe
		case c.inContext(source, rest):
			return maybe
		}
	}
	return never
}

// inContext reports whether a folder of the build's context, which may be a
// pattern, has a file of that name.
func (c *programSearch) inContext(source, rest string) bool {
	context := c.Context()
	if c.Tree == nil || devcontainer.LeavesTree(context) {
		return false
	}
	found := []string{context}
	for _, part := range strings.Split(strings.Trim(path.Clean("/"+source), "/"), "/") {
		if part == "" {
			continue
		}
		var next []string
		for _, dir := range found {
			for _, name := range c.Tree.List(dir) {
				if ok, err := path.Match(part, name); err == nil && ok {
					next = append(next, path.Join(dir, name))
				}
			}
		}
		found = next
	}
	return slices.ContainsFunc(found, func(dir string) bool { return c.Tree.Kind(path.Join(dir, rest)) == devcontainer.File })
}

// unpacks reports an ADD of what may be an archive into a folder above place.
func (c *programSearch) unpacks(i *dockerfile.Instruction, cmd *instructions.AddCommand, folder, place string) bool {
	to := strings.TrimSuffix(absolute(folder, i.Expand(cmd.DestPath)), "/")
	return strings.HasPrefix(place, to+"/") && slices.ContainsFunc(cmd.SourcePaths, func(source string) bool {
		source = i.Expand(source)
		return dockerfile.GitURL.MatchString(source) || dockerfile.ArchiveOrProgram.MatchString(source)
	})
}

func absolute(folder, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(folder, name)
}

// touched returns what a RUN does to a file of the program's name.
func touched(i *dockerfile.Instruction) []suspect {
	if i.Unread {
		if strings.Contains(i.Source(), programName) {
			return []suspect{{i.Start, i.HeadEnd, "this step acts on " + programName + " in a language that is not read here"}}
		}
		return nil
	}
	var out []suspect
	say := func(cmd *shell.Command, w shell.Word) {
		if slices.ContainsFunc(out, func(s suspect) bool { return s.start == w.Start }) {
			return // sudo has the words of what it runs
		}
		out = append(out, suspect{w.Start, w.End, fmt.Sprintf("%s can put something else where %s is", cmd.Name(), programName)})
	}
	for _, cmd := range i.Commands {
		for _, f := range cmd.Files {
			if strings.Contains(f.Text, programName) {
				say(cmd, f)
			}
		}
		if cmd.Is(untouching...) || cmd.Is(shell.Shells...) && hasScript(cmd) {
			continue
		}
		for _, w := range cmd.Args() {
			if strings.Contains(w.Text, programName) {
				say(cmd, w)
				break
			}
		}
	}
	return out
}

// settingsMissing reports a build that copies settings which are not there.
func settingsMissing(v *rule.View) (out []rule.Finding) {
	if v.Build == nil || v.Tree == nil || !raisesItself(v) {
		return
	}
	context := v.Context()
	if devcontainer.LeavesTree(context) || strings.ContainsAny(context, "$:") || generated(v, devcontainer.SettingsName) {
		return
	}
	list := v.Build.Needed
	for _, s := range v.Build.File.Stages {
		if _, ok := startedProgram(s); ok && !slices.Contains(list, s) { // what the firewall's service builds
			list = append(list[:len(list):len(list)], s)
		}
	}
	for _, s := range list {
		for _, i := range s.Instructions {
			cmd, ok := i.Command.(*instructions.CopyCommand)
			if !ok || cmd.From != "" {
				continue
			}
			for _, source := range cmd.SourcePaths {
				name := path.Join(context, path.Clean("/"+i.Expand(source)))
				if path.Base(name) == devcontainer.SettingsName && v.Tree.Kind(name) == devcontainer.Nothing {
					start, end := i.Find(source)
					out = append(out, v.AtDockerfile(start, end, fmt.Sprintf("there is no %s, so the image cannot be built", name),
						"restore it from git, or let sbx-devc init write it"))
				}
			}
		}
	}
	return out
}

// generated reports whether the command that the host runs first names a file.
func generated(c *rule.View, name string) bool {
	found := false
	c.Root.Member("initializeCommand").Walk(func(n *jsonc.Node) {
		found = found || n.Kind == jsonc.String && strings.Contains(n.Text, name)
	})
	return found
}
