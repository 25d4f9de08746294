package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/imagebuild"
	"github.com/org/claude-sandbox/imagebuild/checkout"
	"github.com/org/claude-sandbox/imagebuild/lock"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/templates"
)

// recipe is what the flags say about an image that is made from a lock.
type recipe struct {
	dir, lock, policy, npm string
	platforms              []string
	withoutClaude          bool
	about                  imagebuild.About
}

func (r *recipe) flags(f *pflag.FlagSet) {
	f.StringVar(&r.lock, "lock", "", "the lock file (default: DIR/"+lock.File+")")
	f.StringVar(&r.policy, "policy", "", "the policy of the sandbox (default: DIR/.devcontainer/sandbox.jsonc, or the template's)")
	f.StringSliceVar(&r.platforms, "platform", nil, "platform of the lock, linux/amd64 or linux/arm64 (default: all)")
	f.BoolVar(&r.withoutClaude, "without-claude", false, "leave Claude Code out; its licence does not permit redistribution")
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

func (r *recipe) checkout(a *cli.App) checkout.Checkout {
	return checkout.Checkout{Dir: r.dir, Getenv: a.Getenv}
}

func (r *recipe) lockFile() string { return cmp.Or(r.lock, filepath.Join(r.dir, lock.File)) }

// spec reads the files that the recipe names.
func spec(ctx context.Context, a *cli.App, r *recipe) (imagebuild.Spec, error) {
	s := imagebuild.Spec{Platforms: r.platforms, WithoutClaude: r.withoutClaude, About: r.about}
	var err error
	if s.Lock, err = lock.Read(r.lockFile()); err != nil {
		return s, diag.OrHint(err, "make one with 'sbx-devc image lock --base …'")
	}
	if s.Policy, err = policy(r.dir, r.policy); err != nil {
		return s, err
	}
	r.checkout(a).Describe(ctx, &s.About)
	return s, nil
}

// policy reads the policy: the named file, the project's, or the template's.
func policy(dir, file string) ([]byte, error) {
	f, err := settings.ReadFile(cmp.Or(file, filepath.Join(dir, projects.DefaultSettings)))
	switch {
	case err == nil:
		return f.Source, nil // what is wrong with it, imagebuild says
	case file != "" || !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("reading the policy: %w", err)
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
