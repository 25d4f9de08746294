// Package recipe reads what the image of a project's dev container is made of,
// once: everything that decides it, as bytes.
//
//	project ─ Read ─► Recipe ─┬─ Content: to be shown, accepted and remembered (settings/trust)
//	                          └─ In: the same bytes in a folder of their own ─► the engine's builder
//
// A project's Dockerfile is code of the project. Its RUN steps have the network, and
// no firewall. So the user must accept exactly these bytes before it is built, and
// nothing is read a second time: a file that changes meanwhile counts for nothing.
// It reads only those files of the build's context that the Dockerfile copies or mounts,
// within bounds, and none through a link.
//
// Nothing of the project is run here. Local Features are read with their folders; of
// those in a registry the configuration and its lock say which they are. Of Compose
// files the image or the Dockerfile of the dev container's service counts. A part that cannot
// be taken is described in a sentence.
package recipe
