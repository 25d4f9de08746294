// Package detect looks at a project and proposes a template, presets and
// allowlist entries for it, each with the file and line that speak for it.
//
//	folder -> tree (bounded, follows no link) ─┬ stack.go: languages by weight, versions.go: the versions that files state
//	                                          ├ hosts.go: registries named in configuration and lock files
//	                                          ├ browsers.go: browsers that tests fetch
//	                                          ├ git.go:   remotes, submodules
//	                                          ├ firewall.go: hosts of a firewall's own script
//	                                          ├ services.go: services of a Compose file
//	                                          └ mcp.go:   MCP servers          └─> Report
//
// The project may be hostile. Nothing of it is run, git included, whose
// configuration names programs; names and files are looked at up to fixed
// bounds; and a host that a file names is never more than a proposal: Presets
// holds well-known lists only, Hosts and Services what a person has to agree to. Tokens are
// not read: of an address only the host and the port are kept.
package detect
