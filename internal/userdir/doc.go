// Package userdir is the folder of a user's own settings for this program.
//
//	$XDG_CONFIG_HOME ─┐
//	~/.config ────────┴► Find ──► Dir ── Check(project) ──► may be believed, or why not
//
// The files there widen what a run may do. So a folder that somebody else can
// write is refused, and so is one inside the project that a run is about, or inside
// its repository: a variable that a project's .env sets could lead there.
package userdir
