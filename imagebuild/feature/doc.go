// Package feature puts dev container Features into an image, as the reference
// implementation does.
//
//	registry ─ Fetch ─► files, checked by digest ─┐
//	a project's folder ─► files ──────────────────┴─ Feature ─ In ─► Dockerfile and context ─► the engine's builder
//
// A Feature's install.sh runs as root in the build, with the network, as the RUN
// steps of a Dockerfile do. So the caller asks first whom the Features come from. Links in
// an archive and paths that leave its own folder are refused.
package feature
