package recipe

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/features"
	"github.com/org/claude-sandbox/imagebuild"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// claudeFeature installs Claude Code, which a run brings along.
const claudeFeature = "ghcr.io/anthropics/devcontainer-features/claude-code"

// readFeatures reads the folders of local Features, and the standard's lock for those
// of registries.
func (r *Recipe) readFeatures(root *os.Root, named *jsonc.Node) (unusable string) {
	remote := false
	for _, m := range named.Fields() {
		switch {
		case LeavesOutFeature(m.Name):
			r.LeftOut = append(r.LeftOut, "the Feature "+m.Name+", because a run brings Claude Code along")
			continue
		case refersToMachine(m.Value):
			return "its Features refer to variables of this machine"
		case rights.SourceOf(m.Name) == rights.LocalFeature:
			brought, why := r.readFeature(root, path.Join(path.Dir(r.File), m.Name))
			if why != "" {
				return fmt.Sprintf("its Feature %s %s", m.Name, why)
			}
			if brought != "" {
				r.LeftOut = append(r.LeftOut, "the Feature "+m.Name+", because "+brought)
				continue
			}
		case rights.SourceOf(m.Name) != rights.RegistryFeature:
			return "its Feature " + m.Name + " does not come from a registry"
		default:
			remote = true
		}
		r.Features = append(r.Features, m.Name)
	}
	if !remote {
		return ""
	}
	lock := path.Join(path.Dir(r.File), strings.TrimSuffix(path.Base(r.File), ".json")+"-lock.json")
	text, err := r.readOnce(root, lock, maxFile)
	switch {
	case err == nil:
		r.Content[lock] = text
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("its lock of Features cannot be read (%v)", diag.WithoutPath(err))
	}
	return ""
}

// LeavesOutFeature reports whether a run brings along what a Feature installs.
func LeavesOutFeature(id string) bool {
	rest, found := strings.CutPrefix(strings.ToLower(id), claudeFeature)
	return found && (rest == "" || rest[0] == ':' || rest[0] == '@')
}

// refersToMachine reports whether a text below n has a variable of the host.
func refersToMachine(n *jsonc.Node) (found bool) {
	n.Walk(func(n *jsonc.Node) { found = found || n.Kind == jsonc.String && strings.Contains(n.Text, "${") })
	return found
}

// readFeature reads the folder of a local Feature, and the metadata alone of one whose
// work a run does anyway: brought says why.
func (r *Recipe) readFeature(root *os.Root, folder string) (brought, unusable string) {
	if devcontainer.LeavesTree(folder) {
		return "", "lies outside of the project"
	}
	metadata, err := r.readOnce(root, path.Join(folder, devcontainer.FeatureName), maxFile)
	if err == nil {
		switch {
		case features.IsFirewall(metadata):
			return "a run has its own firewall, which has this one's hosts once you trust the project", ""
		case features.IsClaude(metadata):
			return "a run brings Claude Code along", ""
		}
		err = r.walk(root, folder, ".", imagebuild.Ignore{}, func(f imagebuild.File) error {
			r.folders[folder] = append(r.folders[folder], f)
			r.accept(folder, f)
			return nil
		})
	}
	if err != nil {
		return "", fmt.Sprintf("cannot be read (%v)", diag.WithoutPath(err))
	}
	return "", ""
}

// FeatureFiles returns the files of a local Feature's folder in the project.
func (r *Recipe) FeatureFiles(folder string) []imagebuild.File { return r.folders[folder] }

// Project returns the dev container as it was read, without any other file.
func (r *Recipe) Project() (*devcontainer.Project, error) {
	tree := devcontainer.Memory{}
	for name, text := range r.read {
		tree[name] = string(text)
	}
	return devcontainer.Load(tree, r.File, r.File)
}

// readCompose takes the image or the Dockerfile of the service that is the dev
// container. It uses nothing else in the Compose files.
func (r *Recipe) readCompose(root *os.Root) (unusable string) {
	p, err := devcontainer.Load(readTree{r, root}, r.File, r.File)
	if err != nil {
		return fmt.Sprintf("it cannot be read (%v)", diag.WithoutPath(err))
	}
	files := p.Composed
	switch {
	case files == nil || files.First == "":
		return "its Compose files cannot be read"
	case files.Service == nil:
		return "its Compose files do not have its service"
	case len(files.Project.Problems) > 0 || len(files.Project.Unread) > 0 || files.Project.Incomplete() != "":
		return "its Compose files are not well formed or name others that cannot be read"
	}
	var others []string
	for _, s := range files.Project.Services() {
		if s.Name != files.Service.Name {
			others = append(others, s.Name)
		}
	}
	if slices.Sort(others); len(others) > 0 {
		r.LeftOut = append(r.LeftOut, "of its Compose file the other services ("+strings.Join(others, ", ")+")")
	}
	for _, name := range files.Files {
		r.Content[name] = r.read[name]
	}
	service := files.Service
	context, dockerfile, target, builds := service.Build()
	build := service.Get("build")
	r.Image, r.Target = service.Get("image").String(), target
	if !builds {
		return r.readImage(root, "", "", false)
	}
	for _, option := range []string{"dockerfile_inline", "additional_contexts", "ssh", "secrets", "network"} {
		if build.Get(option) != nil {
			return "its service's build has the option " + option
		}
	}
	if path.IsAbs(context) || path.IsAbs(dockerfile) || strings.Contains(context, "://") {
		return "its Dockerfile or build context lies outside of the project"
	}
	for _, arg := range build.Get("args").Variables() {
		if r.Args[arg.Name] = arg.Value; !arg.Set {
			return "it refers to variables of this machine"
		}
	}
	context = path.Join(path.Dir(r.File), path.Dir(files.First), context)
	return r.readImage(root, context, path.Join(context, dockerfile), true)
}

// readTree is the project as far as readOnce reads it.
type readTree struct {
	recipe *Recipe
	root   *os.Root
}

func (t readTree) Read(name string) ([]byte, error) { return t.recipe.readOnce(t.root, name, maxFile) }

func (t readTree) Kind(name string) devcontainer.Kind {
	info, err := t.root.Stat(name)
	switch {
	case err != nil:
		return devcontainer.Nothing
	case info.IsDir():
		return devcontainer.Folder
	case info.Mode().IsRegular():
		return devcontainer.File
	}
	return devcontainer.Nothing
}

func (t readTree) List(dir string) (names []string) {
	entries, _ := fs.ReadDir(t.root.FS(), dir)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}
