package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/devcontainer/baseimage"
	"github.com/org/claude-sandbox/devcontainer/budget"
	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// builtin are the arguments that BuildKit gives every FROM.
var builtin = lazyregexp.New(`^(TARGET|BUILD)(PLATFORM|OS|OSVERSION|ARCH|VARIANT|STAGE)$|^(?i:https?|ftp|no|all)_proxy$|` +
	`^BUILDKIT_|^SOURCE_DATE_EPOCH$`)

var argumentName = lazyregexp.New(`\$\{?([A-Za-z_][A-Za-z0-9_]*)(:[^}]|[-+?])?`)

// unsetArguments reports a FROM that uses an argument which no ARG in front of it declares,
// and a stage that uses one which is declared only in front of its FROM.
func unsetArguments(v *rule.View) (out []rule.Finding) {
	if v.Build == nil {
		return nil
	}
	before := argNames(v.Build.File.Global)
	own, comparing := map[*dockerfile.Stage]map[string]bool{}, budget.New(maxCompared)
	for _, s := range v.Build.Needed {
		c, ok := s.From.Command.(*instructions.Stage)
		if !ok {
			continue
		}
		for _, m := range argumentName.FindAllStringSubmatch(c.BaseName, -1) {
			if _, declared := before[m[1]]; m[2] == "" && !declared && !builtin.MatchString(m[1]) {
				start, end := s.From.Find(c.BaseName)
				f := v.AtDockerfile(start, end, fmt.Sprintf("no ARG in front of the first FROM declares %s, so it is empty here", m[1]),
					fmt.Sprintf("write ARG %s=DEFAULT above the first FROM", m[1]))
				if namesNothing(c.BaseName, m[0]) {
					f.Severity = diag.SeverityError // no build can give it a value, and the builder refuses the name
				}
				out = append(out, f)
			}
		}
		out = append(out, unsetPlatform(v, s, before)...)
		out = append(out, undeclaredInStage(v, s, before, own, comparing)...)
		out = append(out, emptyUsers(v, s, before)...)
	}
	return out
}

// emptyUsers reports a USER whose variable nothing sets, in an official image of a distribution, which sets none: the user stays root.
func emptyUsers(v *rule.View, s *dockerfile.Stage, before map[string]bool) (out []rule.Finding) {
	image, _ := baseimage.Of(s.Base().Image)
	if !image.Official() || image.Family == "" || !s.Base().Known {
		return nil
	}
	set := map[string]bool{}
	for _, i := range s.History() {
		if c, ok := i.Command.(*instructions.UserCommand); ok && i.Stage == s && strings.HasPrefix(c.User, "$") {
			for _, name := range plainVariables(c.User) {
				if !set[name] && !before[name] && !builtin.MatchString(name) {
					start, end := i.Find(c.User)
					out = append(out, v.AtDockerfile(start, end, fmt.Sprintf("nothing sets %s, so the user stays as it was", name),
						fmt.Sprintf("write ARG %s=NAME above", name)))
				}
			}
		}
		declare(set, i)
	}
	return out
}

// argNames returns the names of the ARGs among instructions.
func argNames(among []*dockerfile.Instruction) map[string]bool {
	out := map[string]bool{}
	for _, i := range among {
		if c, ok := i.Command.(*instructions.ArgCommand); ok {
			for _, a := range c.Args {
				out[a.Key] = true
			}
		}
	}
	return out
}

// undeclaredInStage reports RUN and others that use an argument of the whole file without
// an ARG of their stage.
func undeclaredInStage(v *rule.View, s *dockerfile.Stage, before map[string]bool,
	stages map[*dockerfile.Stage]map[string]bool, comparing *budget.Budget) (out []rule.Finding) {
	own, said := map[string]bool{}, map[string]bool{}
	stages[s] = own
	var elsewhere map[string]*dockerfile.Stage
	if image, _ := baseimage.Of(s.Base().Image); (image.Official() || image.ForDevContainers()) && image.Family != "" && s.Base().Known {
		// others may set any
		elsewhere = rule.Once(v, "arguments of stages", argumentsOfStages)
	}
	for _, i := range s.Instructions {
		declare(own, i)
		declaredAnywhere := len(before) > 0 || len(elsewhere) > 0
		if !declaredAnywhere || !slices.Contains([]string{"RUN", "ENV", "COPY", "ADD", "WORKDIR", "USER", "LABEL"}, i.Name) {
			continue
		}
		for _, m := range argumentName.FindAllStringSubmatchIndex(i.Source(), -1) {
			name := i.Source()[m[2]:m[3]]
			escaped := m[0] > 0 && i.Source()[m[0]-1] == '\\' || i.Literal(m[0])
			ofOther := !before[name] && elsewhere[name] != nil && !setByImages.MatchString(name)
			lost := (before[name] || ofOther) && !own[name] && !inherited(s, name, stages)
			if !lost || said[name] || m[4] >= 0 || escaped || !comparing.Spend(len(i.Source())) {
				continue
			}
			if strings.Contains(i.Source(), name+"=") || strings.Contains(i.Source(), "for "+name) || strings.Contains(i.Source(), "read ") {
				continue // something in it sets the variable
			}
			said[name] = true
			f := v.AtDockerfile(i.Start+m[0], i.Start+m[3], fmt.Sprintf("%s is empty here: its ARG stands in front of FROM", name),
				fmt.Sprintf("write ARG %s once more, behind the FROM of this stage", name))
			if ofOther {
				f.Message = fmt.Sprintf("%s is empty here: its ARG belongs to another stage", name)
				f.Hint = fmt.Sprintf("write ARG %s with its value in this stage, too", name)
			}
			out = append(out, f)
		}
	}
	return out
}

// setByImages matches variables that images for languages set.
var setByImages = lazyregexp.New(`^(NODE|YARN|PYTHON|GOLANG|RUBY|PHP|RUST|JAVA|GEM|BUNDLE|CARGO|RUSTUP|GPG|LANG|PATH|HOME|USER|` +
	`HOSTNAME|PWD|UID|IFS|OPTARG|REPLY|RANDOM|SHELL)(_|$)`)

// argumentsOfStages returns the arguments that stages declare without ENV, each with the first stage that does.
func argumentsOfStages(v *rule.View) map[string]*dockerfile.Stage {
	out := map[string]*dockerfile.Stage{}
	if len(v.Build.File.Stages) < 2 {
		return nil
	}
	for _, s := range v.Build.File.Stages {
		for name := range argNames(s.Instructions) {
			if out[name] == nil {
				out[name] = s
			}
		}
	}
	return out
}

// platforms are the architectures that images are made for.
var platforms = strings.Fields("amd64 arm64 arm 386 ppc64le s390x riscv64 mips64le loong64 x86_64 aarch64 armhf armel i386")

// unsetPlatform reports a platform of FROM that nothing sets, or that there is none of.
func unsetPlatform(v *rule.View, s *dockerfile.Stage, before map[string]bool) (out []rule.Finding) {
	c, ok := s.From.Command.(*instructions.Stage)
	if !ok || c.Platform == "" {
		return nil
	}
	start, end := s.From.Find(c.Platform)
	for _, name := range plainVariables(c.Platform) {
		if !before[name] && !builtin.MatchString(name) {
			hint := "write BUILDPLATFORM or TARGETPLATFORM, or ARG with a default above the first FROM"
			if best := nearest(name, []string{"BUILDPLATFORM", "TARGETPLATFORM"}); best != "" {
				hint = fmt.Sprintf("did you mean %s?", best)
			}
			out = append(out, v.AtDockerfile(start, end, fmt.Sprintf("nothing sets %s", name), hint))
		}
	}
	if _, arch, named := strings.Cut(c.Platform, "/"); named && !strings.Contains(c.Platform, "$") {
		if arch, _, _ = strings.Cut(arch, "/"); !slices.Contains(platforms, arch) {
			hint := "write linux/amd64 or linux/arm64"
			if best := nearest(arch, platforms); best != "" {
				hint = fmt.Sprintf("did you mean %q?", best)
			}
			out = append(out, v.AtDockerfile(start, end, fmt.Sprintf("no image is made for %s", c.Platform), hint))
		}
	}
	return out
}

// maxParents bounds the search for an argument through stages that build on each other.
const maxParents = 50

// inherited reports whether a stage that s builds on declares the name.
func inherited(s *dockerfile.Stage, name string, stages map[*dockerfile.Stage]map[string]bool) bool {
	n := 0
	for p := s.Parent; p != nil; p = p.Parent {
		if n++; n > maxParents || stages[p][name] {
			return true
		}
	}
	return false
}

func declare(names map[string]bool, i *dockerfile.Instruction) {
	for _, name := range declaredBy(i) {
		names[name] = true
	}
}

// declaredBy returns the variables that an instruction declares or sets.
func declaredBy(i *dockerfile.Instruction) (out []string) {
	switch c := i.Command.(type) {
	case *instructions.ArgCommand:
		for _, a := range c.Args {
			out = append(out, a.Key)
		}
	case *instructions.EnvCommand:
		for _, e := range c.Env {
			out = append(out, e.Key)
		}
	}
	return out
}
