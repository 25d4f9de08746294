// Package imagebuild makes container images and moves them between the engine
// and registries.
//
//	carried sbx-init ─► InitImage ─► LoadInit ─┐
//	Dockerfile + context ─► BuildDockerfile ───┴─► engine ─► Push ─► registry
//	                                               engine ◄─ Pull ◄─┘
//
// A Dockerfile may COPY --from the binary-only init image without anything
// being published: BuildDockerfile loads it into the engine first.
//
// Push and Pull speak to the registry themselves (go-containerregistry), with
// the credentials of the docker and podman configurations, so that they work
// alike with every engine, refuse to move a version's tag, and verify by
// reading back what they wrote.
package imagebuild
