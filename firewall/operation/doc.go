// Package operation decides what may be done at a host whose TLS the firewall
// opens. It is pure: it touches no file, clock, resolver or socket.
//
//	"https://api.example.com GET /v1/**" -> Compile -> Rules -> Judge
//	                                           │ Opens(name, port): is this host's TLS opened?
//	  an HTTP request, inside the opened TLS -> ParsePath, Request ─┐
//	  the first bytes of its body            -> Body ──────────────┴-> Judge.Decide -> Decision
//
// An entry is "KIND:TARGET OPERATIONS". Each kind is one file: it reads its
// entries and judges the requests to its hosts.
//
//	git     git.go        git over HTTP: fetch, push to named refs (push.go), and LFS (lfs.go)
//	github  github.go     GitHub's API by tables of operations (githubtable.go): REST,
//	                      and GraphQL by its document (graphql.go). The server's
//	                      answers tell which object an id names (graphids.go).
//	                      Where github.com and others have it: githubsite.go.
//	gitlab  gitlab.go     GitLab's REST API by a table (gitlabtable.go) of paths and of the
//	                      members that a body may have
//	npm …   registry.go   npm, pypi, go, crates and oci: downloads by tables of
//	                      paths (registrykinds.go); publishing, accounts and tokens
//	                      for more than pulling are refused. Searches are reads, and
//	                      npm's audit of installed versions is let out, for npm
//	                      does not show it to others.
//	https   web.go        any other API: methods and paths
//
// Promises:
//
//   - A request that no entry allows is refused, and so is one that cannot be
//     read in exactly one way, or whose body is larger or other than an
//     operation says. A judge that fails refuses.
//   - A path is read once, from its raw bytes. ParsePath refuses one that a
//     server could read otherwise (dot segments, empty segments, encoded
//     separators, a second encoding), before a kind sees it.
//   - Nothing of a request goes to the server before its Decision, which needs
//     no more of the body than a bound that each kind states. A body that
//     names another method ends before it is whole (override.go).
//   - The commits of others stay: a push makes new refs, or changes those of which
//     the server said that it took them from this sandbox, and deletes none.
//   - A refusal names the operation in the words of an entry, and the narrowest
//     entry that would allow it, when one can.
package operation
