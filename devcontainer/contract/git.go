package contract

import (
	"path"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/rule"
)

// gitMounts are the lines that keep a repository's hooks and configuration; none
// where something else is mounted, or where this clone lacks what every other
// one would need for its container to start.
func gitMounts(c *rule.View) []string {
	var lines []string
	if !covered(c, "/.git", false) {
		lines = append(lines, overItself(".git"))
	}
	for _, p := range []string{".git/hooks", ".git/config"} {
		switch {
		case covered(c, "/"+p, true):
		case covered(c, "/"+p, false) || !c.GitHere() || c.Tree.Kind(path.Join(c.Home, p)) == devcontainer.Nothing:
			return nil
		default:
			lines = append(lines, overItself(p)+",readonly")
		}
	}
	return lines
}

// gitIsFile reports whether .git is a file that names the repository.
func gitIsFile(v *rule.View) bool {
	return v.Tree != nil && v.Tree.Kind(path.Join(v.Home, ".git")) == devcontainer.File
}

// openGitFile returns the .git file when no mount covers it.
func (e exposure) openGitFile() []string {
	if !gitIsFile(e.View) || covered(e.View, "/.git", true) {
		return nil
	}
	return []string{".git:ro"}
}

// gitFileWritable reports a .git file that can be changed.
func gitFileWritable(v *rule.View) []rule.Finding {
	e, ok := exposed(v)
	if !ok || e.openGitFile() == nil {
		return nil
	}
	return []rule.Finding{e.finding("the .git file is writable from inside, and it says which repository git on the host obeys",
		"mount it over itself, readonly", nil, e.openGitFile())}
}

// openGit returns what of the repository's folder no mount covers: the folder
// itself, which then can be renamed, its hooks and its configuration.
func (e exposure) openGit() (open []string) {
	if covered(e.View, "/.git", true) || gitIsFile(e.View) || !e.GitHere() && (!e.GitAbove() || e.custom) {
		return nil
	}
	if !covered(e.View, "/.git", false) {
		open = append(open, ".git")
	}
	for _, p := range []string{".git/hooks", ".git/config"} {
		if !covered(e.View, "/"+p, true) {
			open = append(open, p+":ro")
		}
	}
	return open
}

// gitWritable reports a repository whose hooks or configuration can be changed.
func gitWritable(v *rule.View) (out []rule.Finding) {
	if v.Sandboxed() {
		out = mountedAgain(v, ".git/hooks")
	}
	e, ok := exposed(v)
	if !ok {
		return out
	}
	inside := e.openGit()
	var open []string
	for _, p := range inside {
		if name, ok := strings.CutSuffix(p, ":ro"); ok {
			open = append(open, name)
		}
	}
	are := "is"
	if len(open) > 1 {
		are = "are"
	}
	switch {
	case len(open) > 0:
		out = append(out, e.finding(strings.Join(open, " and ")+" "+are+" writable from inside, and git on the host runs what it says there",
			"mount each over itself, readonly, and .git over itself, writable, so that nobody renames it; sbx-devc init writes the lines",
			gitMounts(e.View), inside))
	case len(inside) > 0:
		out = append(out, e.finding(".git is no mount point, so the agent can rename it with the read-only mounts inside and put another in "+
			"its place",
			"mount .git over itself, writable; sbx-devc init writes the lines", gitMounts(e.View), inside))
	}
	return out
}
