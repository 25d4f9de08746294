package effective

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/budget"
	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// Image is what an image's configuration says.
type Image struct {
	Labels          map[string]string
	Entrypoint, Cmd []string
}

// Options are what lies around the project.
type Options struct {
	Host Host
	// Image looks an image up; nil = do not ask. An error is quoted in
	// Result.Unknown. private says that a variable of the host stands in ref: who
	// wrote the project chose whom to ask, so an outside service may not learn it.
	Image func(ref string, private bool) (Image, error)
	// Feature returns the devcontainer-feature.json of a Feature that lies in a
	// registry; nil = do not ask.
	Feature func(id string) ([]byte, error)
}

// Result is the effective configuration.
type Result struct {
	// Configuration is what the reference implementation calls the merged
	// configuration, without configFilePath. ${devcontainerId} and
	// ${containerEnv:…} are still in it, as they are there.
	Configuration Object
	// Origins says for pointers into Configuration where the value comes from:
	// for lists and maps at each element, otherwise at the property.
	Origins map[string][]Origin
	// Folder is the workspace's folder in the container, Mount how it gets
	// there; Mount is "" when nothing is mounted.
	Folder, Mount string
	// Run is the engine's command line, nil for Docker Compose.
	Run []string
	// Compose is what Docker Compose starts; nil without it, and when nothing is
	// known of the service.
	Compose *Compose
	// Features are those that are installed, in their order.
	Features []Feature
	// Unknown lists what could not be found out, in sentences without a full
	// stop. Empty means that Configuration is whole.
	Unknown []string
}

// Compute works out the effective configuration of a project. The error says
// that the file is not well formed or that the reference implementation would
// refuse it.
func Compute(p *devcontainer.Project, options Options) (*Result, error) {
	if p.Config.Root == nil || p.Config.Root.Kind != jsonc.Object {
		return nil, diag.WithHint(fmt.Errorf("%s is not a well-formed JSON object", p.Config.File), "sbx-devc validate %s says where",
			p.Config.File)
	}
	r := &resolver{project: p, options: options, work: budget.New(maxWork)}
	raw := valueOf(p.Config.Root).(Object)
	legacyCustomizations(&raw)
	folder, mount := r.workspace(raw)
	r.sub = &substituter{host: options.Host, work: r.work}
	r.sub.container = r.sub.text(folder)
	config := entry{source: "devcontainer.json", doc: p.Config, root: p.Config.Root, object: r.sub.value(raw).(Object)}
	if r.sub.err != nil {
		return nil, fmt.Errorf("%s: %w", p.Config.File, r.sub.err)
	}
	if s, ok := config.object.Get("workspaceFolder").(string); ok {
		folder = s
	}
	if config.object.Has("workspaceMount") {
		mount, _ = config.object.Get("workspaceMount").(string)
	}

	if r.project.ByCompose() {
		r.composeFiles(config.object)
	}
	image, entries := r.image(config.object, raw)
	result := &Result{Folder: folder, Mount: mount}
	for _, f := range r.features(config.object) {
		result.Features = append(result.Features, f.installed())
		f.entry.object, _ = r.sub.value(pick(f.entry.object, fromFeature)).(Object)
		entries = append(entries, f.entry)
	}
	picked := config
	picked.object = pick(config.object, fromConfig)
	entries = slices.DeleteFunc(append(entries, picked), func(e entry) bool { return len(e.object) == 0 })
	result.Configuration, result.Origins = merge(config, entries)
	if r.project.ByCompose() {
		result.Compose = r.compose(config.object, result, image)
	} else {
		result.Run = r.run(config.object, result, image)
	}
	for _, right := range p.Rights {
		if right.Notation == rights.Label && right.Kind != rights.Labelled {
			line, _ := right.Place.Doc.Position(right.Place.Start)
			r.unknown("whether %s counts: the label %s in %s:%d has it, and tools obey that once the container exists", right.Key,
				rights.MetadataLabel, right.Place.Doc.File, line)
		}
	}
	if r.work.Spent() {
		r.unknown("what all variables stand for: more than %d MiB, so some stay as they are written", maxWork>>20)
	}
	result.Unknown = r.missing
	return result, nil
}

type resolver struct {
	project *devcontainer.Project
	options Options
	sub     *substituter
	work    *budget.Budget // see substituter
	missing []string
	files   *compose.Project // nil without Compose
	service *compose.Service // the dev container's
	// entrypoint and cmd are what the Dockerfile says; nil when it does not.
	entrypoint, cmd []string
}

func (r *resolver) unknown(format string, args ...any) {
	if s := fmt.Sprintf(format, args...); !slices.Contains(r.missing, s) {
		r.missing = append(r.missing, s)
	}
}

func firstOf(findings []diag.Finding) string {
	if len(findings) == 0 {
		return ""
	}
	return fmt.Sprintf(" (line %d: %s)", findings[0].Line, findings[0].Message)
}

// workspace returns the folder in the container and the mount that a
// configuration gets which names none.
func (r *resolver) workspace(raw Object) (folder, mount string) {
	folder, _ = raw.Get("workspaceFolder").(string)
	if raw.Has("dockerComposeFile") {
		if folder == "" {
			folder = "/"
		}
		return folder, ""
	}
	mount, _ = raw.Get("workspaceMount").(string)
	host := r.options.Host
	if host.Workspace == "" || folder != "" && raw.Has("workspaceMount") {
		return folder, mount
	}
	top := host.GitRoot
	if top == "" {
		top = host.Workspace
	}
	slash := func(s string) string {
		if host.Windows {
			return strings.ReplaceAll(s, `\`, "/")
		}
		return s
	}
	inside := path.Join("/workspaces", path.Base(slash(top)))
	if folder == "" {
		folder = path.Join(inside, strings.TrimPrefix(slash(host.Workspace), slash(top)))
	}
	if !raw.Has("workspaceMount") {
		quote := func(s string) string {
			if strings.Contains(s, ",") {
				return `"`
			}
			return ""
		}
		mount = fmt.Sprintf("type=bind,%[1]ssource=%[2]s%[1]s,%[3]starget=%[4]s%[3]s", quote(top), top, quote(inside), inside)
	}
	return folder, mount
}

// builds reports whether the configuration builds a Dockerfile.
func (r *resolver) builds(config Object) bool {
	build, _ := config.Get("build").(Object)
	return config.Has("dockerFile") || build.Has("dockerfile")
}

// image finds the image that everything starts from and returns what its label
// says, one entry after the other. raw is config with its variables.
func (r *resolver) image(config, raw Object) (Image, []entry) {
	name := r.startImage(config)
	if name == "" || name == "scratch" {
		return Image{}, nil
	}
	if r.options.Image == nil {
		r.unknown("image %s: its label was not looked up", name)
		return Image{}, nil
	}
	image, err := r.options.Image(name, name != r.imageElsewhere(raw))
	if err != nil {
		r.unknown("image %s: %v", name, err)
		return Image{}, nil
	}
	entries, err := r.label("image "+name, image.Labels[rights.MetadataLabel])
	if err != nil {
		r.unknown("image %s: its label %s is not well formed, and ignored", name, rights.MetadataLabel)
	}
	return image, entries
}

// startImage returns the image that everything starts from, "" when that is not
// known.
func (r *resolver) startImage(config Object) string {
	switch {
	case r.builds(config):
		return r.base(config)
	case config.Has("image"):
		name, _ := config.Get("image").(string)
		return name
	case config.Has("dockerComposeFile"):
		return r.serviceImage()
	}
	r.unknown("the file names no image, and the reference implementation refuses that")
	return ""
}

// imageElsewhere is startImage on a host that has no variables.
func (r *resolver) imageElsewhere(raw Object) string {
	host := r.options.Host
	host.Env = map[string]string{}
	e := &resolver{project: r.project, options: Options{Host: host}, work: r.work}
	e.sub = &substituter{host: host, container: r.sub.container, work: r.work}
	config := e.sub.value(raw).(Object)
	if e.project.ByCompose() {
		e.composeFiles(config)
	}
	return e.startImage(config)
}

// label reads the text of a label: an array or a single object.
func (r *resolver) label(source, text string) ([]entry, error) {
	if text == "" {
		return nil, nil
	}
	doc, _ := jsonc.Parse(source, []byte(text))
	if doc == nil {
		return nil, errors.New("not well formed")
	}
	var out []entry
	for _, v := range list(r.sub.value(valueOf(doc.Root))) {
		if o, ok := v.(Object); ok {
			out = append(out, entry{source: source, object: o})
		}
	}
	return out, nil
}

// base returns the image below the Dockerfile's target.
func (r *resolver) base(config Object) string {
	if r.project.Dockerfile == nil {
		r.unknown("the Dockerfile: it cannot be read, so its image is not known")
		return ""
	}
	build, _ := config.Get("build").(Object)
	options := dockerfile.Options{Args: map[string]string{}}
	if args, ok := build.Get("args").(Object); ok {
		for _, a := range args {
			options.Args[a.Name] = text(a.Value)
		}
	}
	target, _ := build.Get("target").(string)
	return r.built(options, target)
}

// serviceImage returns the image that the Compose service starts from.
func (r *resolver) serviceImage() string {
	s := r.service
	if s == nil {
		return "" // composeFiles says why
	}
	_, _, target, builds := s.Build()
	if !builds {
		image := s.Get("image").String()
		if image == "" {
			r.unknown("the image of the Compose service: it names none and builds none")
		}
		return image
	}
	if r.project.Dockerfile == nil {
		r.unknown("the Dockerfile of the Compose service: it cannot be read, so its image is not known")
		return ""
	}
	options := dockerfile.Options{Args: map[string]string{}}
	for _, v := range s.Get("build").Get("args").Variables() {
		options.Args[v.Name] = v.Value
	}
	return r.built(options, target)
}

// built returns the image below a target of the Dockerfile.
func (r *resolver) built(options dockerfile.Options, target string) string {
	file := dockerfile.Read(r.project.Dockerfile, options)
	stage := file.Target(target)
	if stage == nil {
		r.unknown("the Dockerfile: it has no stage %q", target)
		return ""
	}
	r.entrypoint, r.cmd = stage.Start()
	if base := stage.Base(); base.Known {
		return base.Image
	}
	r.unknown("the Dockerfile: its image depends on a build argument that is not set")
	return ""
}

// imageStart returns what the built image starts: an ENTRYPOINT resets the CMD below it.
func (r *resolver) imageStart(image Image) (entrypoint, cmd []string) {
	entrypoint, cmd = image.Entrypoint, image.Cmd
	if r.entrypoint != nil {
		entrypoint, cmd = r.entrypoint, nil
	}
	if r.cmd != nil {
		cmd = r.cmd
	}
	return entrypoint, cmd
}

// At returns the value at an RFC 6901 pointer into the configuration, nil when
// there is none.
func (r *Result) At(pointer string) any {
	var v any = r.Configuration
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch at := v.(type) {
		case Object:
			v = at.Get(token)
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(at) {
				return nil
			}
			v = at[i]
		default:
			return nil
		}
	}
	return v
}
