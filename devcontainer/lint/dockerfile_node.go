package lint

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// manifest is a package.json.
type manifest struct {
	Scripts, Dependencies, DevDependencies, OptionalDependencies map[string]string
	Workspaces                                                   json.RawMessage
}

// installScripts are the scripts of a project that its own installation runs.
var installScripts = []string{"preinstall", "install", "postinstall", "prepare"}

func npmReads(b *broughtFiles, cmd *shell.Command, folder string) rule.Finding {
	words := cmd.Operands()
	verb := ""
	if len(words) > 0 {
		verb = words[0].Text
	}
	if hasFlag(cmd, inAnother...) || hasFlag(cmd, "-g", "--global") {
		return rule.Finding{}
	}
	installs := slices.Contains([]string{"ci", "install", "i"}, verb) && len(words) == 1 || verb == "" && cmd.Is("yarn")
	if !installs && !slices.Contains([]string{"run", "start", "build", "dev"}, verb) {
		return rule.Finding{}
	}
	if from, _ := b.find(path.Join(folder, ".yarnrc.yml")); from != "" && cmd.Is("yarn") {
		src := b.read(from)
		if m := yarnPath.FindSubmatch(src); m != nil && b.missing(folder, string(m[1])) {
			return b.v.AtCommand(cmd, fmt.Sprintf("yarn runs %s, which .yarnrc.yml names, and no COPY above brings it", m[1]),
				"bring it, too: COPY .yarn ./.yarn")
		}
	}
	if verb == "ci" {
		if f := b.notBrought(cmd.Words[0], folder, "package.json"); f.Message != "" {
			return f
		}
	}
	from, _ := b.find(path.Join(folder, "package.json"))
	if from == "" {
		return rule.Finding{}
	}
	var of manifest
	if json.Unmarshal(b.read(from), &of) != nil {
		return rule.Finding{}
	}
	if installs {
		return b.installed(cmd, folder, path.Dir(from), of)
	}
	if verb != "run" && of.Scripts[verb] != "" && cmd.Is("npm") && verb != "start" {
		return b.v.AtCommand(cmd, fmt.Sprintf("npm has no command %s: it is a script of package.json", verb), "write npm run "+verb)
	}
	if verb == "run" && len(words) > 1 {
		unknown := words[1].Literal && of.Scripts[words[1].Text] == "" && words[1].Text != "env"
		if unknown && !strings.ContainsAny(words[1].Text, "/*^") && !cmd.Is("yarn") {
			return b.v.AtWord(words[1], fmt.Sprintf("package.json has no script %q", words[1].Text), hintScripts(words[1].Text, of.Scripts))
		}
		verb = words[1].Text
	}
	return b.devTool(cmd, of, of.Scripts[verb])
}

func (m manifest) dependsOnNothing() bool {
	return len(m.Dependencies)+len(m.DevDependencies)+len(m.OptionalDependencies) == 0
}

var yarnPath = lazyregexp.New(`(?m)^yarnPath:\s*["']?([^"'\s]+)`)

func hintScripts(name string, scripts map[string]string) string {
	names := slices.Sorted(maps.Keys(scripts))
	if best := nearest(name, names); best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return "it has " + strings.Join(names[:min(len(names), 8)], ", ")
}

// installed is about an installation of a whole project of Node.js: its lock, its scripts and its workspaces.
func (b *broughtFiles) installed(cmd *shell.Command, folder, from string, of manifest) rule.Finding {
	verb := shownCommand(cmd)
	locks := map[string][]string{"npm ci": {"package-lock.json", "npm-shrinkwrap.json"}}[verb]
	if cmd.Is("pnpm") && hasFlag(cmd, "--frozen-lockfile") && !of.dependsOnNothing() {
		locks = []string{"pnpm-lock.yaml"}
	}
	if locks != nil && b.missing(folder, locks...) {
		return b.v.AtCommand(cmd, fmt.Sprintf("%s wants %s, and no COPY brings one", verb, locks[0]),
			fmt.Sprintf("bring it, too; or write %s install", cmd.Name()))
	}
	omitted, _ := cmd.Value("--omit", "--only")
	all, _ := cmd.Value("--production", "--include")
	omits := hasFlag(cmd, "--production", "--prod", "-P") || strings.HasPrefix(omitted.Text, "prod") || omitted.Text == "dev"
	b.production = (omits || b.variables["NODE_ENV"] == "production") && all.Text != "false" && all.Text != "dev"
	b.manifest = from
	for _, name := range installScripts {
		if hasFlag(cmd, "--ignore-scripts") || b.variables["HUSKY"] == "0" && strings.Contains(of.Scripts[name], "husky ||") {
			break
		}
		if f := b.scriptOf(cmd, folder, name, of); f.Message != "" {
			return f
		}
	}
	if cmd.Is("npm") {
		for _, name := range b.workspaces(from, of) {
			if b.missing(folder, path.Join(name, "package.json")) {
				return warned(b.v.AtCommand(cmd, fmt.Sprintf("%s installs nothing for the workspace %s: no COPY above brings its package.json",
					verb, name), "bring the package.json of each workspace into its folder"))
			}
		}
	}
	return rule.Finding{}
}

// scriptOf is about a script that an installation runs: what it needs is not brought, or not installed.
func (b *broughtFiles) scriptOf(cmd *shell.Command, folder, name string, of manifest) rule.Finding {
	words := strings.Fields(of.Scripts[name])
	if len(words) == 0 || strings.ContainsAny(of.Scripts[name], "|;$(") {
		return rule.Finding{}
	}
	at := func(message string) rule.Finding {
		return b.v.AtCommand(cmd, fmt.Sprintf("%s runs the script %s of package.json, %q, and %s", shownCommand(cmd), name,
			of.Scripts[name], message), "add --ignore-scripts, or bring what the script needs in front")
	}
	if _, dev := of.DevDependencies[words[0]]; dev && b.production && of.Dependencies[words[0]] == "" {
		return at(words[0] + " is one of the devDependencies, which are left out")
	}
	for n, w := range words {
		runs := n == 1 && slices.Contains([]string{"node", "sh", "bash"}, words[0]) || n == 0 && strings.HasPrefix(w, "./")
		if runs && !strings.HasPrefix(w, "-") && b.missing(folder, w) {
			return at("no COPY above brings that file")
		}
	}
	if strings.HasPrefix(of.Scripts[name], "prisma generate") && !strings.Contains(of.Scripts[name], "--schema") &&
		b.missing(folder, "prisma", "schema.prisma") {
		return warned(at("no COPY above brings prisma/schema.prisma"))
	}
	return rule.Finding{}
}

// mostWorkspaces bounds how many are looked at.
const mostWorkspaces = 50

// workspaces returns the folders of a project's workspaces that have a package.json.
func (b *broughtFiles) workspaces(from string, of manifest) (out []string) {
	var names []string
	if json.Unmarshal(of.Workspaces, &names) != nil {
		var object struct{ Packages []string }
		if json.Unmarshal(of.Workspaces, &object) != nil {
			return nil
		}
		names = object.Packages
	}
	for _, name := range names {
		folder, pattern := path.Split(path.Clean(name))
		entries := []string{pattern}
		if pattern == "*" {
			entries = b.v.Tree.List(path.Join(from, folder))
		}
		if !b.spend(len(entries)) {
			return nil
		}
		for _, entry := range entries {
			full := path.Join(folder, entry)
			plain := !strings.ContainsAny(full, "*?[!{") && len(out) < mostWorkspaces
			if plain && b.v.Tree.Kind(path.Join(from, full, "package.json")) == devcontainer.File {
				out = append(out, full)
			}
		}
	}
	return out
}

// programOf names the programs that packages have under another name.
var programOf = map[string]string{"tsc": "typescript", "ng": "@angular/cli", "nest": "@nestjs/cli", "vue-cli-service": "@vue/cli-service"}

// devTool is about a program of a package that the installation left out.
func (b *broughtFiles) devTool(cmd *shell.Command, of manifest, script string) rule.Finding {
	words := strings.Fields(script)
	if !b.production || len(words) == 0 {
		return rule.Finding{}
	}
	name := words[0]
	if programOf[name] != "" {
		name = programOf[name]
	}
	if of.DevDependencies[name] == "" || of.Dependencies[name] != "" {
		return rule.Finding{}
	}
	return warned(b.v.AtCommand(cmd, fmt.Sprintf("%s is one of the devDependencies, which the installation above left out", words[0]),
		"install them, too: NODE_ENV=production and --omit=dev leave them out"))
}

func npxReads(b *broughtFiles, cmd *shell.Command, folder string) rule.Finding {
	words := cmd.Operands()
	if b.manifest == "" || len(words) == 0 || !hasFlag(cmd, "--no-install", "--no") {
		return rule.Finding{}
	}
	var of manifest
	if json.Unmarshal(b.read(path.Join(b.manifest, "package.json")), &of) != nil {
		return rule.Finding{}
	}
	return b.devTool(cmd, of, words[0].Text)
}
