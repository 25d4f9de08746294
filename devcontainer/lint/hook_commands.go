package lint

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/baseimage"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// clonedIntoProject reports git clone into the folder that is opened, which has the files of the project.
func clonedIntoProject(h *hookReading, cmd *shell.Command) rule.Finding {
	words := cmd.Operands()
	into := cmd.Is("git") && len(words) > 2 && words[0].Text == "clone" && words[len(words)-1].Text == "."
	folder, known := workspaceOnHost(h.v)
	here := known && cmd.Folder == "." && h.inside() && h.v.Tree != nil
	if !into || !here || len(h.v.Tree.List(folder)) == 0 {
		return rule.Finding{}
	}
	return rule.Finding{Message: "git clone refuses the folder that is opened: it is not empty", Hint: "name another folder"}
}

// ofRepository matches commands that fail where there is no git repository. Each was tried.
var ofRepository = lazyregexp.New(`^(pre-commit (install|run)|git (submodule|config core\.|lfs (pull|install --local))|lefthook install)`)

// repositoryElsewhere reports a command for the repository's hooks, where only a folder of the repository is mounted.
func repositoryElsewhere(h *hookReading, cmd *shell.Command) rule.Finding {
	own := rights.ParseMount(h.v.Root.Member("workspaceMount").TextOr(""))
	below, partly := strings.CutPrefix(own.Source, "${localWorkspaceFolder}/")
	partly = partly && path.Clean(below) != "." && !h.v.ByCompose() && h.v.Tree != nil
	asks := partly && h.inside() && ofRepository.MatchString(joinedWords(cmd))
	if !asks || strings.Contains(h.node.Text, "git init") {
		return rule.Finding{}
	}
	brought := slices.ContainsFunc(h.v.Mounts(), func(r rights.Right) bool { return strings.Contains(r.Mount.Target, ".git") })
	folder := path.Join(h.v.Home, below)
	if brought || h.v.Tree.Kind(path.Join(folder, ".git")) != devcontainer.Nothing || devcontainer.LeavesTree(folder) {
		return rule.Finding{}
	}
	return rule.Finding{Severity: diag.SeverityWarning, Hint: "mount ${localWorkspaceFolder}, and name the folder in workspaceFolder",
		Message: fmt.Sprintf("only the folder %s is mounted, and it is no git repository", below)}
}

// fetching matches commands that fetch packages or files.
var fetching = lazyregexp.New(`^(npm (ci|install|i)|yarn( install)?$|pnpm (install|i)|pip3? install|apt-get (update|install)|apk add|` +
	`git clone|bundle install|composer install|cargo fetch|go mod download|poetry install|dotnet restore|curl|wget)( |$)`)

// withoutNetwork reports a command that fetches something, in a container without a network.
func withoutNetwork(h *hookReading, cmd *shell.Command) rule.Finding {
	none := slices.ContainsFunc(h.v.RunArgs, func(a rights.Arg) bool {
		return (a.Flag == "network" || a.Flag == "net") && a.Value == "none"
	})
	if !none || !h.inside() || h.v.ByCompose() || !fetching.MatchString(joinedWords(cmd)) || strings.Contains(h.node.Text, "offline") {
		return rule.Finding{}
	}
	return rule.Finding{Severity: diag.SeverityWarning, Hint: "do it in a Dockerfile, whose steps have a network; or leave the option out",
		Message: fmt.Sprintf("runArgs leave the container without a network, and %s fetches something", cmd.Name())}
}

// browsers matches the installation of Playwright's browsers.
var browsers = lazyregexp.New(`(^|[ /])playwright(@\S+)? (install|install-deps)( |$)`)

// browsersRefused reports that installation where it cannot be: on Alpine, and by a user who cannot become root (playwright-core,
// dependencies.ts and nativeDeps.ts).
func browsersRefused(h *hookReading, cmd *shell.Command) rule.Finding {
	line := joinedWords(cmd)
	if !h.inside() || !strings.Contains(line, "playwright") || !browsers.MatchString(line) {
		return rule.Finding{}
	}
	withPackages := strings.Contains(line, "--with-deps") || strings.Contains(line, "install-deps")
	lacks, sure := h.image.LacksSudo()
	plain := h.user != "" && !rule.IsRoot(h.user) && cmd.User == "" && cmd.Wrapped != "sudo"
	switch {
	case h.image.Family == baseimage.Alpine && !h.v.HasFeatures():
		return rule.Finding{Severity: diag.SeverityWarning, Message: "Playwright has no browsers for Alpine",
			Hint: "take an image of Debian or Ubuntu, or mcr.microsoft.com/playwright"}
	case withPackages && plain && lacks && sure && h.asItIs:
		return rule.Finding{Severity: diag.SeverityWarning, Hint: "do it as root, in a Dockerfile",
			Message: fmt.Sprintf("Playwright installs packages as root, and %s cannot become root: %s has no sudo", h.user, h.v.BaseImage())}
	}
	return rule.Finding{}
}

// pathsOfHost reports a folder of the container that docker run is told to mount, where the engine is the host's.
func pathsOfHost(h *hookReading, cmd *shell.Command) rule.Finding {
	words := cmd.Operands()
	if !h.inside() || !cmd.Is("docker") || len(words) == 0 || words[0].Text != "run" {
		return rule.Finding{}
	}
	outside := slices.ContainsFunc(h.v.Root.Member("features").Fields(), func(m jsonc.Member) bool {
		return strings.Contains(m.Name, "/docker-outside-of-docker") || strings.Contains(m.Name, "/docker-from-docker")
	})
	same := strings.Contains(h.v.Root.Member("workspaceFolder").TextOr(""), "${localWorkspaceFolder}")
	for n, w := range cmd.Words {
		given := n > 0 && slices.Contains([]string{"-v", "--volume"}, cmd.Words[n-1].Text)
		source, _, _ := strings.Cut(w.Text, ":")
		inside := strings.HasPrefix(w.Text, "/workspace") || strings.HasPrefix(w.Text, "${containerWorkspaceFolder}") ||
			slices.Contains([]string{"$PWD", "${PWD}", "$(pwd)", "."}, source)
		if outside && !same && given && inside {
			return rule.Finding{Severity: diag.SeverityWarning,
				Message: fmt.Sprintf("the engine is the host's, which looks for %s among its own folders", source),
				Hint:    `set "LOCAL": "${localWorkspaceFolder}" in remoteEnv, and write -v "$LOCAL:…"; or take docker-in-docker`}
		}
	}
	return rule.Finding{}
}

// gitNeeded says why a command calls git; "" when it does not. pip, npm and pre-commit were tried without.
func gitNeeded(v *rule.View, folder string, cmd *shell.Command) string {
	line := joinedWords(cmd)
	if strings.HasPrefix(line, "pre-commit install") || strings.HasPrefix(line, "pre-commit run") {
		return "pre-commit asks git where the repository is"
	}
	words := cmd.Operands()
	installs := len(words) > 0 && (words[0].Text == "install" || words[0].Text == "ci" || words[0].Text == "i")
	switch {
	case !installs:
	case cmd.Is("pip", "pip3"):
		if slices.ContainsFunc(words, func(w shell.Word) bool { return strings.Contains(w.Text, "git+") }) {
			return "pip fetches a package with git"
		}
		if w, ok := cmd.Value("-r", "--requirement"); ok && w.Literal && strings.Contains("\n"+textIn(v, folder, w.Text), "\ngit+") {
			return w.Text + " has a package that pip fetches with git"
		}
	case cmd.Is("npm") && rule.Once(v, "packages of git", func(v *rule.View) bool {
		return fetchesWithGit(textIn(v, folder, "package.json"))
	}):
		return "package.json has a package that npm fetches with git"
	}
	return ""
}

// fetchesWithGit reports whether a package.json has a package from a git repository.
func fetchesWithGit(text string) bool {
	var of packageJSON
	if json.Unmarshal([]byte(text), &of) != nil {
		return false
	}
	for _, list := range []map[string]string{of.Dependencies, of.DevDependencies} {
		for _, from := range list {
			if strings.HasPrefix(from, "git+") || strings.HasPrefix(from, "git:") || strings.HasPrefix(from, "github:") {
				return true
			}
		}
	}
	return false
}

// withoutGit is the finding about a command that calls git where there is none.
func (p *programs) withoutGit(v *rule.View, cmd *shell.Command) (f rule.Finding) {
	if v.Tree == nil || !p.lacks("git") || cmd.OnFailure == shell.Open || !cmd.Is("pip", "pip3", "npm", "pre-commit") {
		return f
	}
	folder, known := workspaceOnHost(v)
	if !known {
		return f
	}
	if why := gitNeeded(v, folder, cmd); why != "" {
		f = rule.Finding{Message: fmt.Sprintf("%s, and %s has no git", why, p.image),
			Hint: "install git in a Dockerfile, or take the image without slim"}
		if !p.known.Asked() || cmd.OnFailure == shell.Unheard {
			f.Severity = diag.SeverityWarning
		}
	}
	return f
}
