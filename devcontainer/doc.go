// Package devcontainer judges dev container configurations: are they well
// formed, do they say what their author meant, and do they open the host or
// the sandbox.
//
//	path ─ Discover ─► files ─ Open ─┐
//	Tree (disk, Memory) ─ Load ──────┼─► Project: devcontainer.json, Dockerfile, Compose files,
//	standard input ─ Parse ──────────┘   sandbox.jsonc, lock; each with its positions
//	                                        │
//	       Families (the table of rules) ─ Check ─► []diag.Finding
//
// A rule is an entry in the table of its family's file:
//
//	rules_syntax.go     SBX1xx  package jsonc reports them
//	rules_schema.go     SBX2xx  schema.go and shape.go compare with the property tables
//	rules_reference.go  SBX3xx  what the reference dev container CLI makes of a file
//	rules_host.go       SBX4xx  the host's border
//	rules_secrets.go    SBX5xx  keys
//	rules_supply.go     SBX6xx  images, Features, programs from elsewhere
//	rules_dockerfile.go SBX7xx  the Dockerfile
//	rules_contract.go   SBX8xx  our own sandbox, across files
//	rules_template.go   SBX9xx  Templates and what was made from them
//
// A new rule needs its entry, with a check that reports through pass.at,
// pass.name, pass.missing (the configuration) or pass.in (any other file), and
// two examples, which a test runs. Nothing else has to know of it.
//
// What several checks read, and checks that are longer than a few lines, stand
// beside the tables:
//
//	project.go tree.go discover.go           what is read, and where it comes from
//	check.go suppress.go fix.go examples.go  the walk over the table, what comments take out of it, what it mends
//	schema*.go shape.go template.go          names and types; Features, Templates and locks
//	reference.go variables.go                what the reference CLI does with a value
//	mounts.go runargs.go sockets.go neighbours.go exposure.go
//	                                         ways to the host and to other containers, in whichever form they are written
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
