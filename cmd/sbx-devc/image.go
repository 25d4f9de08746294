package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/mod/semver"

	"github.com/org/claude-sandbox/imagebuild"
	"github.com/org/claude-sandbox/imagebuild/lock"
	"github.com/org/claude-sandbox/imagebuild/npm"
	"github.com/org/claude-sandbox/imagebuild/registry"
	"github.com/org/claude-sandbox/imagebuild/store"
	"github.com/org/claude-sandbox/internal/carried"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/templates"
)

// exitFailed is the exit code of an image command whose work failed, such as a
// step of a Dockerfile.
const exitFailed = 1

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
	var exit *exitError
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
			return registry.Options{}, exitWith(exitNoSecret, diag.WithHint(errors.New("the password on standard input is empty"), "pipe the token in: gh auth token | sbx-devc image push … --username me --password-stdin"))
		}
	} else if l.username != "" {
		return registry.Options{}, exitWith(exitUsage, diag.WithHint(errors.New("--username without --password-stdin"), "pipe the password in, and add --password-stdin"))
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
	cache, err := os.UserCacheDir()
	if err != nil {
		return m, fmt.Errorf("finding the cache folder: %w", err)
	}
	s, err := store.Open(filepath.Join(cache, "sbx-devc", "images"))
	if err != nil {
		return m, err
	}
	return imagebuild.Materials{
		Store: s, Registry: options, Init: carried.Init, InitSHA256: carried.Sums(),
		NPM:    npm.Registry{URL: cmp.Or(npmRegistry, a.getenv("NPM_CONFIG_REGISTRY"), npm.DefaultURL()), HTTP: &http.Client{Transport: options.Transport}},
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

// recipe is what the flags say about an image that is made from a lock.
type recipe struct {
	dir, lock, policy, npm string
	platforms              []string
	withoutClaude          bool
	about                  imagebuild.About
}

func (r *recipe) flags(f *pflag.FlagSet) {
	f.StringVar(&r.lock, "lock", "", "the lock file (default: DIR/"+lock.File+")")
	f.StringVar(&r.policy, "policy", "", "what the sandbox lets out (default: DIR/.devcontainer/sandbox.jsonc, or the template's)")
	f.StringSliceVar(&r.platforms, "platform", nil, "platform of the lock, linux/amd64 or linux/arm64 (default: all)")
	f.BoolVar(&r.withoutClaude, "without-claude", false, "leave Claude Code out; its licence does not allow to publish it")
	f.StringVar(&r.npm, "npm-registry", "", "address of an npm registry (default: NPM_CONFIG_REGISTRY, or the public one)")
	aboutFlags(f, &r.about)
}

func aboutFlags(f *pflag.FlagSet, o *imagebuild.About) {
	f.StringVar(&o.Title, "title", "", "label org.opencontainers.image.title (default: claude-sandbox)")
	f.StringVar(&o.Description, "description", "", "label …description")
	f.StringVar(&o.Version, "version", "", "label …version (default: the release's that git has checked out, vX.Y.Z)")
	f.StringVar(&o.Revision, "revision", "", "label …revision, the commit (default: GITHUB_SHA or git's)")
	f.StringVar(&o.Source, "source", "", "label …source, the repository's URL (default: from GITHUB_REPOSITORY)")
	f.StringVar(&o.URL, "url", "", "label …url")
	f.StringVar(&o.Documentation, "documentation", "", "label …documentation")
	f.StringVar(&o.Licenses, "licenses", "", "label …licenses, an SPDX expression")
}

func (r *recipe) lockFile() string { return cmp.Or(r.lock, filepath.Join(r.dir, lock.File)) }

// spec reads the files that the recipe names.
func (a *app) spec(ctx context.Context, r *recipe) (imagebuild.Spec, error) {
	s := imagebuild.Spec{Platforms: r.platforms, WithoutClaude: r.withoutClaude, About: r.about}
	data, err := os.ReadFile(r.lockFile())
	if err != nil {
		return s, diag.WithHint(fmt.Errorf("reading the lock: %w", err), "make one with 'sbx-devc image lock --base …'")
	}
	if s.Lock, err = lock.Parse(data); err != nil {
		return s, exitWith(exitConfig, fmt.Errorf("%s: %w", r.lockFile(), err))
	}
	if s.Policy, err = imagePolicy(r.dir, r.policy); err != nil {
		return s, err
	}
	a.describe(ctx, &s.About, r.dir)
	return s, nil
}

// imagePolicy reads the policy: the named file, the project's, or the template's.
func imagePolicy(dir, file string) ([]byte, error) {
	data, err := os.ReadFile(cmp.Or(file, filepath.Join(dir, ".devcontainer", "sandbox.jsonc")))
	if err == nil || file != "" || !errors.Is(err, fs.ErrNotExist) {
		if err != nil {
			err = fmt.Errorf("reading the policy: %w", err)
		}
		return data, err
	}
	t, err := templates.Load("claude")
	if err != nil {
		return nil, err
	}
	files, err := t.Render(nil)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if strings.HasSuffix(f.Path, "/sandbox.jsonc") {
			return f.Content, nil
		}
	}
	return nil, errors.New("the template claude has no sandbox.jsonc")
}

// describe fills in the labels that nobody gave, from the variables of GitHub
// Actions and from git. They are part of the digest, so none comes from the name
// or the tags of the image: one input has one digest, whatever it is called.
func (a *app) describe(ctx context.Context, o *imagebuild.About, dir string) {
	o.Title = cmp.Or(o.Title, "claude-sandbox")
	o.Revision = cmp.Or(o.Revision, a.getenv("GITHUB_SHA"), git(ctx, dir, "rev-parse", "HEAD"))
	if o.Version == "" {
		tag := strings.TrimPrefix(a.gitHead(ctx, dir), "refs/tags/")
		if tag != "" && semver.Canonical(tag) == tag { // v1.2.3; not v1
			o.Version = strings.TrimPrefix(tag, "v")
		}
	}
	if repo := a.getenv("GITHUB_REPOSITORY"); repo != "" {
		o.Source = cmp.Or(o.Source, cmp.Or(a.getenv("GITHUB_SERVER_URL"), "https://github.com")+"/"+repo)
	}
}

// gitHead returns the git ref that is checked out, a release's tag before a
// branch; "" when nothing says so.
func (a *app) gitHead(ctx context.Context, dir string) string {
	if ref := a.getenv("GITHUB_REF"); ref != "" {
		return ref
	}
	if tag := git(ctx, dir, "describe", "--exact-match", "--tags", "--match", "v*", "HEAD"); tag != "" {
		return "refs/tags/" + tag
	}
	return git(ctx, dir, "symbolic-ref", "-q", "HEAD")
}

// git asks git about the folder; "" when there is no answer.
func git(ctx context.Context, dir string, args ...string) string {
	// No program that the repository names is started for a look at its head.
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", cmp.Or(dir, "."), "-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull}, args...)...)
	var out bytes.Buffer
	cmd.Stdout = &out
	if cmd.Run() != nil {
		return ""
	}
	return strings.TrimSpace(out.String())
}

// sourceDate is the time of an image's content: SOURCE_DATE_EPOCH, the
// commit's, or now.
func (a *app) sourceDate(ctx context.Context, dir string) (time.Time, error) {
	text := a.getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		text = git(ctx, dir, "show", "-s", "--format=%ct", "HEAD")
	}
	if text == "" {
		return time.Now().UTC().Truncate(time.Second), nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, exitWith(exitUsage, fmt.Errorf("SOURCE_DATE_EPOCH is %q, not a number of seconds", text))
	}
	return time.Unix(seconds, 0).UTC(), nil
}

func (a *app) imageLoadCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "load",
		Short: "Put the image that holds sbx-init into the engine",
		Long: `Put the binary-only image that generated Dockerfiles COPY sbx-init from into
the container engine, out of what sbx-devc carries. Its name is printed.

Exit code 0: loaded; 64: wrong usage; 69: no container engine.`,
		Example: "  sbx-devc image load && devcontainer up --workspace-folder .",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withEngine(cmd.Context(), func(e *engine.Engine) error {
				ref, err := imagebuild.LoadInit(cmd.Context(), e)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(a.stdout, ref)
				return err
			})
		},
	}
}
