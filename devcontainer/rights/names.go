package rights

import (
	"strings"
)

// RegistryName writes an image's or Feature's name out: Docker Hub is what a
// name without a registry means.
func RegistryName(s string) string {
	name, _, _ := SplitImage(s)
	first, rest, slash := strings.Cut(name, "/")
	switch {
	case slash && (strings.ContainsAny(first, ".:") || first == "localhost" || strings.ToLower(first) != first):
		return strings.ToLower(first + "/" + rest)
	case slash:
		return strings.ToLower("docker.io/" + name)
	}
	return strings.ToLower("docker.io/library/" + name)
}

// SplitImage takes an image reference apart: name, tag, digest.
func SplitImage(s string) (name, tag, digest string) {
	s, digest, _ = strings.Cut(s, "@")
	if i := strings.LastIndexByte(s, ':'); i > strings.LastIndexByte(s, '/') {
		return s[:i], s[i+1:], digest
	}
	return s, "", digest
}

// featureSource says how a Feature is named: reference section 2.5 of the
// specification of Features.
type featureSource int

const (
	RegistryFeature featureSource = iota // REGISTRY/NAMESPACE/ID[:VERSION|@DIGEST]
	LocalFeature                         // ./FOLDER
	TarballFeature                       // https://…/devcontainer-feature-ID.tgz
	LegacyFeature                        // ID, or OWNER/REPOSITORY/ID of releases
)

func SourceOf(id string) featureSource {
	first, rest, slash := strings.Cut(id, "/")
	switch {
	case strings.HasPrefix(id, "./"), strings.HasPrefix(id, "../"):
		return LocalFeature
	case strings.HasPrefix(id, "https://"), strings.HasPrefix(id, "http://"):
		return TarballFeature
	case !slash, !strings.ContainsAny(first, ".:") && first != "localhost", !strings.Contains(rest, "/"):
		return LegacyFeature
	}
	return RegistryFeature
}
