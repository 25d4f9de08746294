package obeyed

// RepositoryKind says, in words for people, why git finds a repository at a place.
type RepositoryKind string

// The kinds.
const (
	GitFolder   RepositoryKind = "a repository"           // .git
	GitFile     RepositoryKind = "points at a repository" // .git of a worktree or a submodule
	GitLink     RepositoryKind = "a symbolic link"        // .git
	BareFolder  RepositoryKind = "a bare repository"
	BareLedAway RepositoryKind = "a bare repository whose configuration is elsewhere"
)

// Bare tells what git takes a folder with a HEAD for, "" for none. has reports
// whether the folder holds a name. A commondir leads elsewhere and cannot be
// covered: git would take what stands in for it for a part of the repository
// around this one.
func Bare(has func(name string) bool) RepositoryKind {
	switch {
	case has("commondir"):
		return BareLedAway
	case has("objects") && has("refs"):
		return BareFolder
	}
	return ""
}
