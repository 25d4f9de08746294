package digest

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

// Source asks registries for digests and manifests, and the engine in place of
// one that cannot be reached. A registry that could not be reached is not asked
// again. It is not safe for concurrent use.
type Source struct {
	registries registry.Options
	engine     *engine.Engine   // nil = not connected yet
	dead       map[string]error // registries that could not be reached, by host
	notice     func(string)
}

// New returns a Source that reaches registries by o, whose Notice also hears of
// digests that the engine answered for. Close it.
func New(o registry.Options) *Source {
	return &Source{registries: o, dead: map[string]error{}, notice: o.Notice}
}

// Close ends the connection to the engine, if there is one.
func (s *Source) Close() {
	if s.engine != nil {
		s.engine.Close()
	}
}

// Digest returns the digest that the reference stands for now.
func (s *Source) Digest(ctx context.Context, reference string) (string, error) {
	ref, err := name.ParseReference(reference)
	if err != nil {
		return "", diag.WithHint(err, "correct the image's name")
	}
	host := ref.Context().RegistryStr()
	err = s.dead[host]
	if err == nil {
		var digest v1.Hash
		if digest, err = s.head(ctx, reference); err == nil {
			return digest.String(), nil
		}
		if answered(err) || ctx.Err() != nil {
			return "", err
		}
		s.dead[host] = err // patience once is enough
	}
	known, engineErr := s.fromEngine(ctx, ref.Context(), reference)
	if engineErr != nil {
		return "", diag.WithHint(fmt.Errorf("%s: %w; and from the engine: %w", reference, err, engineErr),
			"try again when %s can be reached, or pull the image where it can", host)
	}
	s.notice(fmt.Sprintf("note: %s cannot be asked (%v); %s is locked to the digest that the engine has, which may not be the newest", host,
		err, reference))
	return known, nil
}

func (s *Source) head(ctx context.Context, reference string) (v1.Hash, error) {
	repo, version := base.SplitRef(reference)
	c, err := registry.Dial(ctx, repo, false, nil, s.registries)
	if err != nil {
		return v1.Hash{}, err
	}
	return c.Head(ctx, version)
}

// fromEngine returns the digest by which the engine got the image from this
// repository, or gave it there.
func (s *Source) fromEngine(ctx context.Context, repo name.Repository, reference string) (string, error) {
	if s.engine == nil {
		e, err := engine.Connect(ctx)
		if err != nil {
			return "", err
		}
		s.engine = e
	}
	image, err := s.engine.ImageInspect(ctx, reference)
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

// Manifest returns a manifest with its digest, for artifacts that say more in it.
// The engine knows none.
func (s *Source) Manifest(ctx context.Context, reference string) (digest string, manifest []byte, err error) {
	ref, err := name.ParseReference(reference)
	if err != nil {
		return "", nil, diag.WithHint(err, "correct the Feature's name")
	}
	host := ref.Context().RegistryStr()
	if err := s.dead[host]; err != nil {
		return "", nil, err
	}
	repo, version := base.SplitRef(reference)
	c, err := registry.Dial(ctx, repo, false, nil, s.registries)
	if err == nil {
		manifest, _, err = c.Manifest(ctx, version)
	}
	if err != nil {
		if !answered(err) {
			s.dead[host] = err
		}
		return "", nil, err
	}
	hash, _, err := v1.SHA256(strings.NewReader(string(manifest)))
	return hash.String(), manifest, err
}

// answered reports whether a registry itself said no, which no other source
// may overrule.
func answered(err error) bool {
	var status *registry.Status
	return errors.Is(err, registry.ErrNotFound) || errors.Is(err, registry.ErrAuth) ||
		errors.As(err, &status) && status.Code < 500 && !errors.Is(err, registry.ErrLimited)
}
