package lint

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// projectPrograms are programs that read files of a project, each with what says which one is missing.
var projectPrograms map[string]func(b *broughtFiles, cmd *shell.Command, folder string) rule.Finding

func init() { // the table and its functions refer to each other
	projectPrograms = map[string]func(*broughtFiles, *shell.Command, string) rule.Finding{
		"pip": pipReads, "pip3": pipReads, "poetry": poetryReads, "uv": uvReads, "npm": npmReads, "pnpm": npmReads, "yarn": npmReads,
		"npx": npxReads, "bundle": namedReads, "composer": namedReads, "go": goReads, "cargo": namedReads, "mix": namedReads,
		"pipenv": namedReads,
		"mvn":    namedReads, "dotnet": dotnetReads, "conda": condaReads, "mamba": condaReads, "micromamba": condaReads, "make": makeReads,
		"mvnw": wrapperReads, "gradlew": wrapperReads, "cp": copyReads, "chmod": copyReads,
	}
	for _, name := range readers {
		projectPrograms[name] = scriptReads
	}
}

// notBrought is the finding about a file that is not there, at a word; its message is "" when it may be there.
func (b *broughtFiles) notBrought(at shell.Word, folder string, names ...string) rule.Finding {
	if !b.missing(folder, names...) {
		return rule.Finding{}
	}
	return b.v.AtWord(at, fmt.Sprintf("%s is not there yet: no COPY above brings it", b.place(names[0], folder)),
		"copy the file in a step above")
}

// warned lowers a finding.
func warned(f rule.Finding) rule.Finding {
	f.Severity = diag.SeverityWarning
	return f
}

func scriptReads(b *broughtFiles, cmd *shell.Command, folder string) rule.Finding {
	args := cmd.Args()
	if len(args) == 0 || !args[0].Literal || strings.HasPrefix(args[0].Text, "-") || !scriptFile.MatchString(args[0].Text) &&
		!strings.HasSuffix(args[0].Text, ".sh") {
		return rule.Finding{}
	}
	return b.notBrought(args[0], folder, args[0].Text)
}

// namedReads is about commands whose words say which file they read.
func namedReads(b *broughtFiles, cmd *shell.Command, folder string) rule.Finding {
	if hasFlag(cmd, inAnother...) {
		return rule.Finding{}
	}
	line := joinedWords(cmd)
	for _, w := range wants {
		if (line == w.words || strings.HasPrefix(line, w.words+" ")) && (w.flag == "" || hasFlag(cmd, w.flag)) {
			return b.notBrought(cmd.Words[0], folder, w.files...)
		}
	}
	return rule.Finding{}
}

// goNumber matches the version in the tag of an image of Go, and in a go.mod.
var goNumber = lazyregexp.New(`(?m)(?:^go |:)1\.(\d+)`)

// goReads is also about the version that go.mod asks for: an image of Go fetches no other (its GOTOOLCHAIN is local).
func goReads(b *broughtFiles, cmd *shell.Command, folder string) rule.Finding {
	words := cmd.Operands()
	from, _ := b.find(path.Join(folder, "go.mod"))
	module := len(words) > 0 && slices.Contains([]string{"mod", "build", "install", "test", "generate", "vet", "run"}, words[0].Text)
	has := goNumber.FindStringSubmatch(b.image)
	if from == "" || has == nil || !module || !strings.HasPrefix(b.image, "golang:") || b.variables["GOTOOLCHAIN"] != "" {
		return namedReads(b, cmd, folder)
	}
	src := b.read(from)
	asks := goNumber.FindSubmatch(src)
	if asks == nil {
		return rule.Finding{}
	}
	minor, _ := strconv.Atoi(has[1])
	wanted, _ := strconv.Atoi(string(asks[1]))
	if minor >= wanted || minor < 21 && wanted < 21 {
		return rule.Finding{}
	}
	return warned(b.v.AtCommand(cmd, fmt.Sprintf("go.mod asks for Go 1.%d, and %s has 1.%d", wanted, b.image, minor),
		fmt.Sprintf("take golang:1.%d, or write ENV GOTOOLCHAIN=auto above", wanted)))
}

// ofProject are the files that make a folder a project of Python's.
var ofProject = []string{"pyproject.toml", "setup.py", "setup.cfg"}

var (
	// otherList matches a line of a list of packages for pip that names another one.
	otherList = lazyregexp.New(`(?m)^\s*(?:-r|-c|--requirement|--constraint)[ \t=]*([\w./-]+)`)
	// itself matches a line that names a folder of the project.
	itself = lazyregexp.New(`(?m)^\s*(?:(?:-e|--editable)[ \t=]*)?(?:file:)?(\.{1,2}(?:/[\w./-]*)?)(?:\[[\w,-]+\])?\s*(?:#.*)?$`)
)

func pipReads(b *broughtFiles, cmd *shell.Command, folder string) rule.Finding {
	words := cmd.Operands()
	if len(words) == 0 || words[0].Text != "install" {
		return rule.Finding{}
	}
	if list, ok := cmd.Value("-r", "--requirement"); ok && list.Literal && !strings.Contains(list.Text, "://") {
		if f := b.notBrought(list, folder, list.Text); f.Message != "" {
			return f
		}
		return b.listReads(list, folder)
	}
	return b.installsProject(words[1:], cmd, folder)
}

// listReads is about what a list of packages names: other lists, from its own folder, and projects, from that of the step.
func (b *broughtFiles) listReads(list shell.Word, folder string) rule.Finding {
	from, _ := b.find(b.place(list.Text, folder))
	if from == "" {
		return rule.Finding{}
	}
	src := b.read(from)
	for _, m := range otherList.FindAllSubmatch(src, -1) {
		at := path.Dir(b.place(list.Text, folder))
		if name := string(m[1]); !path.IsAbs(name) && b.missing(at, name) {
			return b.v.AtWord(list, fmt.Sprintf("%s names %s, and no COPY brings %s", list.Text, name, b.place(name, at)),
				"bring both files, into the same folders as in the project")
		}
	}
	for _, m := range itself.FindAllSubmatch(src, -1) {
		if at := b.place(string(m[1]), folder); b.missing(at, ofProject...) {
			return b.v.AtWord(list, fmt.Sprintf("%s installs the project in %s, and no COPY brings it there", list.Text, at),
				"put the COPY of the project above this step, or take the line out of the list")
		}
	}
	return rule.Finding{}
}

// folderOfProject matches operands of pip that are folders.
var folderOfProject = lazyregexp.New(`^\.{1,2}(/[\w-]+)*/?$`)

// installsProject is about the operands of pip install and uv pip install that are folders.
func (b *broughtFiles) installsProject(words []shell.Word, cmd *shell.Command, folder string) rule.Finding {
	for _, w := range words {
		name, _, _ := strings.Cut(w.Text, "[")
		if !w.Literal || !folderOfProject.MatchString(name) {
			continue
		}
		at := b.place(name, folder)
		if b.missing(at, ofProject...) {
			return b.v.AtWord(cmd.Words[0], fmt.Sprintf("%s has no project yet: no COPY above brings pyproject.toml or setup.py there", at),
				"put the COPY of the project above this step")
		}
		return b.partsOfProject(cmd, at)
	}
	return rule.Finding{}
}

var (
	readmeOf  = lazyregexp.New(`(?m)^readme\s*=\s*(?:\{\s*file\s*=\s*)?["']([^"']+)["']`)
	nameOf    = lazyregexp.New(`(?m)^name\s*=\s*["']([^"']+)["']`)
	strictly  = lazyregexp.New(`build-backend\s*=\s*["'](hatchling|poetry|flit_core)`)
	packageOf = lazyregexp.New(`(?m)^\[tool\.(hatch\.build|poetry\.packages|flit\.module)|^(packages|package-mode|include)\s*=|only-include`)
)

// partsOfProject is about the files that a project's own build wants, where it wants them for sure: the readme, and the sources.
func (b *broughtFiles) partsOfProject(cmd *shell.Command, folder string) rule.Finding {
	from, _ := b.find(path.Join(folder, "pyproject.toml"))
	if from == "" {
		return rule.Finding{}
	}
	src := b.read(from)
	if !strictly.Match(src) {
		return rule.Finding{}
	}
	of := path.Dir(from)
	lost := func(name string) bool {
		return b.missing(folder, name) && b.v.Tree.Kind(path.Join(of, name)) != devcontainer.Nothing
	}
	if m := readmeOf.FindSubmatch(src); m != nil && lost(string(m[1])) {
		return warned(b.v.AtCommand(cmd, fmt.Sprintf("%s installs the project, whose pyproject.toml names %s, and no COPY above brings that",
			shownCommand(cmd), m[1]), b.hintParts(cmd)))
	}
	m := nameOf.FindSubmatch(src)
	if m == nil || packageOf.Match(src) {
		return rule.Finding{}
	}
	name := strings.NewReplacer("-", "_", ".", "_").Replace(strings.ToLower(string(m[1])))
	for _, sources := range []string{name, "src/" + name, name + ".py"} {
		if lost(sources) && b.missing(folder, name, "src/"+name, name+".py") {
			return warned(b.v.AtCommand(cmd, fmt.Sprintf("%s installs the project, and no COPY above brings its sources %s", shownCommand(cmd),
				sources), b.hintParts(cmd)))
		}
	}
	return rule.Finding{}
}

func (b *broughtFiles) hintParts(cmd *shell.Command) string {
	switch {
	case cmd.Is("poetry"):
		return "add --no-root, which installs the dependencies alone"
	case cmd.Is("uv") && len(cmd.Operands()) > 0 && cmd.Operands()[0].Text == "sync":
		return "add --no-install-project, which installs the dependencies alone"
	}
	return "put the COPY of the project above this step"
}

func shownCommand(cmd *shell.Command) string {
	if words := cmd.Operands(); len(words) > 0 {
		return cmd.Name() + " " + words[0].Text
	}
	return cmd.Name()
}

func poetryReads(b *broughtFiles, cmd *shell.Command, folder string) rule.Finding {
	words := cmd.Operands()
	if len(words) == 0 || words[0].Text != "install" || hasFlag(cmd, "-C", "--directory", "--project") {
		return rule.Finding{}
	}
	if f := b.notBrought(cmd.Words[0], folder, "pyproject.toml"); f.Message != "" || hasFlag(cmd, "--no-root", "--no-directory") {
		return f
	}
	return b.partsOfProject(cmd, folder)
}

func uvReads(b *broughtFiles, cmd *shell.Command, folder string) rule.Finding {
	words := cmd.Operands()
	if len(words) == 0 || hasFlag(cmd, "--project", "--directory", "--package") {
		return rule.Finding{}
	}
	if len(words) > 2 && words[0].Text == "pip" && words[1].Text == "install" {
		return b.installsProject(words[2:], cmd, folder)
	}
	if words[0].Text != "sync" {
		return rule.Finding{}
	}
	if f := b.notBrought(cmd.Words[0], folder, "pyproject.toml"); f.Message != "" {
		return f
	}
	if hasFlag(cmd, "--frozen", "--locked") && b.missing(folder, "uv.lock") {
		return warned(b.v.AtCommand(cmd, "uv sync takes no other versions than those of uv.lock, and no COPY above brings that",
			"bring it, too"))
	}
	if hasFlag(cmd, "--no-install-project", "--no-install-workspace") || b.variables["UV_NO_INSTALL_PROJECT"] != "" {
		return rule.Finding{}
	}
	return b.partsOfProject(cmd, folder)
}

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

func dotnetReads(b *broughtFiles, cmd *shell.Command, folder string) rule.Finding {
	words := cmd.Operands()
	if len(words) != 1 || !slices.Contains([]string{"restore", "build", "publish"}, words[0].Text) || len(cmd.Args()) > 1 {
		return rule.Finding{}
	}
	if !b.missing(folder, "*.csproj", "*.fsproj", "*.vbproj", "*.sln", "*.slnx", "*.slnf", "*.proj") {
		return rule.Finding{}
	}
	return warned(b.v.AtCommand(cmd, fmt.Sprintf("%s has no project and no solution yet: no COPY above brings one there", folder),
		"put the COPY of the project above this step"))
}

func condaReads(b *broughtFiles, cmd *shell.Command, folder string) rule.Finding {
	list, ok := cmd.Value("-f", "--file")
	if !ok || !list.Literal || strings.Contains(list.Text, "://") {
		return rule.Finding{}
	}
	b.bare = b.bare || folder != "/" && !path.IsAbs(list.Text) // the image has no such file in a folder of the project's
	return warned(b.notBrought(list, folder, list.Text))
}

func makeReads(b *broughtFiles, cmd *shell.Command, folder string) rule.Finding {
	if hasFlag(cmd, "-C", "-f", "--directory", "--file") || slices.ContainsFunc(cmd.Args(), func(w shell.Word) bool { return !w.Literal }) {
		return rule.Finding{}
	}
	return b.notBrought(cmd.Words[0], folder, "Makefile", "makefile", "GNUmakefile")
}

// wrapperReads is about the scripts that projects of Java have of Maven and Gradle, and the files that these read.
func wrapperReads(b *broughtFiles, cmd *shell.Command, folder string) rule.Finding {
	at := path.Dir(b.place(cmd.Words[0].Text, folder))
	name := map[string]string{"mvnw": ".mvn/wrapper/maven-wrapper.properties", "gradlew": "gradle/wrapper/gradle-wrapper.jar"}[cmd.Name()]
	from, _ := b.find(path.Join(at, cmd.Name()))
	if from == "" {
		return b.notBrought(cmd.Words[0], at, cmd.Name())
	}
	if b.v.Tree.Kind(path.Join(path.Dir(from), name)) == devcontainer.Nothing || !b.missing(at, name) {
		return rule.Finding{}
	}
	return warned(b.v.AtCommand(cmd, fmt.Sprintf("%s reads %s, and no COPY above brings it", cmd.Words[0].Text, b.place(name, at)),
		fmt.Sprintf("bring the folder %s, too", strings.Split(name, "/")[0])))
}

// copyReads is about files that a step takes from where only a COPY could have put them.
func copyReads(b *broughtFiles, cmd *shell.Command, folder string) rule.Finding {
	words := cmd.Operands()
	if cmd.Is("chmod") && len(words) > 1 {
		words = words[1:]
	} else if len(words) > 1 {
		words = words[:len(words)-1]
	}
	if hasFlag(cmd, "-t", "-T", "--reference") {
		return rule.Finding{}
	}
	if cmd.Is("cp") && !hasFlag(cmd, "-r", "-R", "-a", "--recursive", "--archive") && len(words) == 1 && words[0].Literal {
		from, _ := b.find(b.place(words[0].Text, folder))
		if from != "" && b.v.Tree.Kind(from) == devcontainer.Folder {
			return b.v.AtWord(words[0], fmt.Sprintf("%s is a folder, which cp leaves out without -r", words[0].Text), "write cp -r")
		}
	}
	for _, w := range words {
		ofProject := !path.IsAbs(w.Text) || folder != "/" && within(path.Clean(w.Text), folder) || path.Dir(path.Clean(w.Text)) == "/"
		if !w.Literal || !ofProject || !strings.Contains(path.Base(w.Text), ".") || strings.HasPrefix(path.Base(w.Text), ".") {
			continue
		}
		if f := b.notBrought(w, folder, w.Text); f.Message != "" {
			return f
		}
	}
	return rule.Finding{}
}
