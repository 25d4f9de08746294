package effective

import (
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/internal/jsonc"
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

// isCompose reports whether Compose starts the container: a Dockerfile or an
// image beside it wins.
func (r *resolver) isCompose(config Object) bool {
	return config.Has("dockerComposeFile") && !r.builds(config) && !config.Has("image")
}

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
			r.unknown("the Compose file %s: it lies outside of what was read", name)
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
	for _, name := range r.files.Unread {
		r.unknown("%s, which a Compose file extends or includes: it cannot be read", name)
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
	if len(list(out.Service.Get("profiles"))) > 0 && len(list(config.Get("runServices"))) == 0 && r.options.Host.Env["COMPOSE_PROFILES"] == "" {
		r.unknown("whether the service starts: it has profiles, and neither runServices nor COMPOSE_PROFILES names it")
	}
	out.Override = r.override(config, result, out.Service, image)
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
	versionLine  = regexp.MustCompile(`(?m)^\s*(version:.*)$`)
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

// serviceView is the service as a value; origins gets the place of each part.
func (r *resolver) serviceView(origins map[string][]Origin) Object {
	var out Object
	for _, m := range r.service.Members {
		switch m.Name {
		case "extends", "env_file", "environment":
		default:
			out = append(out, Member{m.Name, viewOf(m.Value, jsonc.Child("", m.Name), origins)})
		}
	}
	if env := r.environment(origins); len(env) > 0 {
		out = append(out, Member{"environment", env})
	}
	return out
}

// place says where a value of a Compose file stands.
func place(n *compose.Node) Origin {
	line, column := n.Doc.Position(n.Start)
	return Origin{Source: "Compose", File: n.Doc.File, Line: line, Column: column}
}

func viewOf(n *compose.Node, at string, origins map[string][]Origin) any {
	switch n.Kind {
	case compose.Map:
		out := Object{}
		for _, m := range n.Members {
			out.set(m.Name, viewOf(m.Value, jsonc.Child(at, m.Name), origins))
		}
		return out
	case compose.List:
		out := []any{}
		for i, item := range n.Items {
			origins[jsonc.Child(at, strconv.Itoa(i))] = []Origin{place(item)}
			out = append(out, viewOf(item, "", map[string][]Origin{}))
		}
		return out
	}
	if at != "" {
		origins[at] = []Origin{place(n)}
	}
	return scalarOf(n)
}

func scalarOf(n *compose.Node) any {
	switch n.Type() {
	case "null":
		return nil
	case "bool":
		return n.True()
	case "int", "float":
		if json.Valid([]byte(n.Text)) {
			return json.Number(n.Text)
		}
	}
	return n.Text
}

// environment lays the service's variables over those of its env_files. A name
// without a value is the host's variable, and nothing when that is not set.
func (r *resolver) environment(origins map[string][]Origin) Object {
	env := Object{}
	add := func(vars []compose.Variable) {
		for _, v := range vars {
			value := v.Value
			if !v.Set {
				var ok bool
				if value, ok = r.options.Host.Env[v.Name]; !ok {
					continue
				}
			}
			env.set(v.Name, value)
			origins[jsonc.Child("/environment", v.Name)] = []Origin{place(v.Node)}
		}
	}
	for _, file := range envFiles(r.service.Get("env_file")) {
		full := path.Join(r.composeDir(), file.name)
		doc, err := r.project.Document(full)
		switch {
		case path.IsAbs(file.name) || err != nil && file.required:
			r.unknown("the variables of env_file %s: it cannot be read", file.name)
		case err == nil:
			add(compose.EnvFile(doc))
		}
	}
	add(r.service.Get("environment").Variables())
	return env
}

// composeDir is the folder in the tree where the first Compose file lies.
func (r *resolver) composeDir() string {
	for _, n := range list(valueOf(r.project.Config.Root.Member("dockerComposeFile"))) {
		if name, ok := r.project.Path(text(n)); ok {
			return path.Dir(name)
		}
	}
	return r.project.Dir
}

type envFile struct {
	name     string
	required bool
}

// envFiles reads env_file in its forms: a text, a list of those, or of maps.
func envFiles(n *compose.Node) (out []envFile) {
	if n == nil {
		return nil
	}
	items := n.Items
	if n.Kind == compose.Scalar && !n.Null {
		items = []*compose.Node{n}
	}
	for _, item := range items {
		if item.Kind == compose.Map {
			required := item.Get("required")
			out = append(out, envFile{item.Get("path").String(), required == nil || required.True()})
			continue
		}
		out = append(out, envFile{item.Text, true})
	}
	return out
}

// override writes the file that the reference implementation lays over the
// project's own (generateFeaturesComposeOverrideContent).
func (r *resolver) override(config Object, result *Result, service Object, image Image) string {
	merged := withID(result.Configuration, r.options.Host.id()).(Object)
	var b strings.Builder
	if first := r.project.Compose; len(first) > 0 {
		if m := versionLine.FindSubmatch(first[0].Src); m != nil {
			fmt.Fprintf(&b, "%s\n\n", strings.TrimRight(string(m[1]), "\r"))
		}
	}
	dollars := func(s string) string { return strings.ReplaceAll(s, "$", "$$") }
	quoted := func(s string) string { return strings.ReplaceAll(dollars(s), "'", "''") }
	fmt.Fprintf(&b, "services:\n  '%s':", text(config.Get("service")))
	entrypoint, command, own := r.startOf(merged, image)
	var scripts []string
	for _, e := range list(merged.Get("entrypoints")) {
		scripts = append(scripts, text(e))
	}
	fmt.Fprintf(&b, "\n    entrypoint: [\"/bin/sh\", \"-c\", \"echo Container started\\n\ntrap \\\"exit 0\\\" 15\\n\n%s\\n\nexec \\\"$$@\\\"\\n\nwhile sleep 1 & wait $$!; do :; done\", \"-\"", strings.Join(scripts, "\\n\n"))
	for _, word := range entrypoint {
		j, _ := marshal(dollars(word))
		fmt.Fprintf(&b, ", %s", j)
	}
	b.WriteString("]")
	if !own {
		words := []any{}
		for _, word := range command {
			words = append(words, dollars(word))
		}
		j, _ := marshal(words)
		fmt.Fprintf(&b, "\n    command: %s", j)
	}
	if truthy(merged.Get("init")) {
		b.WriteString("\n    init: true")
	}
	if user := merged.Get("containerUser"); truthy(user) {
		fmt.Fprintf(&b, "\n    user: %s", text(user))
	}
	if env, _ := merged.Get("containerEnv").(Object); len(env) > 0 {
		b.WriteString("\n    environment:")
		for _, e := range env {
			fmt.Fprintf(&b, "\n      - '%s=%s'", e.Name, quoted(strings.ReplaceAll(text(e.Value), "\n", `\n`)))
		}
	}
	if truthy(merged.Get("privileged")) {
		b.WriteString("\n    privileged: true")
	}
	lines := func(name string, values []string) {
		if len(values) > 0 {
			fmt.Fprintf(&b, "\n    %s:\n      - %s", name, strings.Join(values, "\n      - "))
		}
	}
	texts := func(v any) (out []string) {
		for _, x := range list(v) {
			out = append(out, text(x))
		}
		return out
	}
	lines("cap_add", texts(merged.Get("capAdd")))
	lines("security_opt", texts(merged.Get("securityOpt")))
	var labels []string
	for _, l := range r.options.Host.labels() {
		labels = append(labels, "'"+quoted(l)+"'")
	}
	lines("labels", labels)
	r.overrideVolumes(&b, list(merged.Get("mounts")), lines)
	return b.String() + "\n"
}

// overrideVolumes writes mounts as SOURCE:TARGET: whatever else they say is
// lost, readonly among it.
func (r *resolver) overrideVolumes(b *strings.Builder, mounts []any, lines func(string, []string)) {
	var volumes []string
	var named []Object
	for _, v := range mounts {
		m, ok := v.(Object)
		if !ok {
			m = mountFields(text(v))
		}
		volume := text(m.Get("target"))
		if !m.Has("target") {
			volume = "undefined"
		}
		if truthy(m.Get("source")) {
			volume = text(m.Get("source")) + ":" + volume
			if m.Get("type") == "volume" {
				named = append(named, m)
			}
		}
		volumes = append(volumes, volume)
	}
	lines("volumes", volumes)
	if len(named) == 0 {
		return
	}
	b.WriteString("\nvolumes:")
	for _, m := range named {
		fmt.Fprintf(b, "\n  \n  %s:", text(m.Get("source")))
		if truthy(m.Get("external")) {
			b.WriteString("\n    external: true")
		}
	}
}

// mountFields takes a mount's text apart as the reference implementation does.
func mountFields(s string) Object {
	var out Object
	alias := map[string]string{"src": "source", "destination": "target", "dst": "target"}
	for field := range strings.SplitSeq(s, ",") {
		parts := strings.Split(field, "=")
		name := parts[0]
		if long := alias[name]; long != "" {
			name = long
		}
		var value any
		if len(parts) > 1 {
			value = parts[1]
		}
		out.set(name, value)
	}
	return out
}

// startOf returns what runs behind the script that stands in the place of the
// entrypoint; own says that the service's command stays as the files have it.
func (r *resolver) startOf(merged Object, image Image) (entrypoint, command []string, own bool) {
	if truthy(merged.Get("overrideCommand")) {
		return nil, nil, false
	}
	e, c := r.service.Get("entrypoint"), r.service.Get("command")
	given := func(n *compose.Node) bool { return n != nil && !n.Null }
	imageEntrypoint, imageCmd := image.Entrypoint, image.Cmd
	if r.entrypoint != nil {
		imageEntrypoint, imageCmd = r.entrypoint, nil
	}
	if r.cmd != nil {
		imageCmd = r.cmd
	}
	if given(e) {
		entrypoint = e.Words()
	} else {
		entrypoint = imageEntrypoint
	}
	switch {
	case given(c):
		return entrypoint, nil, true
	case given(e):
		return entrypoint, nil, false
	}
	return entrypoint, imageCmd, false
}
