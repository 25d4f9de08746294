package images

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/imagebuild"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/release"
	"github.com/org/claude-sandbox/session/recipe"
	"github.com/org/claude-sandbox/templates/detect"
	"github.com/org/claude-sandbox/templates/lock"
	"github.com/org/claude-sandbox/templates/scaffold"
)

// Choice is the image that a run takes when the user names none.
type Choice struct {
	Name string // what the plan says; an image that is built is used by its id
	Why  string // a sentence without an end

	recipe     *recipe.Recipe // of the project's dev container; nil = another image
	dockerfile []byte         // of a template; nil = another image
	because    string         // the file that speaks for the template; "" = none does
}

// Origin says from where the choice is, and the file of the project that decided; "" where
// none did.
func (c Choice) Origin() (origin, file string) {
	switch {
	case c.recipe != nil:
		return "project", c.recipe.File
	case c.dockerfile != nil:
		return "template", c.because
	}
	return "default", ""
}

// Choose decides which image a run of the project in dir takes: the one of its dev
// container, where that was accepted and can be taken, or else the one of the template
// that init would choose, or else the default one. r is nil where the project has no
// dev container; notAccepted says, as half a sentence, why its content must not be taken;
// "" = its user has accepted it. Nothing is built or asked for.
// dir is absolute, so that each project has an image of its own.
func Choose(dir string, r *recipe.Recipe, notAccepted string) (Choice, error) {
	switch {
	case r == nil:
		return chooseTemplate(dir, "")
	case r.Unusable != "":
		return chooseTemplate(dir, fmt.Sprintf("; not the dev container's (%s), because %s: build it with the dev container CLI and "+
			"name it to use it",
			r.File, r.Unusable))
	case notAccepted != "":
		return chooseTemplate(dir, fmt.Sprintf("; not the dev container's (%s), because %s", r.File, notAccepted))
	case r.Image != "" && len(r.Features) == 0:
		return Choice{Name: r.Image, Why: "the image is the one of the project's dev container, " + r.File + without(r), recipe: r}, nil
	}
	c := Choice{Name: projectName(dir), Why: "the image is the one of the project's dev container, ", recipe: r}
	if r.Image != "" {
		c.Why += r.File
	} else {
		c.Why += "built from " + r.Dockerfile
	}
	if len(r.Features) > 0 {
		c.Why += ", with its Features " + strings.Join(r.Features, ", ")
	}
	c.Why += without(r)
	return c, nil
}

// without says what of a dev container a run leaves out.
func without(r *recipe.Recipe) string {
	if len(r.LeftOut) == 0 {
		return ""
	}
	return "; left out: " + strings.Join(r.LeftOut, "; ")
}

// chooseTemplate takes the template that speaks for the project. of the project only
// what scaffold.Choose takes counts.
func chooseTemplate(dir, not string) (Choice, error) {
	report, err := detect.Look(dir)
	if err != nil {
		return Choice{}, err
	}
	input, err := scaffold.Choose(scaffold.Request{}, report)
	if err != nil {
		return Choice{}, err
	}
	dockerfile, err := templateDockerfile(input)
	if err != nil {
		return Choice{}, err
	}
	plain, err := templateDockerfile(lock.Input{Template: "claude"})
	if err != nil {
		return Choice{}, err
	}
	if bytes.Equal(dockerfile, plain) {
		return Choice{Name: release.Image(), Why: "the image is the default one" + not}, nil
	}
	c := Choice{Name: "claude-sandbox-" + input.Template + ":" + short(dockerfile), dockerfile: dockerfile,
		Why: "the image is the one of the template " + input.Template}
	if at := slices.IndexFunc(report.Languages, func(l detect.Language) bool { return l.File != "" }); at >= 0 {
		c.because = report.Languages[at].File
		c.Why += ", because of " + (detect.Proposal{File: c.because}).Where()
	}
	c.Why += not
	return c, nil
}

// forDevContainers are the regions of a template's Dockerfile that a run has no use
// for: it brings Claude Code and the firewall along.
var forDevContainers = regexp.MustCompile(
	`(?ms)^# sbx:begin (claude-stage|claude|firewall|gate|entrypoint)\n.*?^# sbx:end (claude-stage|claude|firewall|gate|entrypoint)\n`)

// templateDockerfile returns the Dockerfile of a template as a run builds it. It
// takes nothing from its context.
func templateDockerfile(input lock.Input) ([]byte, error) {
	_, files, err := lock.New(input, nil)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if path.Base(f.Path) == "Dockerfile" {
			return forDevContainers.ReplaceAll(f.Content, nil), nil
		}
	}
	return nil, fmt.Errorf("the template %s has no Dockerfile", input.Template)
}

// bringChoice brings the image that Choose decided for.
func (i Images) bringChoice(ctx context.Context) (name string, image engine.Image, err error) {
	c := i.Choice
	switch {
	case c.recipe != nil && c.recipe.Image != "" && len(c.recipe.Features) == 0:
		return i.bringNamed(ctx, c.Name)
	case c.recipe != nil:
		name, err = i.bringBuilt(ctx, "project", c.Name+string(c.recipe.Encode()), func() (string, error) { return i.buildRecipe(ctx, c) })
	case c.dockerfile != nil:
		name, err = i.bringBuilt(ctx, "template", string(c.dockerfile), func() (string, error) {
			return i.build(ctx, "the image of the project's template", c.Name, dockerfileAlone(c.dockerfile))
		})
	default:
		return i.bringDefault(ctx)
	}
	if err != nil {
		return "", image, diag.OrHint(err, "name an image with %s", i.Option)
	}
	image, err = i.Engine.ImageInspect(ctx, name)
	return name, image, err
}

// buildRecipe builds the image of the project's dev container, from the bytes that
// were accepted: its Dockerfile, where there is one, and its Features.
func (i Images) buildRecipe(ctx context.Context, c Choice) (id string, err error) {
	if c.recipe.Image != "" {
		_, image, err := i.bringNamed(ctx, c.recipe.Image)
		if err != nil {
			return "", err
		}
		return i.installFeatures(ctx, c, image)
	}
	step := i.Progress.Begin("building the image of the project's dev container, " + c.recipe.Dockerfile)
	err = c.recipe.In(func(folder string) error {
		id, err = imagebuild.BuildDockerfile(ctx, i.Engine, imagebuild.BuildOptions{
			Context: folder, Dockerfile: filepath.Base(recipe.DockerfileName), Tag: c.Name, Args: c.recipe.Args, Target: c.recipe.Target,
			Progress: step,
		})
		return err
	})
	step.End("built the image of the project's dev container", err)
	if err != nil {
		return "", fmt.Errorf("building the image of the project's dev container: %w", err)
	}
	if len(c.recipe.Features) == 0 {
		return id, nil
	}
	image, err := i.Engine.ImageInspect(ctx, id)
	if err != nil {
		return "", err
	}
	return i.installFeatures(ctx, c, image)
}
