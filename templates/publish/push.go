package publish

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/org/claude-sandbox/internal/diag"
)

// ErrTagMoved reports an exact version that exists with another content.
var ErrTagMoved = errors.New("the version exists with another content")

// Push pushes the artifact below namespace and returns what it is called by
// digest. A tag that is a full version never moves to another digest, unless
// force says so; the error then wraps ErrTagMoved and nothing was pushed.
func Push(ctx context.Context, a Artifact, namespace string, force bool) (reference string, err error) {
	repo, err := name.NewRepository(a.Reference(namespace))
	if err != nil {
		return "", err
	}
	digest, err := a.Image.Digest()
	if err != nil {
		return "", err
	}
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	if a.Name != "" && !force {
		if err := unmoved(repo.Tag(a.Tags[0]), digest, options); err != nil {
			return "", err
		}
	}
	for _, tag := range a.Tags {
		if err := remote.Write(repo.Tag(tag), a.Image, options...); err != nil {
			return "", fmt.Errorf("pushing %s: %w", repo.Tag(tag), err)
		}
	}
	return repo.Digest(digest.String()).String(), nil
}

func unmoved(tag name.Tag, digest v1.Hash, options []remote.Option) error {
	have, err := remote.Head(tag, options...)
	var answer *transport.Error
	switch {
	case errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound:
		return nil
	case err != nil:
		return fmt.Errorf("looking at %s: %w", tag, err)
	case have.Digest != digest:
		return diag.WithHint(fmt.Errorf("%s: %w (%s)", tag, ErrTagMoved, have.Digest), "give the change a new version, or move the tag with --force-tag")
	}
	return nil
}
