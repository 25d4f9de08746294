// Package checks has the commands that read a dev container's files and write none, and
// fix: validate, fix, rules, explain and effective.
//
//	paths ──► devcontainer.Project ──► lint.Check ──► findings ──► text, JSON, SARIF, GitHub
//	                               ──► effective.Compute ──► the merged configuration
//
// Files of findings are named as hosting services do, relative to the repository.
package checks
