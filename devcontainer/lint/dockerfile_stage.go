package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/baseimage"
	"github.com/org/claude-sandbox/devcontainer/budget"
	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
)

// relativeWorkdirs reports a WORKDIR, and notes the first file that is copied, without / in a stage that
// has said no folder yet: the image decides below which one it lies.
func relativeWorkdirs(v *rule.View) (out []rule.Finding) {
	says := map[*dockerfile.Stage]bool{}
	for _, s := range neededStages(v) {
		says[s] = says[s.Parent] || slices.ContainsFunc(s.Instructions, func(i *dockerfile.Instruction) bool { return i.Name == "WORKDIR" })
		if !says[s.Parent] {
			out = append(out, belowUnknown(v, s)...)
		}
	}
	return out
}

// belowUnknown finds them in one stage, up to its first WORKDIR: what follows is relative to a folder that is
// known, or reported.
func belowUnknown(v *rule.View, s *dockerfile.Stage) (out []rule.Finding) {
	find := func(i *dockerfile.Instruction, written, format string) *rule.Finding {
		name := i.Expand(written)
		if strings.ContainsAny(name, `$\:`) || path.IsAbs(name) || isHome(name) {
			return nil
		}
		start, end := i.Start, i.HeadEnd
		if at := strings.LastIndex(i.Source(), written); at >= 0 {
			start, end = i.Start+at, i.Start+at+len(written)
		}
		f := v.AtDockerfile(start, end, fmt.Sprintf(format, name), fmt.Sprintf("write the whole path, such as %s", path.Join("/", name)))
		return &f
	}
	cloned := map[string]bool{}
	for _, i := range s.Instructions {
		for _, cmd := range i.Commands {
			if !cmd.Is("git") {
				continue
			}
			if words := cmd.Operands(); len(words) > 1 && words[0].Text == "clone" {
				cloned[strings.TrimSuffix(path.Base(words[len(words)-1].Text), ".git")] = true
			}
		}
		var files *instructions.SourcesAndDest
		switch c := i.Command.(type) {
		case *instructions.WorkdirCommand:
			top, _, _ := strings.Cut(c.Path, "/")
			if f := find(i, c.Path, "%s is a relative path, and nothing above says from which folder: the image decides"); f != nil && !cloned[top] {
				out = append(out, *f)
			}
			return out
		case *instructions.CopyCommand:
			files = &c.SourcesAndDest
		case *instructions.AddCommand:
			files = &c.SourcesAndDest
		}
		if files == nil || len(out) > 0 || s.Base().Image == "scratch" {
			continue
		}
		if f := find(i, files.DestPath, "%s is a relative path, and no WORKDIR above says from which folder: the image decides"); f != nil {
			f.Severity, f.Hint = diag.SeverityNote, "write WORKDIR above it, or the whole path"
			out = append(out, *f)
		}
	}
	return out
}

// emptyHomes reports $HOME in instructions of official images, which set no such variable, and ~ in a PATH.
func emptyHomes(v *rule.View) (out []rule.Finding) {
	for _, s := range neededStages(v) {
		image, _ := baseimage.Of(s.Base().Image)
		set := map[string]bool{}
		for _, i := range s.History() {
			if i.Stage == s && slices.Contains([]string{"ENV", "WORKDIR", "COPY", "ADD", "VOLUME"}, i.Name) {
				for _, m := range argumentName.FindAllStringSubmatchIndex(i.Source(), -1) {
					namesHome := i.Source()[m[2]:m[3]] == "HOME" && m[4] < 0
					escaped := m[0] > 0 && i.Source()[m[0]-1] == '\\' || i.Literal(m[0])
					if namesHome && !escaped && image.Official() && !set["HOME"] {
						out = append(out, v.AtDockerfile(i.Start+m[0], i.Start+m[1], fmt.Sprintf("HOME is empty here: %s sets no such variable",
							s.Base().Image),
							"write the path of the home folder, such as /root or /home/NAME, or ENV HOME=… above"))
						break
					}
				}
			}
			if c, ok := i.Command.(*instructions.EnvCommand); ok && i.Stage == s {
				out = append(out, tildeInPath(v, i, c)...)
			}
			declare(set, i)
		}
	}
	return out
}

// tildeInPath reports a PATH with ~, which a shell replaces where it is written, and not in a variable.
func tildeInPath(v *rule.View, i *dockerfile.Instruction, c *instructions.EnvCommand) []rule.Finding {
	for _, kv := range c.Env {
		if strings.HasPrefix(kv.Value, "'") && strings.Contains(kv.Value, "$PATH") && kv.Key == "PATH" {
			start, end := i.Find(kv.Value)
			return []rule.Finding{v.AtDockerfile(start, end, "nothing replaces $PATH between single quotes, so no program of the system is found",
				"write double quotes, or none")}
		}
		if kv.Key != "PATH" || !strings.Contains(":"+strings.Trim(kv.Value, `"`), ":~/") {
			continue
		}
		start, _ := i.Find("~/")
		end := strings.IndexAny(i.Source()[start-i.Start:]+":", `:" `)
		return []rule.Finding{v.AtDockerfile(start, start+end, "nothing replaces ~ in the value of a variable",
			"write the path of the home folder, such as /root or /home/NAME")}
	}
	return nil
}

// literalHomes reports ~ in WORKDIR and as the target of COPY and ADD, where no shell replaces it.
func literalHomes(v *rule.View) (out []rule.Finding) {
	out = slices.Concat(emptyHomes(v), pathsOfRoot(v), homesOfRoot(v))
	for _, i := range v.Build.Instructions() {
		name := ""
		switch c := i.Command.(type) {
		case *instructions.WorkdirCommand:
			name = c.Path
		case *instructions.CopyCommand:
			name = c.DestPath
		case *instructions.AddCommand:
			name = c.DestPath
		}
		if isHome(name) {
			at := max(i.Start, i.Start+strings.LastIndex(i.Source(), name))
			out = append(out, v.AtDockerfile(at, at+len(name), fmt.Sprintf("%s makes a folder that is called ~: no shell reads it", i.Name),
				"write the path of the home folder, such as /root or /home/NAME"))
		}
	}
	return out
}

// isHome reports whether a shell would take a path for one in the home folder.
func isHome(name string) bool { return name == "~" || strings.HasPrefix(name, "~/") }

// severalSources reports COPY of several files to what is no folder.
func severalSources(v *rule.View) (out []rule.Finding) {
	for _, i := range v.Build.Instructions() {
		var c instructions.SourcesAndDest
		switch cmd := i.Command.(type) {
		case *instructions.CopyCommand:
			c = cmd.SourcesAndDest
		case *instructions.AddCommand:
			c = cmd.SourcesAndDest
		default:
			continue
		}
		to := i.Expand(c.DestPath)
		last := to[strings.LastIndexByte(to, '/')+1:]
		folder := isHome(to) || strings.HasSuffix(to, "/") || last == "." || last == ".."
		if len(c.SourcePaths)+len(c.SourceContents) < 2 || folder || strings.ContainsAny(to, `$\`) {
			continue
		}
		end := i.End
		if len(i.Documents) > 0 {
			end = i.HeadEnd
		}
		start := max(i.Start, i.Start+strings.LastIndex(i.Source()[:end-i.Start], c.DestPath))
		out = append(out, v.AtDockerfile(start, start+len(c.DestPath),
			fmt.Sprintf("several files are copied to %s, which is no folder's name", to), fmt.Sprintf("end it with a slash: %s/", to)))
	}
	return out
}

// repeatedInstructions reports CMD, ENTRYPOINT and HEALTHCHECK that a later one of the
// stage replaces.
func repeatedInstructions(v *rule.View) (out []rule.Finding) {
	for _, s := range neededStages(v) {
		last := map[string]*dockerfile.Instruction{}
		for _, i := range s.Instructions {
			if !slices.Contains([]string{"CMD", "ENTRYPOINT", "HEALTHCHECK"}, i.Name) {
				continue
			}
			if before := last[i.Name]; before != nil {
				line, _ := v.Build.File.Doc.Position(i.Start)
				out = append(out, v.AtDockerfile(before.Start, before.HeadEnd,
					fmt.Sprintf("this %s does nothing: the one in line %d replaces it", i.Name, line), "remove one of them"))
			}
			last[i.Name] = i
		}
	}
	return out
}

// unheardCommand reports a CMD whose words an ENTRYPOINT in shell form never gets.
func unheardCommand(v *rule.View) (out []rule.Finding) {
	if v.Build == nil || v.Build.Final == nil {
		return nil
	}
	entry, cmd := v.Build.Final.Last("ENTRYPOINT"), v.Build.Final.Last("CMD")
	if entry == nil || cmd == nil || cmd.Stage != entry.Stage || strings.Contains(entry.Source(), "$@") ||
		strings.Contains(entry.Source(), "$*") {
		return nil
	}
	if c, ok := entry.Command.(*instructions.EntrypointCommand); ok && c.PrependShell && len(c.CmdLine) > 0 && c.CmdLine[0] != "" {
		out = append(out, v.AtDockerfile(cmd.Start, cmd.HeadEnd, "CMD does nothing: the ENTRYPOINT is a shell's text and gets no words",
			`write the ENTRYPOINT as an array: ENTRYPOINT ["PROGRAM"]`))
	}
	return out
}

// selfReferences reports ENV that uses a variable which the same ENV sets: it still has
// its value from before.
func selfReferences(v *rule.View) (out []rule.Finding) {
	for _, s := range neededStages(v) {
		set := map[string]bool{}
		for _, i := range s.Instructions {
			if c, ok := i.Command.(*instructions.EnvCommand); ok {
				before, at := map[string]bool{}, i.Start // in this ENV, and where it is read
				for _, kv := range c.Env {
					for _, name := range plainVariables(kv.Value) {
						if before[name] && name != kv.Key && !set[name] && s.Parent == nil {
							start, end := i.FindBehind(at, kv.Value)
							at = end
							out = append(out, v.AtDockerfile(start, end,
								fmt.Sprintf("$%s is its old value here: one ENV reads its variables before it sets any", name),
								fmt.Sprintf("write ENV %s=… as an instruction of its own in front", name)))
						}
					}
					before[kv.Key] = true
				}
			}
			declare(set, i)
		}
	}
	return out
}

// plainVariables returns the variables $NAME and ${NAME} of a word, each once.
func plainVariables(word string) (out []string) {
	if !strings.Contains(word, "$") {
		return nil
	}
	seen := map[string]bool{}
	for _, m := range argumentName.FindAllStringSubmatchIndex(word, -1) {
		if name := word[m[2]:m[3]]; m[4] < 0 && (m[0] == 0 || word[m[0]-1] != '\\') && !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	return out
}

// misspeltVariables reports a variable that nothing sets and that is nearly the name of one
// that is set. Others may be the image's.
func misspeltVariables(v *rule.View) (out []rule.Finding) {
	if v.Kind() == devcontainer.FeatureFile {
		return misreadOptions(v)
	}
	if v.Build == nil {
		return nil
	}
	declared := map[*dockerfile.Stage]map[string]bool{}
	before := argNames(v.Build.File.Global)
	for _, s := range v.Build.Needed {
		own := map[string]bool{}
		var candidates []string
		declared[s] = own
		for _, i := range s.Instructions {
			for _, name := range declaredBy(i) {
				if !own[name] && len(name) >= 4 {
					candidates = append(candidates, name)
				}
				own[name] = true
			}
			if !slices.Contains([]string{"ENV", "COPY", "ADD", "WORKDIR", "USER", "LABEL", "EXPOSE", "VOLUME"}, i.Name) || len(i.Documents) > 0 ||
				len(candidates) == 0 {
				continue
			}
			for _, m := range argumentName.FindAllStringSubmatchIndex(i.Source(), -1) {
				name := i.Source()[m[2]:m[3]]
				known := own[name] || before[name] || builtin.MatchString(name) || inherited(s, name, declared)
				escaped := m[0] > 0 && i.Source()[m[0]-1] == '\\'
				if known || escaped || m[4] >= 0 || len(name) < 4 {
					continue
				}
				if best := nearest(name, candidates); best != "" {
					out = append(out, v.AtDockerfile(i.Start+m[0], i.Start+m[3], fmt.Sprintf("nothing sets %s", name),
						fmt.Sprintf("did you mean %s?", best)))
				}
			}
		}
	}
	return out
}

// emptyImages reports a FROM whose image has no name that an engine takes, because an
// argument has neither a default nor a value of the configuration.
func emptyImages(v *rule.View) (out []rule.Finding) {
	// A build may be given the value, and so may a Template's Dockerfile.
	if v.Build == nil || v.Bare || strings.Contains(v.DockerfileText(), "${templateOption:") {
		return nil
	}
	before := argNames(v.Build.File.Global)
	for _, s := range v.Build.Needed {
		c, ok := s.From.Command.(*instructions.Stage)
		if !ok || s.Known {
			continue
		}
		for _, m := range argumentName.FindAllStringSubmatch(c.BaseName, -1) {
			if _, has := v.Build.File.Args[m[1]]; m[2] == "" && before[m[1]] && !has && !givenArgument(v, m[1]) && namesNothing(c.BaseName, m[0]) {
				start, end := s.From.Find(c.BaseName)
				out = append(out, v.AtDockerfile(start, end, fmt.Sprintf("%s has no value, so this names no image", m[1]),
					fmt.Sprintf("write ARG %s=DEFAULT, or give it in build.args", m[1])))
			}
		}
	}
	return out
}

// givenArgument reports whether the configuration gives a build argument, whatever its value.
func givenArgument(v *rule.View, name string) bool {
	if v.Build.Args.Member(name) != nil {
		return true
	}
	if s := v.Composed.Dev(); s != nil && slices.ContainsFunc(s.Get("build").Get("args").Variables(),
		func(a compose.Variable) bool { return a.Name == name }) {
		return true
	}
	return slices.ContainsFunc(v.BuildArgs, func(a rights.Arg) bool { return strings.Contains(a.Value+a.Flag, name) })
}

// namesNothing reports whether an image's name is none when a variable in it is empty:
// nothing is left, or a tag or digest without text.
func namesNothing(name, variable string) bool {
	if !strings.HasSuffix(name, variable+"}") && !strings.HasSuffix(name, variable) {
		return false
	}
	rest := strings.TrimSuffix(strings.TrimSuffix(name, "}"), variable)
	return rest == "" || strings.HasSuffix(rest, ":") || strings.HasSuffix(rest, "@") || strings.HasSuffix(rest, "/")
}

// ignoredSources reports COPY of what .dockerignore keeps out of the build.
func ignoredSources(v *rule.View) (out []rule.Finding) {
	context, known := buildContext(v)
	if !known || !slices.ContainsFunc(v.Build.Instructions(), func(i *dockerfile.Instruction) bool { return i.Name == "COPY" }) {
		return nil
	}
	file, ignore := dockerignore(v, context)
	if ignore == nil {
		return nil
	}
	for _, i := range v.Build.Instructions() {
		c, ok := i.Command.(*instructions.CopyCommand)
		if !ok || c.From != "" {
			continue
		}
		for _, written := range c.SourcePaths {
			name := strings.TrimPrefix(path.Clean("/"+i.Expand(written)), "/")
			partly := ignore.Exclusions() && v.Tree.Kind(path.Join(context, name)) != devcontainer.File // with ! a part of a folder may stay
			if name == "" || strings.ContainsAny(name, "*?[$") || partly {
				continue
			}
			if hit, sure := ignore.keepsOut(name); sure && hit {
				start, end := i.Find(written)
				out = append(out, v.AtDockerfile(start, end, fmt.Sprintf("%s keeps %s out of the build", file, name),
					fmt.Sprintf("let it in by a last line !%s, or leave the COPY out", name)))
			}
		}
	}
	return out
}

// ignored is a .dockerignore.
type ignored struct {
	*patternmatcher.PatternMatcher
	size      int // in bytes
	comparing *budget.Budget
}

// keepsOut reports whether a file of the context, or a folder that it lies in, stays out of the build; sure is false when nothing is
// known about it.
func (g *ignored) keepsOut(name string) (hit, sure bool) {
	if !g.comparing.Spend(g.size * len(name) / 16 * (1 + strings.Count(name, "/"))) {
		return false, false
	}
	hit, err := g.MatchesOrParentMatches(name)
	return hit, err == nil
}

// dockerignore reads what keeps files out of the build: the file next to the Dockerfile
// wins over that of the context.
func dockerignore(v *rule.View, context string) (name string, ignore *ignored) {
	for _, name := range []string{v.Built + ".dockerignore", path.Join(context, ".dockerignore")} {
		src, err := v.Tree.Read(name)
		if err != nil {
			continue
		}
		patterns, err := ignorefile.ReadAll(strings.NewReader(string(src)))
		if err != nil || len(patterns) > maxPatterns {
			return name, nil
		}
		matcher, err := patternmatcher.New(patterns)
		if err != nil {
			return name, nil
		}
		return path.Base(name), &ignored{matcher, len(src), budget.New(maxCompared)}
	}
	return "", nil
}

// maxPatterns bounds the lines of a .dockerignore: each is compared with each source.
const maxPatterns = 1000

// buildChecks notes what BuildKit's own checks say that no other rule says.
func buildChecks(v *rule.View) (out []rule.Finding) {
	if v.Build == nil {
		return nil
	}
	for _, w := range v.Build.File.Warnings {
		out = append(out, v.AtDockerfile(w.Start, w.End, fmt.Sprintf("%s (%s)", w.Message, w.Check),
			fmt.Sprintf("correct it; to silence it in builds as well, write at the top of the file: # check=skip=%s", w.Check)))
	}
	return out
}
