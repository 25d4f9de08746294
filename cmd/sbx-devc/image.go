package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/org/claude-sandbox/imagebuild"
	"github.com/org/claude-sandbox/imagebuild/npm"
	"github.com/org/claude-sandbox/imagebuild/registry"
	"github.com/org/claude-sandbox/imagebuild/store"
	"github.com/org/claude-sandbox/internal/carried"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/session/images"
)

func (a *app) imageCommand() *cobra.Command {
	image := &cobra.Command{
		Use:   "image",
		Short: "Lock, build, push, verify and pull images",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	image.AddCommand(a.imageLockCommand(), a.imageBuildCommand(), a.imageTagsCommand(), a.imagePushCommand(),
		a.imageInspectCommand(), a.imageVerifyCommand(), a.imagePullCommand(), a.imageLoadCommand())
	return image
}

// imageError gives the failure of an image command its exit code.
func imageError(err error) error {
	var exit *exitcode.Error
	var badName *name.ErrBadName
	switch {
	case err == nil || errors.As(err, &exit):
		return err
	case errors.As(err, &badName):
		return exitWith(exitUsage, err)
	case errors.Is(err, engine.ErrUnavailable):
		return exitWith(exitUnavailable, err)
	case errors.Is(err, registry.ErrTagMoved):
		return exitWith(exitRefused, err)
	case errors.Is(err, imagebuild.ErrLock):
		return exitWith(exitConfig, err)
	case errors.Is(err, registry.ErrAuth):
		return exitWith(exitNoSecret, err)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, registry.ErrNotFound):
		return exitWith(exitNoInput, err)
	case errors.Is(err, engine.ErrNotFound):
		return exitWith(exitNoInput, diag.WithHint(err, "see what the engine has with 'docker images'"))
	}
	return exitWith(exitFailed, err)
}

// withEngine runs f with a connection to the engine and gives its failure an
// exit code.
func withEngine(ctx context.Context, f func(*engine.Engine) error) error {
	e, err := engine.Connect(ctx)
	if err == nil {
		defer e.Close()
		err = f(e)
	}
	return imageError(err)
}

// login is what the flags say about credentials.
type login struct {
	username string
	stdin    bool
}

func (l *login) flags(f *pflag.FlagSet) {
	f.StringVar(&l.username, "username", "", "user at the registry, with --password-stdin")
	f.BoolVar(&l.stdin, "password-stdin", false, "read the password or token from standard input")
}

// registryOptions returns how registries are reached, with the credentials
// that the flags or the environment name.
func (a *app) registryOptions(l login) (registry.Options, error) {
	home, _ := os.UserHomeDir() // without one there is no configuration to read
	c := registry.Credentials{Username: l.username, Getenv: a.getenv, Home: home}
	if l.stdin {
		secret, err := io.ReadAll(io.LimitReader(a.stdin, 64<<10))
		if err != nil {
			return registry.Options{}, fmt.Errorf("reading the password: %w", err)
		}
		if c.Password = strings.TrimRight(string(secret), "\r\n"); c.Password == "" {
			return registry.Options{}, exitWith(exitNoSecret, diag.WithHint(errors.New("the password on standard input is empty"),
				"pipe the token in: gh auth token | sbx-devc image push … --username me --password-stdin"))
		}
	} else if l.username != "" {
		return registry.Options{}, exitWith(exitUsage,
			diag.WithHint(errors.New("--username without --password-stdin"), "pipe the password in, and add --password-stdin"))
	}
	return registry.Real(c, func(text string) { fmt.Fprintf(a.stderr, "sbx-devc: %s\n", text) }), nil
}

// materials returns where images are made from.
func (a *app) materials(l login, npmRegistry string) (imagebuild.Materials, error) {
	var m imagebuild.Materials
	options, err := a.registryOptions(l)
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
		NPM: npm.Registry{URL: cmp.Or(npmRegistry, a.getenv("NPM_CONFIG_REGISTRY"), npm.DefaultURL()),
			HTTP: &http.Client{Transport: options.Transport}},
		Save:   saveFromEngine,
		Notice: func(format string, args ...any) { fmt.Fprintf(a.stderr, "sbx-devc: "+format+"\n", args...) },
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
