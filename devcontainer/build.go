package devcontainer

import (
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// Build is the Dockerfile as the configuration builds it.
type Build struct {
	file   *dockerfile.File
	final  *dockerfile.Stage   // the one that becomes the container; nil when there is none
	needed []*dockerfile.Stage // it and the stages that it takes from
	args   *jsonc.Node         // build.args
	target *jsonc.Node         // build.target
}

// dockerfileName matches the names under which Dockerfiles go.
var dockerfileName = regexp.MustCompile(`(?i)^((docker|container)file([.-].+)?|.+\.(docker|container)file)$`)

// bareDockerfile makes a Project of a Dockerfile without a configuration: it
// is judged as one that builds it would be.
func bareDockerfile(file string, src []byte) *Project {
	config, _ := jsonc.Parse("", []byte(`{"build": {"dockerfile": "Dockerfile"}}`))
	p := &Project{Config: config, Dockerfile: jsonc.Text(file, src), base: filepath.Dir(file), bare: true}
	p.understand()
	return p
}

// readBuild reads the project's Dockerfile; nil when it has none.
func readBuild(p *Project) *Build {
	if p.Dockerfile == nil || p.object() == nil {
		return nil
	}
	say := p.object().Member("build")
	b := &Build{args: say.Member("args"), target: say.Member("target")}
	options := dockerfile.Options{Args: map[string]string{}}
	if b.args != nil {
		for _, m := range b.args.Members {
			if value, ok := m.Value.Str(); ok && !rights.Variable.MatchString(value) {
				options.Args[m.Name] = value
			} else {
				options.UnknownArgs = append(options.UnknownArgs, m.Name)
			}
		}
	}
	target, _ := b.target.Str()
	if s := p.Composed.dev(); s != nil {
		_, _, target, _ = s.Build()
		for _, v := range s.Get("build").Get("args").Variables() {
			if v.Set && !strings.Contains(v.Value, "$") {
				options.Args[v.Name] = v.Value
			} else {
				options.UnknownArgs = append(options.UnknownArgs, v.Name)
			}
		}
	}
	b.file = dockerfile.Parse(p.Dockerfile.File, p.Dockerfile.Src, options)
	if !strings.Contains(target, "$") {
		b.final = b.file.Target(target)
	}
	b.needed = b.file.Reachable(b.final)
	return b
}

// context returns the folder in the tree that the build gets.
func (p *Project) context() string {
	if dev := p.Composed.dev(); dev != nil {
		if s, _, _, ok := dev.Build(); ok {
			return path.Join(p.Dir, path.Dir(p.Composed.first), s)
		}
	}
	for _, n := range []*jsonc.Node{p.object().Member("build").Member("context"), p.object().Member("context")} {
		if s, ok := n.Str(); ok {
			return path.Join(p.Dir, s)
		}
	}
	return p.Dir
}

// history returns the instructions that make the container, or nothing.
func (b *Build) history() []*dockerfile.Instruction {
	if b == nil || b.final == nil {
		return nil
	}
	return b.final.History()
}

// instructions returns those of every stage that the container needs.
func (b *Build) instructions() []*dockerfile.Instruction {
	var out []*dockerfile.Instruction
	if b != nil {
		for _, s := range b.needed {
			out = append(out, s.Instructions...)
		}
	}
	return out
}

// source is an image that an instruction takes files from, and its place.
type source struct {
	image      string
	start, end int
}

// sources returns the images that COPY --from and RUN --mount=from= name.
func (b *Build) sources() []source {
	var out []source
	for _, i := range b.instructions() {
		for _, from := range i.Sources() {
			if b.file.StageOf(i, from) != nil || b.file.Target(from) != nil || strings.Contains(from, "$") || from == "scratch" {
				continue
			}
			if _, err := strconv.Atoi(from); err == nil {
				continue // a stage that is not there
			}
			start, end := i.Find(from)
			out = append(out, source{from, start, end})
		}
	}
	return out
}

// user returns the user that the Dockerfile ends with; known is false when
// that depends on the image below or on the build.
func (b *Build) user() (name string, known bool) {
	if b == nil || b.final == nil || b.final.User == "" || strings.Contains(b.final.User, "$") {
		return "", false
	}
	name, _, _ = strings.Cut(b.final.User, ":")
	return name, true
}

// each calls visit for every command that the instructions run while the image
// is built.
func each(list []*dockerfile.Instruction, visit func(*dockerfile.Instruction, *shell.Command)) {
	for _, i := range list {
		if i.Name != "RUN" {
			continue
		}
		for _, cmd := range i.Commands {
			visit(i, cmd)
		}
	}
}
