package sbom

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/org/claude-sandbox/imagebuild/artifact"
)

// The artifact types of the documents.
const (
	SPDXType       = "application/spdx+json"
	ProvenanceType = "application/vnd.in-toto+json"
)

// buildType names the way in which the image was made, for SLSA.
const buildType = "https://github.com/org/claude-sandbox/docs/images.md#build/v1"

// Origin is where an image came from.
type Origin struct {
	Name       string  // the repository, REGISTRY/NAME
	Digest     v1.Hash // of the index
	Source     string  // URL of the source repository; "" = unknown
	Revision   string  // its commit
	Builder    string  // who ran the build: the workflow's URL; "" = a person's machine
	Invocation string  // URL of the run; "" = none
	Tool       string  // "sbx-devc-1.2.3"
	Parameters map[string]string
	Materials  []Material
}

// Material is something from outside that went into the image.
type Material struct {
	URI    string
	Digest map[string]string // algorithm -> hex
}

// FromIntegrity is the digest that npm states.
func FromIntegrity(integrity string) map[string]string {
	sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(integrity, "sha512-"))
	if err != nil {
		return nil
	}
	return map[string]string{"sha512": hex.EncodeToString(sum)}
}

// Provenance returns an in-toto statement (v1) with a SLSA provenance
// predicate (v1). It is not signed; cosign and actions/attest sign theirs.
func Provenance(o Origin) ([]byte, error) {
	type resource struct {
		URI    string            `json:"uri,omitempty"`
		Name   string            `json:"name,omitempty"`
		Digest map[string]string `json:"digest,omitempty"`
	}
	var dependencies []resource
	for _, m := range o.Materials {
		dependencies = append(dependencies, resource{URI: m.URI, Digest: m.Digest})
	}
	if o.Source != "" {
		dependencies = append(dependencies, resource{URI: "git+" + o.Source, Digest: map[string]string{"gitCommit": o.Revision}})
	}
	builder := o.Builder
	if builder == "" {
		builder = "https://github.com/org/claude-sandbox/local"
	}
	run := map[string]any{"builder": map[string]any{"id": builder, "version": map[string]string{"sbx-devc": o.Tool}}}
	if o.Invocation != "" {
		run["metadata"] = map[string]string{"invocationId": o.Invocation}
	}
	return json.Marshal(map[string]any{
		"_type":         "https://in-toto.io/Statement/v1",
		"subject":       []resource{{Name: o.Name, Digest: map[string]string{o.Digest.Algorithm: o.Digest.Hex}}},
		"predicateType": "https://slsa.dev/provenance/v1",
		"predicate": map[string]any{
			"buildDefinition": map[string]any{
				"buildType": buildType, "externalParameters": o.Parameters, "resolvedDependencies": dependencies,
			},
			"runDetails": run,
		},
	})
}

// Referrer returns a document as a manifest that refers to subject (OCI image
// specification 1.1, "guidelines for artifact usage").
func Referrer(subject v1.Descriptor, mediaType string, document []byte, annotations map[string]string) (artifact.Manifest, error) {
	subject.Platform, subject.Annotations, subject.ArtifactType = nil, nil, ""
	empty := artifact.Bytes("application/vnd.oci.empty.v1+json", []byte("{}"), "empty configuration")
	content := artifact.Bytes(types.MediaType(mediaType), document, mediaType)
	m, err := artifact.New(v1.Manifest{
		SchemaVersion: 2, MediaType: types.OCIManifestSchema1, ArtifactType: mediaType,
		Config: empty.Descriptor, Layers: []v1.Descriptor{content.Descriptor}, Subject: &subject, Annotations: annotations,
	}, []artifact.Blob{empty, content})
	if err != nil {
		return m, fmt.Errorf("attaching %s: %w", mediaType, err)
	}
	m.ArtifactType, m.Annotations = mediaType, annotations
	return m, nil
}
