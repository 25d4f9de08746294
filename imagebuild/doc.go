// Package imagebuild makes container images and moves them between registries,
// files and the engine.
//
//	base, npm, carried sbx-init ─► MakeLock ─► lock.Lock ─► Assemble ─► artifact.Artifact ─┐
//	Dockerfile + context ─► BuildDockerfile ─► engine ─► base.Open ─► Relabel ─────────────┤
//	carried sbx-init ─► InitArtifact ──────────────────────────────────────────────────────┤
//	                                                                                       │
//	  WriteLayout, WriteTar ◄── Load ──► engine ◄── Pull ◄── registry ◄── registry.Push ◄──┘
//	                                                                                       │
//	checkout, the registry's tags ─► tags.Decide ─► tags, moved last, when all is there ◄──┘
//
// Assemble needs no engine, no emulation and, where the registry has the blobs,
// no content either: the lock says every digest, so the image's digest follows
// from the lock, the policy file and the options alone, on every machine.
//
// Sub-packages: lock (the file), npm (Claude Code's tarballs), base (what lies
// below), layer and store (reproducible layers, cached), artifact (an image as
// plain data), registry (pushing and reading), tags (which names move), sbom
// (what is inside, and where it came from), sign (signatures, by the programs that
// make them), digest (which digest a name stands for now), checkout (what git says of
// what is built).
package imagebuild
