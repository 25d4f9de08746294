// Package devcontainer judges dev container configurations: are they well
// formed, do they say what their author meant, and do they open the host or
// the sandbox.
//
//	path ─ Discover ─► files ─ Open ─┐
//	Tree (disk, Memory) ─ Load ──────┼─► Project: devcontainer.json, Dockerfile, Compose files,
//	standard input ─ Parse ──────────┘   sandbox.jsonc, lock; each with its positions
//	                                        │
//	               rights.List ─ view ◄─ checks of the rules ─ Check ─► []diag.Finding
//
// A rule is an entry in the table of its family's file:
//
//	rules_syntax.go     SBX1xx  package jsonc reports them
//	rules_schema.go     SBX2xx  package schema compares with the property tables
//	rules_reference.go  SBX3xx  what the reference dev container CLI makes of a file
//	rules_host.go       SBX4xx  the host's border
//	rules_secrets.go    SBX5xx  keys
//	rules_supply.go     SBX6xx  images, Features, programs from elsewhere
//	rules_dockerfile.go SBX7xx  the Dockerfile
//	rules_contract.go   SBX8xx  our own sandbox, across files
//	rules_template.go   SBX9xx  Templates and what was made from them
//
// A new rule needs its entry there, with a check (a function of a view), and two
// examples, which a test runs. Nothing else has to know of it. Findings that
// are made while a file is read have an entry that names what makes them.
//
// What a container gets (mounts, capabilities, variables, …) is one list, which
// package rights reads from every notation; a rule about it is a loop over that
// list and knows no notation.
//
// What several checks read, and checks that are longer than a few lines, stand
// next to the tables:
//
//	project.go tree.go discover.go           what is read, and where it comes from
//	view.go                                  what rules look at, and the form of what they say
//	check.go suppress.go fix.go examples.go  the walk over the table, what comments take out of it, what it repairs
//	template.go                              Features and Templates
//	reference.go variables.go                what the reference CLI does with a value
//	host.go paths.go sockets.go secrets.go   ways to the host and to other containers; keys
//	supply.go remote.go frontend.go          what comes from elsewhere
//	build.go dockerfile_*.go                 the Dockerfile that is built, and what its steps do
//	composed.go composed_rules.go            what Compose files say together, and what is wrong with it
//	contract*.go                             the promises of our own sandbox
//	org*.go                                  an organisation's policy
//
// The reference CLI validates nothing: it reads past syntax errors, ignores
// unknown names and treats the text "false" as true. So the rules follow what
// it does with a file, not only what the specification says.
package devcontainer
