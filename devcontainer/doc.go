// Package devcontainer judges a devcontainer.json: is it well formed, does it
// say what its author meant, and does it open the host or the sandbox.
//
//	text + Context (what lies beside it) -> Check ─┬ jsonc: syntax            SBX1xx
//	                                               ├ schema.go: the property table   SBX2xx
//	                                               ├ reference.go: what the dev container CLI
//	                                               │               makes of it       SBX3xx
//	                                               ├ host.go: the host's border      SBX4xx
//	                                               ├ secrets.go                      SBX5xx
//	                                               └ contract.go: our own sandbox    SBX8xx
//	                                                         └─> []diag.Finding
//
// The reference CLI validates nothing: it reads past syntax errors, ignores
// unknown names and treats the text "false" as true. So the rules here follow
// what it does with a file, not only what the specification says. Rules is the
// table of all of them.
package devcontainer
