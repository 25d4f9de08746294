// Package rights lists what a dev container gets of the machine that it runs
// on: capabilities, mounts, devices, namespaces, variables, ports; the image; and who and what
// starts in it. The same right can be written as a property of devcontainer.json, as an
// option of docker run, in a Compose file, or in the metadata of a Feature or of a label.
// Here each notation is read once, into one list that says what and where.
//
//	devcontainer.json ─ property.go ─┐
//	runArgs ─ options.go ────────────┤
//	Compose services ─ compose.go ───┼─► []Right{Kind, Name, Value, Place, …} ─► rules, policies, reports
//	Feature metadata ─ feature.go ───┤
//	Dockerfile ─ dockerfile.go ──────┘
//
// A Right says what is written and judges nothing: whether a mount opens the
// host is for the reader of the list. A new notation is one more reader here,
// and every rule sees it.
//
// List is pure. It never fails: what has the wrong type is no right, and other
// rules say so. Text that comes from elsewhere (the label of a published image, a published
// Feature) is not asked for; of published Features only what Known says counts.
package rights
