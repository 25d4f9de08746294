// Package adopt puts the firewall's Feature into a dev container of the user's
// own, and keeps it up to date. There is no template and so no lock: what Plan
// would write now takes the template's place.
//
//	devcontainer.json -> Config ─┐
//	project folder -> Observe ───┼─ Plan ─> Extension: files, findings ─ Write ─> .devcontainer (all or nothing)
//	carried Feature ─────────────┘
//
// Every line of the user's stays, but for those that Extension.Changes names. An
// Extension with Refused is not to be written: validate would have an error about
// the dev container, it would give the agent the container engine, or it would not start.
package adopt
