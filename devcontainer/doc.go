// Package devcontainer reads a dev container configuration and the files that it
// names. It judges nothing.
//
//	path ─ Discover ─► files ─ Open ─┐
//	Tree (disk, Memory) ─ Load ──────┼─► Project: devcontainer.json, Dockerfile, Compose files,
//	standard input ─ Parse ──────────┘   sandbox.jsonc, lock; each with its positions
//	                                       │
//	              what they say together: Composed, Build, Rights
//
// The packages below it read one language each (compose, dockerfile, shell), list
// what the container gets (rights), compare with the tables of names and types
// (schema), merge (effective), or judge: lint has the rules, rule what a rule is
// and looks at, contract the rules of our own sandbox, org an organisation's
// policy.
//
// A Tree never follows a link out of the repository. A file that is named and cannot be
// read is a Gap, so that silence never means approval.
package devcontainer
