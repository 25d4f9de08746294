package imagebuild

import (
	"context"
	"errors"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/org/claude-sandbox/imagebuild/registry"
	"github.com/org/claude-sandbox/internal/engine"
)

// Lookup finds what images are set up to do: in the engine, which is connected to
// at the first question, and then in registries. Close it. It is not safe for
// concurrent use.
type Lookup struct {
	Registries registry.Options
	Online     bool // ask registries, too

	engine *engine.Engine
	failed error // to connect
}

// Config returns labels, user, entry point and command of an image. private says
// that a variable of this host stands in its name: then no registry is asked,
// because the name would tell it the value.
func (l *Lookup) Config(ctx context.Context, ref string, private bool) (v1.Config, error) {
	if l.engine == nil && l.failed == nil {
		l.engine, l.failed = engine.Connect(ctx)
	}
	err := l.failed
	if l.engine != nil {
		var image engine.Image
		if image, err = l.engine.ImageInspect(ctx, ref); err == nil {
			return v1.Config{Labels: image.Labels, User: image.User, Entrypoint: image.Entrypoint, Cmd: image.Cmd}, nil
		}
	}
	switch {
	case !l.Online && errors.Is(err, engine.ErrNotFound):
		return v1.Config{}, errors.New("it is not on this machine; --online asks its registry")
	case !l.Online:
		return v1.Config{}, err
	case private:
		return v1.Config{}, errors.New("it is not on this machine, and no registry is asked: a variable of this host stands in its name")
	}
	return RemoteConfig(ctx, l.Registries, ref)
}

// Close ends the connection to the engine, if there is one.
func (l *Lookup) Close() {
	if l.engine != nil {
		l.engine.Close()
	}
}
