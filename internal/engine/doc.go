// Package engine is the small part of a container engine's API that this
// project uses, over Docker's own client. Podman's compatible socket works
// alike. The oldest supported API is 1.40.
//
//	Connect ─► Engine ─► Build, Load, Save, Tag, Inspect     images
//	                 ├─► CreateVolume, RemoveVolume           volumes with names
//	                 ├─► Create, Attach, Start, Wait, Kill    containers
//	                 ├─► CopyIn, CopyOut                      files, as tar
//	                 └─► Exec                                 a further program, its stdio as a stream
//
// Nothing here decides: the plan of a container is a Spec, plain data that
// prints as JSON, and every function does one call. Errors name the operation
// and the object; those that a caller branches on wrap ErrUnavailable or
// ErrNotFound.
package engine
