package recipe

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/imagebuild"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// Bounds of what is read of a build context: somebody must be able to read it too.
const (
	maxFiles = 500
	maxBytes = 8 << 20
	maxFile  = 1 << 20 // of devcontainer.json, the Dockerfile and .dockerignore
)

// DockerfileName is the name of the Dockerfile in a folder that In makes.
const DockerfileName = "Dockerfile.sbx-devc"

// Recipe is what the image of a dev container is made of.
type Recipe struct {
	File       string            // devcontainer.json, slash-separated, relative to the project
	Image      string            // an image to take as it is; "" = there is a Dockerfile
	Dockerfile string            // as File; "" = there is an Image
	Target     string            // stage of the Dockerfile; "" = the last one
	Args       map[string]string // of the build
	Features   []string          // names of those that are installed on it, as the configuration has them
	// LeftOut names parts of the dev container that a run does without, for people.
	LeftOut []string
	// Unusable says why a run cannot take the dev container, as half a sentence
	// about it; "" = it can.
	Unusable string
	// Content is everything that decides the image: texts by their names, relative
	// to the project. Behind the name of a file that may be executed is Executable.
	Content map[string][]byte

	context []imagebuild.File            // in the order of reading
	folders map[string][]imagebuild.File // of local Features, by their paths in the project
	read    map[string][]byte            // texts of files, by their paths in the project
	files   int
	bytes   int
}

// Executable marks names in Recipe.Content. No path has two slashes in a row.
const Executable = "// (executable)"

// Read reads the dev container of the project in dir: .devcontainer/devcontainer.json
// or .devcontainer.json. It returns nil where there is none. A folder of that name is
// none: a run makes an empty one, which its container covers.
func Read(dir string) *Recipe {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	for _, name := range []string{".devcontainer/devcontainer.json", ".devcontainer.json"} {
		text, err := filekind.ReadIn(root, name, maxFile)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			continue
		}
		if info, statErr := root.Stat(name); statErr == nil && info.IsDir() {
			continue
		}
		r := &Recipe{File: name, Content: map[string][]byte{name: text}, Args: map[string]string{}, read: map[string][]byte{},
			folders: map[string][]imagebuild.File{}}
		if err != nil {
			r.Unusable = fmt.Sprintf("it cannot be read (%v)", diag.WithoutPath(err))
			return r
		}
		r.read[name] = text
		r.Unusable = r.readConfig(root, text)
		return r
	}
	return nil
}

// readConfig fills in the recipe from the text of devcontainer.json and returns why it is
// unusable.
func (r *Recipe) readConfig(root *os.Root, text []byte) (unusable string) {
	doc, _ := jsonc.Parse(r.File, text)
	if doc == nil || doc.Root.Kind != jsonc.Object {
		return "it is not well formed"
	}
	config := doc.Root
	if unusable := r.readFeatures(root, config.Member("features")); unusable != "" {
		return unusable
	}
	build := config.Member("build")
	if build.Member("options") != nil {
		return "its build has options of the command line"
	}
	r.Image = config.Member("image").TextOr("")
	named, context := devcontainer.BuildOf(config)
	dockerfile := named.TextOr("")
	if named != nil {
		r.Target = build.Member("target").TextOr("")
	}
	for _, arg := range build.Member("args").Fields() {
		r.Args[arg.Name] = arg.Value.TextOr("")
	}
	if dockerfile == "" && r.Image == "" && config.Member("dockerComposeFile") != nil {
		return r.readCompose(root)
	}
	folder := path.Dir(r.File)
	return r.readImage(root, path.Join(folder, devcontainer.Relative(context, folder)),
		path.Join(folder, devcontainer.Relative(dockerfile, folder)), dockerfile != "")
}

// readImage takes the Dockerfile name, relative to the project, or else Image.
func (r *Recipe) readImage(root *os.Root, context, name string, builds bool) (unusable string) {
	values := []string{r.Image, name, context, r.Target}
	for _, value := range r.Args {
		values = append(values, value)
	}
	for _, value := range values {
		if strings.Contains(value, "${") {
			return "it refers to variables of this machine"
		}
	}
	switch {
	case !builds && r.Image == "":
		return "it names neither an image nor a Dockerfile"
	case !builds:
		return ""
	}
	r.Image = "" // the Dockerfile decides, as for the reference CLI
	return r.readBuild(root, name, context)
}

// Encode returns everything that decides the image as one text, which is equal for
// equal recipes alone.
func (r *Recipe) Encode() []byte {
	text, err := json.Marshal(r.Content) // in the order of the names
	if err != nil {
		panic(err) // a map of texts can be written
	}
	return text
}

// In writes the build's context and the Dockerfile into a folder of their own for as
// long as use works.
func (r *Recipe) In(use func(folder string) error) error {
	return imagebuild.InFolder(append([]imagebuild.File{{Name: DockerfileName, Data: r.Content[r.Dockerfile]}}, r.context...), use)
}
