// Package release says who publishes this build, which version it is and what
// the published images are called.
package release

import (
	"regexp"
	"runtime/debug"
	"strings"
)

// Org is the GitHub organisation or user that publishes images and the Action.
// Version is this build's version without a leading v. Both are set at link
// time by scripts/build (-X); "go install" of a release knows its version by the module's.
var (
	Org     = "org"
	Version = unreleased
)

const unreleased = "0.1.0-dev"

func init() {
	if info, ok := debug.ReadBuildInfo(); ok && Version == unreleased {
		Version = versionOf(info.Main.Version)
	}
}

var releaseTag = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?$`)

// versionOf is the version of a program that was compiled from the module's version v.
func versionOf(v string) string {
	if !releaseTag.MatchString(v) { // such as a commit between releases
		return unreleased
	}
	return strings.TrimPrefix(v, "v")
}

// FirewallDigest is the digest, sha256:…, of the image of ImageRepo that had been published
// when a release was made; "" = none. Set like Version.
var FirewallDigest string

// FirewallImage is the published image that has the firewall's programs, by its digest: whoever
// has this program trusts its publisher already. It is "" in a program that knows of none.
func FirewallImage() string {
	if FirewallDigest == "" {
		return ""
	}
	return ImageRepo() + "@" + FirewallDigest
}

// ImageRepo is the repository of the prebuilt sandbox image.
func ImageRepo() string { return "ghcr.io/" + Org + "/claude-sandbox" }

// Image is the default sandbox image reference.
func Image() string { return ImageRepo() + ":v1" }

// InitRepo is the repository of the binary-only image.
func InitRepo() string { return "ghcr.io/" + Org + "/claude-sandbox-init" }

// InitImage is the binary-only image that holds nothing but /sbx-init.
// Generated Dockerfiles copy the binary from it; sbx-devc can load it into an
// engine from what it carries, so it need not be published.
func InitImage() string { return InitRepo() + ":v" + Version }
