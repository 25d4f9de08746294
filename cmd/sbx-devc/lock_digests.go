package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/org/claude-sandbox/imagebuild/base"
	"github.com/org/claude-sandbox/imagebuild/registry"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
)

// digests asks registries for digests and manifests. About an image whose
// registry cannot be reached it asks the container engine.
type digests struct {
	registries registry.Options
	engine     *engine.Engine   // nil = not connected yet
	dead       map[string]error // registries that could not be reached, by host
	say        func(string)
}

func (a *app) digests() (*digests, error) {
	options, err := a.registryOptions(login{})
	if err != nil {
		return nil, err
	}
	return &digests{registries: options, dead: map[string]error{}, say: options.Notice}, nil
}

func (d *digests) close() {
	if d.engine != nil {
		d.engine.Close()
	}
}

// Digest implements lock.Resolver.
func (d *digests) Digest(ctx context.Context, reference string) (string, error) {
	ref, err := name.ParseReference(reference)
	if err != nil {
		return "", diag.WithHint(err, "correct the image's name")
	}
	host := ref.Context().RegistryStr()
	err = d.dead[host]
	if err == nil {
		var digest v1.Hash
		if digest, err = d.head(ctx, reference); err == nil {
			return digest.String(), nil
		}
		if answered(err) || ctx.Err() != nil {
			return "", err
		}
		d.dead[host] = err // patience once is enough
	}
	known, engineErr := d.fromEngine(ctx, ref.Context(), reference)
	if engineErr != nil {
		return "", diag.WithHint(fmt.Errorf("%s: %w; and from the engine: %w", reference, err, engineErr),
			"try again when %s can be reached, or pull the image where it can", host)
	}
	d.say(fmt.Sprintf("note: %s cannot be asked (%v); %s is locked to the digest that the engine has, which may not be the newest", host, err, reference))
	return known, nil
}

func (d *digests) head(ctx context.Context, reference string) (v1.Hash, error) {
	repo, version := base.SplitRef(reference)
	c, err := registry.Dial(ctx, repo, false, nil, d.registries)
	if err != nil {
		return v1.Hash{}, err
	}
	return c.Head(ctx, version)
}

// fromEngine returns the digest by which the engine got the image from this
// repository, or gave it there.
func (d *digests) fromEngine(ctx context.Context, repo name.Repository, reference string) (string, error) {
	if d.engine == nil {
		e, err := engine.Connect(ctx)
		if err != nil {
			return "", err
		}
		d.engine = e
	}
	image, err := d.engine.ImageInspect(ctx, reference)
	if err != nil {
		return "", err
	}
	return onlyDigest(image.Digests, repo)
}

// onlyDigest picks the digest of the repository from NAME@DIGEST entries. An
// image that was only tagged so has none, and of several none is the tag's.
func onlyDigest(entries []string, repo name.Repository) (string, error) {
	var found []string
	for _, entry := range entries {
		if d, err := name.NewDigest(entry); err == nil && d.Context().Name() == repo.Name() {
			found = append(found, d.DigestStr())
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("the image there is not from %s", repo.Name())
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("the image there has several digests of %s: %s", repo.Name(), strings.Join(found, ", "))
}

// Manifest implements lock.Resolver. The engine knows nothing of Features.
func (d *digests) Manifest(ctx context.Context, reference string) (string, []byte, error) {
	ref, err := name.ParseReference(reference)
	if err != nil {
		return "", nil, diag.WithHint(err, "correct the Feature's name")
	}
	host := ref.Context().RegistryStr()
	if err := d.dead[host]; err != nil {
		return "", nil, err
	}
	repo, version := base.SplitRef(reference)
	c, err := registry.Dial(ctx, repo, false, nil, d.registries)
	var raw []byte
	if err == nil {
		raw, _, err = c.Manifest(ctx, version)
	}
	if err != nil {
		if !answered(err) {
			d.dead[host] = err
		}
		return "", nil, err
	}
	digest, _, err := v1.SHA256(strings.NewReader(string(raw)))
	return digest.String(), raw, err
}

// answered reports whether a registry itself said no, which no other source
// may overrule.
func answered(err error) bool {
	var status *registry.Status
	return errors.Is(err, registry.ErrNotFound) || errors.Is(err, registry.ErrAuth) ||
		errors.As(err, &status) && status.Code < 500 && !errors.Is(err, registry.ErrLimited)
}
