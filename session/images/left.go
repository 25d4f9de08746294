package images

import (
	"context"
	"fmt"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/progress"
	"github.com/org/claude-sandbox/session/volumes"
)

// Left is something that runs left on an engine and make again when they need it.
type Left struct {
	What   string // for people, with its size
	Spare  bool   // it may stay when it cannot be removed, as while a container has it
	Remove func(context.Context) error
}

// Wanted says what of it somebody wants to remove.
type Wanted struct {
	Dir         string   // the project's folder, absolute, without symbolic links
	AllProjects bool     // what is left of every project
	Images      bool     // images, too
	Known       []string // further projects of the user's, some of which may be gone; for Images
}

// LeftOf lists what runs left: the caches of the project, programs of other versions and, on
// demand, images.
func LeftOf(ctx context.Context, store volumes.Store, w Wanted) ([]Left, error) {
	all, err := store.List(ctx, volumes.Cache)
	if err != nil {
		return nil, err
	}
	caches := all
	if !w.AllProjects {
		if caches, err = store.CachesOf(ctx, w.Dir); err != nil {
			return nil, err
		}
	}
	programs, err := OldPrograms(ctx, store)
	if err != nil {
		return nil, err
	}
	left, err := leftVolumes(ctx, store, append(caches, programs...))
	if err != nil || !w.Images {
		return left, err
	}
	for _, v := range all {
		w.Known = append(w.Known, v.Project())
	}
	images, err := Spare(ctx, store.Engine, w.Dir, w.Known, w.AllProjects)
	for _, image := range images {
		left = append(left, Left{
			What: fmt.Sprintf("the image %s, %s", image.Name, progress.Size(image.Bytes)), Spare: true,
			Remove: func(ctx context.Context) error { return store.Engine.ImageRemove(ctx, image.Name) },
		})
	}
	return left, err
}

func leftVolumes(ctx context.Context, store volumes.Store, kept []volumes.Kept) (left []Left, err error) {
	if len(kept) > 0 {
		err = store.Measure(ctx, kept)
	}
	for _, v := range kept {
		l := Left{What: "an old version of Claude Code, " + v.Name, Spare: v.Kind != volumes.Cache}
		switch v.Kind {
		case volumes.Init:
			l.What = "an old version of sbx-init, " + v.Name
		case volumes.Cache:
			l.What = "the package managers' caches of " + v.Project()
		}
		if v.Bytes >= 0 {
			l.What += ", " + progress.Size(v.Bytes)
		}
		l.Remove = func(ctx context.Context) error {
			if err := store.Remove(ctx, v); err != nil {
				return exitcode.With(exitcode.Locked, diag.WithHint(err, "end the run that uses it first"))
			}
			return nil
		}
		left = append(left, l)
	}
	return left, err
}
