package effective

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Compose is what a configuration with Docker Compose amounts to.
type Compose struct {
	// Project is the project's name.
	Project string
	// Service is what the files say of the dev container's service: laid over
	// each other, extends and env_file resolved, variables filled in. Paths
	// stay relative to the folder of the first file. Origins says where each
	// value stands, as Result.Origins does.
	Service Object
	Origins map[string][]Origin
	// Override is the Compose file that the reference implementation lays over
	// them, without the label that repeats the configuration. Where it builds an
	// image with Features, or one with another user id, it names that, too.
	Override string
	// Up is its command line, with OverrideName for the file that it writes.
	Up []string
}

// The names of files that the reference implementation writes for Compose; it
// adds the time. OverrideName stands for Compose.Override, BuildName for the
// file that has the image built with the Features and its label.
const (
	OverrideName = "docker-compose.devcontainer.containerFeatures.yml"
	BuildName    = "docker-compose.devcontainer.build.yml"
)

// composeFiles reads the Compose files as they are on this host, and says
// which of them are missing.
func (r *resolver) composeFiles(config Object) {
	p := r.project
	names := list(config.Get("dockerComposeFile"))
	if len(names) == 0 {
		r.unknown("the Compose files: the file names none, and the reference implementation takes what COMPOSE_FILE or the folder says")
		return
	}
	for _, v := range names {
		name, _ := v.(string)
		full, ok := p.Path(name)
		switch {
		case !ok || p.Tree == nil:
			r.unknown("the Compose file %s: it lies outside of the files that were read", name)
		default:
			if _, err := p.Tree.Read(full); err != nil {
				r.unknown("the Compose file %s: there is none", name)
			}
		}
	}
	env := r.options.Host.Env
	if env == nil {
		env = map[string]string{}
	}
	r.files = p.ComposeWith(env)
	if r.files == nil {
		return
	}
	problems := r.files.Problems
	if len(r.missing) == 0 {
		problems = slices.Concat(problems, r.files.Refused())
	}
	for _, problem := range problems {
		line, _ := problem.Doc.Position(problem.Start)
		r.unknown("the Compose file %s: %s (line %d)", problem.Doc.File, problem.Message, line)
	}
	for _, file := range r.files.Unread {
		r.unknown("%s, which a Compose file extends or includes: it cannot be read", file.Name)
	}
	if why := r.files.Incomplete(); why != "" {
		r.unknown("a part of the Compose files: %s", why)
	}
	name, _ := config.Get("service").(string)
	if r.service = r.files.Service(name); r.service == nil && len(r.missing) == 0 {
		r.unknown("the Compose files have no service %q, and the reference implementation refuses that", name)
	}
}

// compose works out what is started.
func (r *resolver) compose(config Object, result *Result, image Image) *Compose {
	if r.service == nil {
		return nil
	}
	out := &Compose{Project: r.projectName(config), Origins: map[string][]Origin{}}
	out.Service = r.serviceView(out.Origins)
	if len(list(out.Service.Get("profiles"))) > 0 && len(list(config.Get("runServices"))) == 0 &&
		r.options.Host.Env["COMPOSE_PROFILES"] == "" {
		r.unknown("whether the service starts: it has profiles, and neither runServices nor COMPOSE_PROFILES names it")
	}
	out.Override = r.override(config, result, image)
	out.Up = []string{"docker", "compose", "--project-name", out.Project}
	for _, name := range list(config.Get("dockerComposeFile")) {
		out.Up = append(out.Up, "-f", r.absolute(text(name)))
	}
	features, _ := config.Get("features").(Object)
	if _, _, _, builds := r.service.Build(); builds || len(features) > 0 {
		out.Up = append(out.Up, "-f", BuildName)
	}
	out.Up = append(out.Up, "-f", OverrideName, "up", "-d")
	if services := list(config.Get("runServices")); len(services) > 0 {
		for _, s := range services {
			out.Up = append(out.Up, text(s))
		}
		if name := text(config.Get("service")); !slices.Contains(services, any(name)) {
			out.Up = append(out.Up, name)
		}
	}
	return out
}

// absolute is a file that the configuration names, on the host.
func (r *resolver) absolute(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(r.options.Host.Config), filepath.FromSlash(name))
}

var (
	notInProject = regexp.MustCompile(`[^-_a-z0-9]`)
	projectLine  = regexp.MustCompile(`(?m)^COMPOSE_PROJECT_NAME=(.+)$`)
)

// projectName is what the reference implementation calls the project
// (getProjectName): COMPOSE_PROJECT_NAME, name in the files, or the folder.
func (r *resolver) projectName(config Object) string {
	clean := func(s string) string { return notInProject.ReplaceAllString(strings.ToLower(s), "") }
	if name := clean(r.options.Host.Env["COMPOSE_PROJECT_NAME"]); name != "" {
		return name
	}
	p := r.project
	if doc, err := p.Document(path.Join(p.Home, ".env")); err == nil {
		if m := projectLine.FindSubmatch(doc.Src); m != nil {
			if name := clean(strings.TrimSpace(string(m[1]))); name != "" {
				return name
			}
		}
	}
	if name := clean(r.files.Root.Get("name").String()); name != "" {
		return name
	}
	workspace := filepath.Clean(r.options.Host.Workspace)
	folder := filepath.Dir(r.absolute(text(list(config.Get("dockerComposeFile"))[0])))
	if folder == filepath.Join(workspace, ".devcontainer") {
		return clean(filepath.Base(workspace) + "_devcontainer")
	}
	return clean(filepath.Base(folder))
}
