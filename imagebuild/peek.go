package imagebuild

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// RemoteConfig returns what the configuration of an image in a registry says,
// without its layers. Of an image for several platforms it is the one for
// linux/amd64.
func RemoteConfig(ctx context.Context, ref string) (v1.Config, error) {
	parsed, err := name.ParseReference(ref)
	if err != nil {
		return v1.Config{}, err
	}
	img, err := remote.Image(parsed, remoteOptions(ctx)...)
	if err != nil {
		return v1.Config{}, registryError(err, "looking up", parsed)
	}
	file, err := img.ConfigFile()
	if err != nil {
		return v1.Config{}, err
	}
	return file.Config, nil
}

// FeatureMetadata returns the devcontainer-feature.json of a Feature in a
// registry, which its manifest repeats as an annotation. Old Features have
// none; that is an error.
func FeatureMetadata(ctx context.Context, ref string) ([]byte, error) {
	parsed, err := name.ParseReference(ref)
	if err != nil {
		return nil, err
	}
	img, err := remote.Image(parsed, remoteOptions(ctx)...)
	if err != nil {
		return nil, registryError(err, "looking up", parsed)
	}
	manifest, err := img.Manifest()
	if err != nil {
		return nil, err
	}
	text := manifest.Annotations["dev.containers.metadata"]
	if text == "" {
		return nil, fmt.Errorf("the manifest of %s does not repeat the Feature's metadata", ref)
	}
	return []byte(text), nil
}
