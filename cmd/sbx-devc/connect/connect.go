package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/spf13/pflag"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/imagebuild"
	"github.com/org/claude-sandbox/imagebuild/registry"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/exitcode"
)

// Error gives the failure of an image command its exit code.
func Error(err error) error {
	var exit *exitcode.Error
	var badName *name.ErrBadName
	switch {
	case err == nil || errors.As(err, &exit):
		return err
	case errors.As(err, &badName), errors.Is(err, registry.ErrName):
		return exitcode.With(exitcode.Usage, err)
	case errors.Is(err, engine.ErrUnavailable):
		return exitcode.With(exitcode.Unavailable, err)
	case errors.Is(err, registry.ErrTagMoved):
		return exitcode.With(exitcode.Refused, err)
	case errors.Is(err, imagebuild.ErrLock):
		return exitcode.With(exitcode.Config, err)
	case errors.Is(err, registry.ErrAuth):
		return exitcode.With(exitcode.NoSecret, err)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, registry.ErrNotFound):
		return exitcode.With(exitcode.NoInput, err)
	case errors.Is(err, engine.ErrNotFound):
		return exitcode.With(exitcode.NoInput, diag.WithHint(err, "see what the engine has with 'docker images'"))
	}
	return exitcode.With(exitcode.Failed, err)
}

// Engine runs f with a connection to the engine and gives its failure an
// exit code.
func Engine(ctx context.Context, f func(*engine.Engine) error) error {
	e, err := engine.Connect(ctx)
	if err == nil {
		defer e.Close()
		err = f(e)
	}
	return Error(err)
}

// Login is what the flags say about credentials.
type Login struct {
	username string
	stdin    bool
}

func (l *Login) Flags(f *pflag.FlagSet) {
	f.StringVar(&l.username, "username", "", "user at the registry, with --password-stdin")
	f.BoolVar(&l.stdin, "password-stdin", false, "read the password or token from standard input")
}

// RegistryOptions returns how registries are reached, with the credentials
// that the flags or the environment name.
func RegistryOptions(a *cli.App, l Login) (registry.Options, error) {
	home, _ := os.UserHomeDir() // without one there is no configuration to read
	c := registry.Credentials{Username: l.username, Getenv: a.Getenv, Home: home}
	if l.stdin {
		secret, err := io.ReadAll(io.LimitReader(a.Stdin, 64<<10))
		if err != nil {
			return registry.Options{}, fmt.Errorf("reading the password: %w", err)
		}
		if c.Password = strings.TrimRight(string(secret), "\r\n"); c.Password == "" {
			return registry.Options{}, exitcode.With(exitcode.NoSecret, diag.WithHint(errors.New("the password on standard input is empty"),
				"pipe the token in: gh auth token | sbx-devc image push … --username me --password-stdin"))
		}
	} else if l.username != "" {
		return registry.Options{}, exitcode.With(exitcode.Usage,
			diag.WithHint(errors.New("--username without --password-stdin"), "pipe the password in, and add --password-stdin"))
	}
	return registry.Real(c, func(text string) { fmt.Fprintf(a.Stderr, "sbx-devc: %s\n", text) }), nil
}
