// Package baseimage holds what is known of well-known base images: whose packages they
// have, which users, and which programs they lack.
//
//	"node:24-slim" ── Of ──> Image{Debian, user node 1000, lacks curl, git, …}
//
// Nothing is looked up: the tables were written in November 2026, from the images' own
// Dockerfiles and package lists. They hold what is so for every tag that a table names, and
// an image or tag that may differ is not known. A test asks the images that are on this
// machine.
package baseimage
