// Package publish makes OCI artifacts of templates and Features, in the form
// that dev container tools read (containers.dev, "Distribution"), and pushes
// them.
//
//	Template.Archive ─┐ Collections: those that this program carries
//	Feature.Archive ──┼-> Pack -> []Artifact{repository, tags, manifest} -> Push -> registry
//	collection.json ──┘
//
// Packing is pure and gives the same digests on every machine.
package publish
