package devcontainer

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// Build is the Dockerfile as the configuration builds it.
type Build struct {
	File   *dockerfile.File
	Final  *dockerfile.Stage   // the one that becomes the container; nil when there is none
	Needed []*dockerfile.Stage // it and the stages that it takes from
	Args   *jsonc.Node         // build.args
	Target *jsonc.Node         // build.target
}

// generatorName matches files from which a generator makes a Dockerfile. They have placeholders that no build reads, so
// nothing in them is judged, unless a configuration names one as its Dockerfile.
var generatorName = regexp.MustCompile(`(?i)\.(template|tmpl|tpl|tt|j2|jinja2?|erb|ejs|hbs|mustache|liquid|in)$`)

// dockerfileName matches the names under which Dockerfiles go.
var dockerfileName = regexp.MustCompile(`(?i)^((docker|container)file([.-].+)?|.+\.(docker|container)file)$`)

// isDockerfile reports whether a file with that base name is a Dockerfile.
func isDockerfile(base string) bool {
	return !strings.HasSuffix(base, ".json") && dockerfileName.MatchString(base)
}

// buildsDockerfile is the configuration that stands for none where a Dockerfile is all that there is.
var buildsDockerfile = sync.OnceValue(func() *jsonc.Document {
	config, _ := jsonc.Parse("", []byte(`{"build": {"dockerfile": "Dockerfile"}}`))
	return config
})

// bareDockerfile makes a Project of a Dockerfile without a configuration: it
// is judged as one that builds it would be.
func bareDockerfile(file string, src []byte) *Project {
	p := &Project{Texts: Texts{Config: buildsDockerfile(), Dockerfile: jsonc.Text(file, src)}, Location: Location{base: filepath.Dir(file)},
		Bare: true}
	if generatorName.MatchString(file) {
		p.Dockerfile = nil
	}
	p.understand()
	return p
}

// readBuild reads the project's Dockerfile; nil when it has none.
func readBuild(p *Project) *Build {
	if p.Dockerfile == nil || p.Object() == nil {
		return nil
	}
	say := p.Object().Member("build")
	b := &Build{Args: say.Member("args"), Target: say.Member("target")}
	options := dockerfile.Options{Args: map[string]string{}}
	if b.Args != nil {
		for _, m := range b.Args.Members {
			if value, ok := m.Value.Str(); ok && !rights.Variable.MatchString(value) {
				options.Args[m.Name] = value
			} else {
				options.UnknownArgs = append(options.UnknownArgs, m.Name)
			}
		}
	}
	target, _ := b.Target.Str()
	for _, a := range p.BuildArgs { // behind those of the properties, so that they win
		switch name, value, set := strings.Cut(a.Value, "="); {
		case a.Flag == "target":
			target = a.Value
		case a.Flag != "build-arg":
		case set && !strings.Contains(value, "$"):
			options.Args[name] = value
		default:
			delete(options.Args, name)
			options.UnknownArgs = append(options.UnknownArgs, name)
		}
	}
	if s := p.Composed.Dev(); s != nil {
		_, _, target, _ = s.Build()
		for _, v := range s.Get("build").Get("args").Variables() {
			if !v.Set { // the project's variable of that name
				v.Value, v.Set = p.Composed.Project.Variable(v.Name)
			}
			if v.Set && !strings.Contains(v.Value, "$") {
				options.Args[v.Name] = v.Value
			} else {
				options.UnknownArgs = append(options.UnknownArgs, v.Name)
			}
		}
	}
	b.File = dockerfile.Read(p.Dockerfile, options)
	if !strings.Contains(target, "$") {
		b.Final = b.File.Target(target)
	}
	b.Needed = b.File.Reachable(b.Final)
	return b
}

// BuildOf returns what a configuration's object says of its build: the name of its Dockerfile, nil
// when it has none, and the folder of the context, both as Relative takes them. As in the
// reference CLI 0.89 (getDockerContextPath) dockerFile wins over build, and the context is the
// folder of the Dockerfile unless another one is named.
func BuildOf(config *jsonc.Node) (dockerfile *jsonc.Node, context string) {
	of := config
	if dockerfile = config.Member("dockerFile"); dockerfile == nil {
		of = config.Member("build")
		dockerfile = of.Member("dockerfile")
	}
	if context = of.Member("context").TextOr(""); context == "" {
		context = path.Dir(dockerfile.TextOr(""))
	}
	return dockerfile, context
}

// Context returns the folder in the tree that the build gets.
func (p *Project) Context() string {
	if dev := p.Composed.Dev(); dev != nil {
		if s, _, _, ok := dev.Build(); ok {
			return path.Join(p.Dir, path.Dir(p.Composed.First), s)
		}
	}
	_, context := BuildOf(p.Object())
	return path.Join(p.Dir, p.relative(context))
}

// History returns the instructions that make the container, or nothing.
func (b *Build) History() []*dockerfile.Instruction {
	if b == nil || b.Final == nil {
		return nil
	}
	return b.Final.History()
}

// Instructions returns those of every stage that the container needs.
func (b *Build) Instructions() []*dockerfile.Instruction {
	if b == nil {
		return nil
	}
	if len(b.Needed) == 1 {
		return slices.Clip(b.Needed[0].Instructions)
	}
	var out []*dockerfile.Instruction
	for _, s := range b.Needed {
		out = append(out, s.Instructions...)
	}
	return out
}

// source is an image that an instruction takes files from, and its place.
type source struct {
	Image      string
	Start, End int
}

// Sources returns the images that COPY --from and RUN --mount=from= name.
func (b *Build) Sources() []source { return b.SourcesOf(b.Instructions()) }

// SourcesOf does it for some instructions of the file.
func (b *Build) SourcesOf(all []*dockerfile.Instruction) []source {
	var out []source
	for _, i := range all {
		for _, from := range i.Sources() {
			if b.File.StageOf(i, from) != nil || b.File.Target(from) != nil || strings.Contains(from, "$") || from == "scratch" {
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
