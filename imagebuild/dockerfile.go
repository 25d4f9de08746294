package imagebuild

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
)

// BuildOptions says what BuildDockerfile builds.
type BuildOptions struct {
	Context    string            // folder that COPY reads from
	Dockerfile string            // path inside Context, slash separated; "" = Dockerfile
	Tag        string            // name of the result; "" = none
	Target     string            // stage to build; "" = the last one
	Args       map[string]string // build arguments; they end up in the image's history: never a secret
	Progress   io.Writer         // the builder's output
	Classic    bool              // not with BuildKit, although the engine has it
}

// DockerfileIn returns what is built in a project's folder: the build's context and the
// Dockerfile in it, which file names; "" = the dev container's, whose context is its own
// folder, or the project's.
func DockerfileIn(dir, file string) (context, dockerfile string) {
	if file != "" {
		return dir, filepath.ToSlash(file)
	}
	devcontainer := filepath.Join(dir, ".devcontainer")
	if _, err := os.Stat(filepath.Join(devcontainer, "Dockerfile")); err == nil {
		return devcontainer, "Dockerfile"
	}
	return dir, "Dockerfile"
}

// BuildDockerfile builds an image with the engine's builder and returns its id.
// The init image is loaded first, so that COPY --from finds it. A failing step
// is an error that holds the builder's message and the step's last lines; the step
// itself stands in the Progress output.
func BuildDockerfile(ctx context.Context, e *engine.Engine, o BuildOptions) (id string, err error) {
	o.Dockerfile = cmp.Or(o.Dockerfile, "Dockerfile")
	file := filepath.Join(o.Context, filepath.FromSlash(o.Dockerfile))
	if _, err := os.Stat(file); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = diag.WithHint(err, "name the folder that holds a Dockerfile, or create one with 'sbx-devc init'")
		}
		return "", fmt.Errorf("reading the Dockerfile: %w", err)
	}
	ignore, err := readIgnore(o.Context, o.Dockerfile)
	if err != nil {
		return "", err
	}
	if _, err := LoadInit(ctx, e); err != nil {
		return "", err
	}
	spec := engine.BuildSpec{Dockerfile: o.Dockerfile, Target: o.Target, Classic: o.Classic, Args: map[string]*string{}}
	if o.Tag != "" {
		spec.Tags = []string{o.Tag}
	}
	for k, v := range o.Args {
		spec.Args[k] = &v
	}
	r, w := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		err := packContext(w, o.Context, ignore)
		w.CloseWithError(err)
		packed <- err
	}()
	id, err = e.Build(ctx, spec, r, o.Progress)
	r.CloseWithError(errBuildOver)
	if packErr := <-packed; packErr != nil && !errors.Is(packErr, errBuildOver) {
		return "", packErr // the cause of whatever the engine made of half a context
	}
	if err != nil && strings.Contains(err.Error(), "no active sessions") {
		// BuildKit asks the client of the build for secrets and keys, over a
		// connection that we do not offer.
		err = diag.WithHint(err, "secrets and ssh need 'docker build --secret … --tag NAME'; 'sbx-devc image push --image NAME' "+
			"publishes what it made")
	}
	if err != nil {
		return "", fmt.Errorf("building %s: %w", file, err)
	}
	return id, nil
}

// errBuildOver stops packing when the engine ended before it read everything.
var errBuildOver = errors.New("the build is over")
