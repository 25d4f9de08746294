package imagebuild

import (
	"context"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/org/claude-sandbox/imagebuild/base"
	"github.com/org/claude-sandbox/imagebuild/registry"
)

// Inspection is what a registry says about an image.
type Inspection struct {
	Repository string              `json:"repository"`
	Digest     v1.Hash             `json:"digest"`
	Platforms  []InspectedPlatform `json:"platforms"`
	Referrers  []InspectedReferrer `json:"referrers"`
}

// InspectedPlatform is the image for one platform.
type InspectedPlatform struct {
	Platform string            `json:"platform"`
	Digest   v1.Hash           `json:"digest"`
	Size     int64             `json:"size"` // of all layers as they are sent, in bytes
	Layers   []InspectedLayer  `json:"layers"`
	Labels   map[string]string `json:"labels"`
}

// InspectedLayer is one layer.
type InspectedLayer struct {
	Digest    v1.Hash `json:"digest"`
	Size      int64   `json:"size"`
	CreatedBy string  `json:"createdBy"` // what the image's history says
}

// InspectedReferrer is something that is attached to the image.
type InspectedReferrer struct {
	Digest v1.Hash `json:"digest"`
	Kind   string  `json:"kind"` // artifact type
}

// Inspect reads an image's manifests, configurations and referrers.
func Inspect(ctx context.Context, c *registry.Client, version string) (*Inspection, error) {
	a, err := base.Published(ctx, c, version, "")
	if err != nil {
		return nil, err
	}
	i := &Inspection{Repository: c.Name(), Digest: a.Index.Digest, Referrers: []InspectedReferrer{}}
	for _, image := range a.Images {
		file, err := base.ReadConfig(ctx, image)
		if err != nil {
			return nil, err
		}
		p := InspectedPlatform{Platform: image.Platform.String(), Digest: image.Digest, Labels: file.Config.Labels}
		texts := createdBy(file)
		for n, b := range image.Blobs[1:] {
			l := InspectedLayer{Digest: b.Digest, Size: b.Size}
			if n < len(texts) {
				l.CreatedBy = texts[n]
			}
			p.Size += b.Size
			p.Layers = append(p.Layers, l)
		}
		i.Platforms = append(i.Platforms, p)
	}
	referrers, err := c.Referrers(ctx, a.Index.Digest)
	if err != nil {
		return nil, err
	}
	for _, r := range referrers {
		i.Referrers = append(i.Referrers, InspectedReferrer{r.Digest, r.ArtifactType})
	}
	return i, nil
}
