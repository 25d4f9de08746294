// Package baseimage holds what is known of well-known base images: whose packages they
// have, which users, and which programs they lack.
//
//	"node:24-slim" ── Of ──> Image{Debian, user node 1000, lacks curl, git, …}
//
// Nothing is looked up. The tables hold what is so for every tag that they name, and an image
// or tag that may differ is not known. A test asks the images that are on this machine.
//
// An error rests on a fact only where somebody asked for it; all else is a warning:
//
//   - Debian: users, programs and packages. Asked of apt and of an image, for 12 and 13, in November 2026.
//   - Node, Python, Go, Rust, Ruby, PHP and GCC in their variants of Debian: that, with the packages that the
//     Dockerfiles of buildpack-deps (of 2025-11-13) and of docker-node (of 2026-08-19) install.
//   - Alpine: docker-library/repo-info lists all 15 packages of alpine:3.14.8 (2022-08-09) and 3.24.2 (2026-09-17).
//     BusyBox has no bash, curl, git, sudo or useradd in either.
//   - Ubuntu: the user ubuntu with the number 1000 since 23.04 (devcontainers/images removes it, 2026-07-01; Launchpad
//     bug 2005129), dash, no sudo, and a pip that is managed since 23.04 are errors. Which programs the image lacks, and
//     which packages its archive lost, is not asked: warnings.
//   - Red Hat and its relatives: that they have neither apt nor apk is an error. Their users are not known: warnings.
//   - Images for dev containers by Microsoft: their users, as devcontainers/images says (2026-07-01); another user is a
//     warning. Of their programs the package managers of other families and docker, which universal alone has, are
//     judged; and those of languages and services in the images whose Dockerfiles and Features say which they have.
//   - versions.txt and foreign.txt: numbered packages of Debian, asked of apt for 11, 12 and 13, and what Alpine and Red Hat
//     call Debian's packages, from their lists. Node has no corepack since 25.
//   - The command of other images that is a shell, and users of others that are not root, as their documentation says:
//     warnings.
//   - eclipse-temurin, maven, openjdk: the tag may mean any distribution. Findings about their users and sudo are
//     warnings.
package baseimage
