// Package compose reads Docker Compose files as far as dev containers need
// them: one service of several files laid over each other, with extends and
// include, variables filled in, and the place of every value.
//
//	texts ─ yaml ─> Nodes ─ Load: include, extends, overlay ─> Project ─> Service
//
// It judges nothing and starts nothing. The format is that of the Compose
// specification (github.com/compose-spec/compose-spec).
package compose
