package publish

import (
	"context"

	"github.com/org/claude-sandbox/imagebuild/artifact"
	"github.com/org/claude-sandbox/imagebuild/registry"
)

// Push pushes the artifact below namespace and returns what it is called by
// digest. A tag that is a full version never moves to another digest, unless
// force says so; the error then wraps registry.ErrTagMoved and nothing was
// pushed.
func Push(ctx context.Context, a Artifact, namespace string, force bool, o registry.Options) (reference string, err error) {
	c, err := registry.Dial(ctx, a.Reference(namespace), true, nil, o)
	if err != nil {
		return "", err
	}
	report, err := registry.Push(ctx, c, artifact.Artifact{Index: a.Manifest}, registry.PushOptions{Tags: a.Tags, ForceTag: force})
	if err != nil {
		return "", err
	}
	return report.Repository + "@" + report.Digest.String(), nil
}
