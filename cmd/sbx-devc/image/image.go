package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/connect"
	"github.com/org/claude-sandbox/imagebuild"
	"github.com/org/claude-sandbox/imagebuild/npm"
	"github.com/org/claude-sandbox/imagebuild/store"
	"github.com/org/claude-sandbox/internal/carried"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/session/images"
)

func Command(a *cli.App) *cobra.Command {
	image := &cobra.Command{
		Use:   "image",
		Short: "Lock, build, push, verify and pull images",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	image.AddCommand(lockCommand(a), buildCommand(a), tagsCommand(a), pushCommand(a),
		inspectCommand(a), verifyCommand(a), pullCommand(a), loadCommand(a))
	return image
}

// materials returns where images are made from.
func materials(a *cli.App, l connect.Login, npmRegistry string) (imagebuild.Materials, error) {
	var m imagebuild.Materials
	options, err := connect.RegistryOptions(a, l)
	if err != nil {
		return m, err
	}
	cache, err := images.CacheDir()
	if err != nil {
		return m, err
	}
	s, err := store.Open(filepath.Join(cache, "images"))
	if err != nil {
		return m, err
	}
	return imagebuild.Materials{
		Store: s, Registry: options, Init: carried.Init, InitSHA256: carried.Sums(),
		NPM: npm.Registry{URL: cmp.Or(npmRegistry, a.Getenv("NPM_CONFIG_REGISTRY"), npm.DefaultURL()),
			HTTP: &http.Client{Transport: options.Transport}},
		Save:   saveFromEngine,
		Notice: func(format string, args ...any) { fmt.Fprintf(a.Stderr, "sbx-devc: "+format+"\n", args...) },
	}, nil
}

// saveFromEngine reads an image of the engine. The connection lives as long as
// the stream.
func saveFromEngine(ctx context.Context, name string) (io.ReadCloser, error) {
	e, err := engine.Connect(ctx)
	if err != nil {
		return nil, err
	}
	r, err := e.Save(ctx, name)
	if err != nil {
		e.Close()
		return nil, err
	}
	return &closingBoth{r, e}, nil
}

type closingBoth struct {
	io.ReadCloser
	engine *engine.Engine
}

func (c *closingBoth) Close() error {
	err := c.ReadCloser.Close()
	return errors.Join(err, c.engine.Close())
}
