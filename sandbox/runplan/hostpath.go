package runplan

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/org/claude-sandbox/workspace"
)

// InSandbox is where the agent finds a file of this machine that the run shows: one in the
// project or in a folder that is mounted in addition. false = the agent does not have it, or
// it is not there.
func (p *Plan) InSandbox(file string) (there string, found bool) {
	if !filepath.IsAbs(file) {
		return "", false
	}
	if _, err := os.Lstat(file); err != nil {
		return "", false
	}
	file = filepath.Clean(file)
	if there, found = p.shownAt(file); found {
		return there, true
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(file)) // the project is known without links on its way
	if err != nil {
		return "", false
	}
	return p.shownAt(filepath.Join(folder, filepath.Base(file)))
}

// shownAt is where a file is shown, by its clean path on this machine. The innermost folder
// counts.
func (p *Plan) shownAt(file string) (there string, found bool) {
	longest := -1
	show := func(source, target string) {
		rest, below := strings.CutPrefix(file, source)
		if source == "" || !below || rest != "" && !os.IsPathSeparator(rest[0]) || len(source) <= longest {
			return
		}
		longest, there = len(source), path.Join(target, filepath.ToSlash(rest))
	}
	if p.Place.Mode != workspace.None {
		show(p.Place.Folder, WorkspaceTarget)
	}
	for _, m := range p.Project.List {
		if !within(m.Target, WorkspaceTarget) {
			show(m.Source, m.Target)
		}
	}
	return there, longest >= 0
}
