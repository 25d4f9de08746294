package lint

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/devcontainer/baseimage"
	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// programs are those that a container has at one point of its build: what its image lacks, and what came since.
type programs struct {
	image   string
	known   baseimage.Image
	brought map[string]bool
	asked   map[string]bool          // scripts of hooks that were looked at
	any     bool                     // some step may have brought any program
	unknown bool                     // so may packages, but for those programs that one package alone has
	vendor  bool                     // its packages of nodejs are those of nodesource.com, which have npm
	folder  string                   // the WORKDIR
	unsure  bool                     // what came is known by a list or a table alone
	read    func(name string) string // the text of a file of the project, "" when it is not there; nil = none is known
	hooks   bool                     // the commands of hooks are looked at, and Features are installed
	usual   func() bool              // no word of the step at hand tells a package manager of another source; nil = not known
}

// programsOf begins with an image, of which nothing may be known.
func programsOf(image string) *programs {
	known, ok := baseimage.Of(image)
	if !ok {
		image = ""
	}
	return &programs{image: image, known: known, brought: map[string]bool{}, asked: map[string]bool{}, folder: "/"}
}

func (p *programs) lacks(name string) bool {
	may := p.any || p.unknown && !slices.Contains(ofShadow, name)
	return p.known.Lacks(name) && !p.brought[name] && (!may || baseimage.IsManager(name))
}

// ofShadow are programs that the package shadow of Alpine alone has. The images of other families have them.
var ofShadow = []string{"useradd", "usermod", "groupadd"}

// mayNeedShadow matches packages that may depend on it.
var mayNeedShadow = lazyregexp.New(`shadow|podman|buildah|rootless|box|lxc|lxd|incus|dm$|elogind|apptainer|desktop|gnome|plasma`)

// quietPrograms bring no program that is judged, but what their words name.
var quietPrograms = append([]string{"npm", "yarn", "pnpm", "pip", "pip3", "git", "gpg", "apt-mark", "apt-cache", "sha256sum",
	"sha512sum", "echo",
	"chsh", "adduser", "addgroup", "passwd", "chpasswd", "locale-gen", "update-locale", "ls", "id", "whoami", "pwd", "find", "grep", "cut",
	"node", "head", "tail", "uname", "arch", "sort", "tr", "sleep", "env", "exec", "sudo", "corepack", "which", "type", "command",
	"dpkg-reconfigure",
	"debconf-set-selections", "false", "exit", ":", "[[", "unset", "umask", "getent", "usermod", "chpasswd", "date", "basename", "dirname",
	"mktemp",
	"truncate", "userdel", "groupdel", "deluser", "su"},
	plainPrograms...)

// run takes note of what a command may bring to an image that lacks anything.
func (p *programs) run(cmd *shell.Command) {
	if !p.known.LacksAny() {
		return
	}
	for _, words := range [][]shell.Word{cmd.Args(), cmd.Files} {
		for _, w := range words {
			p.any = p.any || (p.usual == nil || !p.usual()) && otherSources(w.Text)
			name, _, _ := strings.Cut(path.Base(w.Text), "=")
			if at := strings.IndexByte(name, '@'); at > 0 { // pnpm@9
				name = name[:at]
			}
			option := strings.HasPrefix(name, "-")
			if !option && (!p.any || baseimage.IsManager(name)) { // nothing asks for others
				p.brought[name] = true
			}
		}
	}
	switch packages, installs := installed(cmd); {
	case installs:
		for _, w := range packages {
			p.install(w)
		}
	case aptUpdate(cmd), cmd.Is("apt-get", "apt", "apk", "yum", "dnf") && len(packages) == 0:
	case cmd.Is("pip", "pip3"):
		p.pip(cmd)
	case cmd.Is("corepack"):
		p.brought["pnpm"], p.brought["yarn"] = true, true
	case cmd.Is("curl", "wget"): // a file, or what a shell makes of it
	case cmd.Is(shell.Shells...) && fromNodeSource(cmd):
		p.vendor = true
	case cmd.Is(shell.Shells...):
		_, inline := cmd.Flag("-c")
		p.any = p.any || !inline
	case !p.any && !cmd.Is(quietPrograms...):
		p.any = true
	}
}

// pip takes note of what a command of pip's brings: the packages that it names, or any of a list or a project.
func (p *programs) pip(cmd *shell.Command) {
	_, listed := cmd.Flag("-e", "--editable", "--group")
	if hasFlag(cmd, "-r", "--requirement") {
		listed = listed || !p.bringsList(cmd)
	}
	for _, w := range cmd.Operands() {
		if w.Text == packageList(cmd) {
			continue
		}
		name := strings.FieldsFunc(w.Text+"=", func(c rune) bool { return strings.ContainsRune("[<>=~!;@ ", c) })
		listed = listed || !w.Literal && !strings.Contains(w.Text, "[") || len(name) == 0 || strings.ContainsAny(name[0], "./$")
		if len(name) > 0 {
			p.brought[name[0]] = true
		}
	}
	for _, name := range []string{"poetry", "uv", "pipenv", "pre-commit", "aws", "az"} {
		p.brought[name] = p.brought[name] || listed
	}
}

// bringsList takes note of the packages in a list of the project that pip installs; ok is false when they are not known.
func (p *programs) bringsList(cmd *shell.Command) (ok bool) {
	name := packageList(cmd)
	if name == "" || p.read == nil {
		return false
	}
	text := p.read(name)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "-") || strings.Contains(line, "/") {
			return false
		}
		words := strings.FieldsFunc(line+" ", func(c rune) bool { return strings.ContainsRune("[<>=~!;@ #", c) })
		if len(words) > 0 {
			p.brought[strings.ToLower(words[0])] = true
		}
	}
	p.unsure = true // a package may need another one
	return text != ""
}

// installed returns the packages that a command of a package manager's installs.
func installed(cmd *shell.Command) (packages []shell.Word, ok bool) {
	if packages, ok = aptInstall(cmd); ok {
		return packages, true
	}
	if rpmInstall(cmd) {
		return cmd.Operands()[1:], true
	}
	if !cmd.Is("apk") {
		return nil, false
	}
	words := cmd.Operands()
	if len(words) == 0 || words[0].Text != "add" {
		return nil, false
	}
	return words[1:], true
}

// fromNodeSource reports whether a shell gets the script that only adds a source of packages.
func fromNodeSource(cmd *shell.Command) bool {
	return slices.ContainsFunc(cmd.From, func(from *shell.Command) bool {
		return slices.ContainsFunc(from.Args(), func(w shell.Word) bool { return strings.Contains(w.Text, ".nodesource.com/setup") })
	})
}

func (p *programs) install(w shell.Word) {
	const ends = "=~<>:@"
	name := strings.TrimLeft(w.Text, ends)
	if end := strings.IndexAny(name, ends); end >= 0 {
		name = name[:end]
	}
	if !w.Literal || name == "" {
		p.any = true
		return
	}
	brings, known := baseimage.Brings(p.known.Family, name)
	if p.vendor && name == "nodejs" {
		brings = []string{"node", "npm", "npx", "corepack"}
	}
	for _, program := range brings {
		p.brought[program] = true
	}
	p.unknown = p.unknown || !known && !strings.HasPrefix(name, ".")
	p.any = p.any || !known && mayNeedShadow.MatchString(name)
}

// step takes note of what an instruction brings, and calls visit for each command of a RUN before that.
func (p *programs) step(i *dockerfile.Instruction, visit func(*shell.Command)) {
	switch c := i.Command.(type) {
	case *instructions.CopyCommand:
		p.any = p.any || c.From != "" || strings.Contains(placeFrom(p.folder, i, c.DestPath), "bin") || placeFrom(p.folder, i, c.DestPath) == "/"
		for _, name := range append(c.SourcePaths, c.DestPath) {
			p.brought[path.Base(name)] = true
		}
	case *instructions.WorkdirCommand:
		p.folder = workdirAfter(p.folder, i)
	case *instructions.AddCommand:
		p.any = true
	case *instructions.EnvCommand:
		p.any = p.any || slices.ContainsFunc(c.Env, func(kv instructions.KeyValuePair) bool { return kv.Key == "PATH" })
	case *instructions.RunCommand:
		if i.Unread || slices.ContainsFunc(instructions.GetMounts(c),
			func(m *instructions.Mount) bool { return m.Type == "bind" }) {
			p.any = true
		}
		p.usual = sync.OnceValue(func() bool { return !otherSources(i.Source()) })
		for _, cmd := range i.Commands {
			visit(cmd)
			p.run(cmd)
		}
		p.usual = nil
	}
}

// inherited is what a stage begins with that is made from another.
func (p *programs) inherited() *programs {
	out := &programs{brought: map[string]bool{}, asked: map[string]bool{}, folder: "/"}
	if p != nil {
		out.image, out.known, out.any, out.unknown, out.folder, out.vendor = p.image, p.known, p.any, p.unknown, p.folder, p.vendor
		for name := range p.brought {
			out.brought[name] = true
		}
	}
	return out
}

// ofFeatures are the programs of ofTheirOwn and of languages that official Features bring; others that are not named bring none of them
// (devcontainers/features, 2026-07-14).
var ofFeatures = map[string]string{"node": "node npm npx yarn pnpm", "python": "python python3 pip pip3 pipx pipenv", "go": "go",
	"rust": "cargo rustc rustup", "java": "java javac mvn gradle", "php": "php composer", "ruby": "ruby gem bundle", "dotnet": "dotnet",
	"terraform": "terraform", "kubectl-helm-minikube": "kubectl helm", "aws-cli": "aws", "azure-cli": "az", "github-cli": "gh",
	"git-lfs": "git-lfs git", "git": "git", "conda": "conda mamba python python3 pip pip3", "docker-in-docker": "docker docker-compose",
	"docker-outside-of-docker": "docker docker-compose", "sshd": "", "desktop-lite": "", "common-utils": "", "hugo": "", "powershell": "",
	"oryx": "dotnet python python3 pip pip3 node npm", "anaconda": "conda mamba python python3 pip pip3"}

// askedOfFeatures are programs that no package brings on the way to another.
var askedOfFeatures = strings.Fields("poetry uv pipenv pre-commit terraform kubectl helm aws az gcloud gh just bun deno conda mamba " +
	"dotnet composer cargo gradle mvn bundle")

// broughtByFeatures takes note of what the Features bring, and reports whether that may be any program.
func (p *programs) broughtByFeatures(v *rule.View) (any bool) {
	if !v.HasFeatures() {
		return false
	}
	list := v.Root.Member("features")
	for _, m := range list.Fields() {
		name, official := strings.CutPrefix(m.Name, officialNamespace+"/")
		name, _, _ = strings.Cut(name, ":")
		brings, known := ofFeatures[name]
		if !official || !known {
			return true
		}
		for program := range strings.FieldsSeq(brings + " " + strings.ReplaceAll(m.Value.Member("toolsToInstall").TextOr(""), ",", " ")) {
			p.brought[program] = true
		}
	}
	p.unsure = true
	for _, program := range p.known.MissingBut(askedOfFeatures) {
		p.brought[program] = true
	}
	return len(list.Fields()) == 0
}
