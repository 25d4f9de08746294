// Package rule says what a rule is, and what it looks at.
//
//	devcontainer.Project ─ NewView ─► View ─ Rule.Check ─► []Finding
//
// A View is a Project with answers that many rules need: what the container gets
// (Of, Mounts), whether this is a sandbox of ours or an agent's container, which
// commands run. It answers the same in any order. A check is a function of a View:
// it returns findings with their places and knows neither its id nor its severity.
package rule
