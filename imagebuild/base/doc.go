// Package base reads the image that a sandbox is laid on, wherever it is, and
// finds out what the sandbox needs to know of it.
//
//	source ─► Open ─► Image (one platform) ─► Scan ─► Facts ─► Sandbox ─► a layer
//
// A source is written as KIND:WHERE or as the name of an image in a registry; see
// Kind and KindOf.
package base
