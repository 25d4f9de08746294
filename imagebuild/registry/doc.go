// Package registry moves artifacts to and from container registries, and
// expects what registries do to clients: refusals that are none, connections
// that die, answers that are cut off.
//
//	Credentials ─► Dial ─► Client ─┬─ Upload, PutManifest ─┐
//	                               ├─ Head, Manifest, Blob │
//	                               └─ Referrers, Tags      │
//	artifact + tags ─► Push ───────────────────────────────┘─► Report
//
// Push makes an image visible last: blobs, manifests by digest, referrers, all
// read back, and only then tags. A tag never leads to half an image.
//
// The HTTP exchange is our own, over go-containerregistry's transport for
// authentication. docs/design.md says which tests its client did not pass.
package registry
