package publish

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/org/claude-sandbox/imagebuild/artifact"
	"github.com/org/claude-sandbox/imagebuild/tags"
)

// The media types of dev container artifacts.
const (
	configType     types.MediaType = "application/vnd.devcontainers"
	layerType      types.MediaType = "application/vnd.devcontainers.layer.v1+tar"
	collectionType types.MediaType = "application/vnd.devcontainers.collection.layer.v1+json"
)

// Kind is what a collection holds.
type Kind string

// The kinds, as artifacts name them.
const (
	Templates Kind = "template"
	Features  Kind = "feature"
)

// Source is one template or Feature.
type Source struct {
	ID       string
	Version  string          // semantic version, MAJOR.MINOR.PATCH
	Metadata json.RawMessage // its devcontainer-template.json or devcontainer-feature.json
	Archive  []byte          // tar of its folder
}

// Artifact is one artifact, ready to be pushed.
type Artifact struct {
	Name     string     // below the collection's namespace; "" is the collection itself
	File     string     // the layer's title, and its name on the disk
	Tags     []tags.Tag // from the exact version, which never moves, to latest
	Manifest artifact.Manifest
	Layer    []byte
}

// Pack makes the artifacts of a collection: one for each source, in the order
// given, and the collection's own metadata, by which tools list it.
func Pack(kind Kind, sources []Source) ([]Artifact, error) {
	var out []Artifact
	list := []json.RawMessage{}
	for _, s := range sources {
		names, err := tagsOf(s.Version)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", kind, s.ID, err)
		}
		metadata, err := compact(s.Metadata)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", kind, s.ID, err)
		}
		a := Artifact{Name: s.ID, File: fmt.Sprintf("devcontainer-%s-%s.tgz", kind, s.ID), Tags: names, Layer: s.Archive}
		a.Manifest, err = manifest(a.File, layerType, s.Archive, map[string]string{
			"dev.containers.metadata": string(metadata), "com.github.package.type": "devcontainer_" + string(kind),
		})
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", kind, s.ID, err)
		}
		out, list = append(out, a), append(list, metadata)
	}
	text, err := json.MarshalIndent(map[string]any{
		"sourceInformation": map[string]string{"source": "sbx-devc"}, string(kind) + "s": list,
	}, "", "  ")
	if err != nil {
		return nil, err
	}
	c := Artifact{File: "devcontainer-collection.json", Tags: []tags.Tag{{Name: "latest"}}, Layer: append(text, '\n')}
	c.Manifest, err = manifest(c.File, collectionType, c.Layer, map[string]string{"com.github.package.type": "devcontainer_collection"})
	return append(out, c), err
}

func manifest(title string, media types.MediaType, content []byte, annotations map[string]string) (artifact.Manifest, error) {
	config, layer := artifact.Bytes(configType, []byte("{}"), "configuration"), artifact.Bytes(media, content, title)
	layer.Annotations = map[string]string{"org.opencontainers.image.title": title}
	m := v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Config: config.Descriptor,
		Layers: []v1.Descriptor{layer.Descriptor}, Annotations: annotations}
	return artifact.New(m, []artifact.Blob{config, layer})
}

// tagsOf returns MAJOR.MINOR.PATCH, MAJOR.MINOR, MAJOR and latest.
func tagsOf(version string) ([]tags.Tag, error) {
	parts := strings.Split(version, ".")
	number := func(s string) bool {
		return s != "" && strings.Trim(s, "0123456789") == "" && (s == "0" || s[0] != '0')
	}
	if len(parts) != 3 || slices.ContainsFunc(parts, func(p string) bool { return !number(p) }) {
		return nil, fmt.Errorf("the version %q is not MAJOR.MINOR.PATCH", version)
	}
	return []tags.Tag{{Name: version, Immutable: true}, {Name: parts[0] + "." + parts[1]}, {Name: parts[0]}, {Name: "latest"}}, nil
}

func compact(metadata json.RawMessage) (json.RawMessage, error) {
	var v any
	if err := json.Unmarshal(metadata, &v); err != nil {
		return nil, fmt.Errorf("its metadata: %w", err)
	}
	return json.Marshal(v)
}

// Reference returns the artifact's name in a registry, without a tag.
func (a Artifact) Reference(namespace string) string {
	return strings.TrimSuffix(cmp.Or(strings.TrimSuffix(namespace, "/"), "")+"/"+a.Name, "/")
}
