package base

import (
	"slices"
	"strings"
)

// Kind says where a source is.
type Kind string

// The kinds. All but KindRegistry stand in front of a source, with a colon.
const (
	KindRegistry Kind = ""               // REGISTRY/NAME[:TAG][@sha256:…]
	KindLayout   Kind = "oci"            // DIR[:NAME], an OCI image layout
	KindArchive  Kind = "docker-archive" // FILE, what "docker save" writes
	KindEngine   Kind = "engine"         // NAME, an image of the container engine
	KindRootfs   Kind = "rootfs"         // FILE, a tar of a root file system, also compressed by gzip
)

// KindOf returns the kind of a source, and what it says without the kind.
func KindOf(source string) (kind Kind, rest string) {
	word, rest, ok := strings.Cut(source, ":")
	if kind = Kind(word); ok && slices.Contains([]Kind{KindLayout, KindArchive, KindEngine, KindRootfs}, kind) {
		return kind, rest
	}
	return KindRegistry, source
}

// ForPlatform takes PLATFORM=SOURCE apart; platform is "" for a source that is
// meant for all.
func ForPlatform(s string) (platform, source string) {
	if platform, source, ok := strings.Cut(s, "="); ok && strings.HasPrefix(platform, "linux/") {
		return platform, source
	}
	return "", s
}
