package checks

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/workspace"
)

// repositoryPaths names files as hosting services do: relative to the root of
// the repository, wherever the program was started.
type repositoryPaths struct{ root string }

// pathsFor finds the root for what was checked: GITHUB_WORKSPACE when it is set,
// or the repository of the current folder, or else that of the first path.
// Without any it is the current folder.
func pathsFor(a *cli.App, checked []string) repositoryPaths {
	if dir := a.Getenv("GITHUB_WORKSPACE"); dir != "" {
		return repositoryPaths{projects.Real(dir)}
	}
	here, err := os.Getwd()
	if err != nil {
		return repositoryPaths{}
	}
	for _, dir := range append([]string{here}, checked...) {
		if root := workspace.RepositoryOf(projects.Real(dir)); root != "" && dir != "-" {
			return repositoryPaths{root}
		}
	}
	return repositoryPaths{projects.Real(here)}
}

// of names one file: with slashes and relative when it lies in the repository,
// absolute otherwise. A link counts where it stands, not where it leads.
func (p repositoryPaths) of(file string) string {
	if file == "-" || p.root == "" {
		return file
	}
	full := filepath.Join(projects.Real(filepath.Dir(file)), filepath.Base(file))
	rel, err := filepath.Rel(p.root, full)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return full
	}
	return filepath.ToSlash(rel)
}

// moved returns the findings under the repository's names, and their sources.
func (p repositoryPaths) moved(findings []diag.Finding, sources diag.Sources) ([]diag.Finding, diag.Sources) {
	out := make([]diag.Finding, len(findings))
	given := map[string]string{}
	for i, f := range findings {
		out[i] = f
		out[i].File = p.of(f.File)
		given[out[i].File] = f.File
	}
	diag.Sort(out)
	return out, func(file string) []byte { return sources(given[file]) }
}
