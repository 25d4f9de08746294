// Package release says who publishes this build, which version it is and what
// the published images are called.
package release

// Org is the GitHub organisation or user that publishes images and the Action.
// Version is this build's version without a leading v. Both are set at link
// time by scripts/build (-X).
var (
	Org     = "org"
	Version = "0.1.0-dev"
)

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
