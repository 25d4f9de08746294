package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/baseimage"
	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// interactive are functions of an interactive shell, with the words of which they are made: they come with a file
// that somebody must read, and are no programs.
var interactive = map[string][]string{"nvm": nil, "sdk": nil, "conda": {"activate", "deactivate"}, "mamba": {"activate", "deactivate"},
	"workon": nil}

// readsFiles matches texts that read such a file, or a shell that does so.
var readsFiles = lazyregexp.New(`(^|[\s;&|(])(\.|source)\s|\beval\b|\s-[a-z]*[il][a-z]*\b|--login|nvm\.sh|sdkman-init|BASH_ENV`)

// isFunction reports whether a command of a step is a function that nothing there defines.
func isFunction(cmd *shell.Command, i *dockerfile.Instruction) bool {
	if _, ok := interactive[cmd.Words[0].Text]; !ok {
		return false
	}
	text, _ := i.Script()
	login := strings.Contains(strings.Join(i.Shell, " "), " -l") || slices.ContainsFunc(i.Shell, readsFiles.MatchString)
	return !login && isUndefined(cmd, text)
}

// isUndefined reports whether a command is a function that nothing in its text defines.
func isUndefined(cmd *shell.Command, text string) bool {
	first, ok := interactive[cmd.Words[0].Text]
	if !ok || cmd.OnFailure == shell.Open {
		return false
	}
	words := cmd.Operands()
	called := first == nil || len(words) > 0 && slices.Contains(first, words[0].Text)
	return called && !readsFiles.MatchString(text)
}

// programsMissing reports programs that a step or a hook calls and that the container does not have.
func programsMissing(v *rule.View) (out []rule.Finding) {
	at := map[*dockerfile.Stage]*programs{}
	for _, s := range neededStages(v) {
		p := at[s.Parent].inherited()
		if s.Parent == nil {
			if image, known := s.Base().Image, s.Base().Known; known {
				p = programsOf(image)
			}
		}
		at[s] = p
		for _, i := range s.Instructions {
			if f := noShell(v, p, i); f.Message != "" {
				out = append(out, f)
				break
			}
			called := "" // and said
			p.step(i, func(cmd *shell.Command) {
				if isFunction(cmd, i) && s.Env["BASH_ENV"] == "" {
					if called == cmd.Name() {
						return
					}
					called = cmd.Name()
					out = append(out, functionCalled(v.AtCommand(cmd, "", ""), cmd, p.image != ""))
				} else if f := p.missing(cmd); f.Message != "" {
					f.Place = v.AtCommand(cmd, "", "").Place
					out = append(out, f)
				}
			})
		}
	}
	out = append(out, hookMeanings(v, noSystemd, notYetInPath)...)
	if v.Build != nil && v.Build.Final != nil {
		return append(append(out, placedElsewhere(v)...), missingInHooks(v, at[v.Build.Final])...)
	}
	return append(out, missingInHooks(v, programsOf(v.BaseImage()))...)
}

// missing is a finding without its place about a program that is not there, once; its message is "" when it may be.
func (p *programs) missing(cmd *shell.Command) rule.Finding {
	name := cmd.Words[0].Text
	if strings.HasPrefix(name, "/bin/") || strings.HasPrefix(name, "/usr/bin/") {
		name = path.Base(name)
	}
	if args := cmd.Args(); name == "git" && len(args) > 0 && args[0].Text == "lfs" {
		name = "git-lfs"
	}
	if name == "tar" {
		name = unpackedBy(cmd)
	}
	if cmd.OnFailure == shell.Open {
		return rule.Finding{}
	}
	older := p.known.Family == baseimage.Debian && p.known.Release != "" && p.known.Release != "13"
	if older && cmd.Is("adduser", "addgroup") && hasFlag(cmd, "-D", "-S") {
		f := rule.Finding{Message: fmt.Sprintf("%s of %s has no such options: they are those of BusyBox", name, p.image),
			Hint: "write useradd --create-home NAME or groupadd NAME"}
		if !p.known.Asked() {
			f.Severity = diag.SeverityWarning
		}
		return f
	}
	if name == "apt-key" && p.known.Release == "13" && (p.known.Official() || p.known.ForDevContainers()) && !p.brought[name] {
		p.brought[name] = true
		return rule.Finding{Message: fmt.Sprintf("%s has no apt-key: Debian has none since 13", p.image),
			Hint: "save the key in /etc/apt/keyrings, and name it in the source: [signed-by=/etc/apt/keyrings/NAME.asc]"}
	}
	if name == "apt-key" && p.image != "" && p.known.Asked() && (p.known.Release == "11" || p.known.Release == "12") {
		name = "gpg" // by which apt-key does its work; older images have it
	}
	if !p.lacks(name) {
		return rule.Finding{}
	}
	p.brought[name] = true // it is said
	hint := "install it in a step above"
	if p.hooks {
		hint = "install it in a Dockerfile"
	}
	switch {
	case baseimage.IsManager(name):
		hint = map[baseimage.Family]string{baseimage.Debian: "its packages are installed with apt-get",
			baseimage.Alpine: "its packages are installed with apk add",
			baseimage.RedHat: "its packages are installed with dnf"}[p.known.Family]
		if p.known.Family == baseimage.RedHat && p.known.Lacks("dnf") {
			hint = "its packages are installed with microdnf"
		}
	case name == "docker" && p.hooks:
		hint = "add the Feature ghcr.io/devcontainers/features/docker-in-docker"
	case featureOf[name] != "" && p.hooks && p.known.Family != baseimage.Alpine:
		hint = fmt.Sprintf("add the Feature ghcr.io/devcontainers/features/%s, or install it in a Dockerfile", featureOf[name])
	case name == "python":
		hint = "Debian and Ubuntu call it python3"
	case p.known.Family == baseimage.Alpine && slices.Contains(ofShadow, name):
		hint = "write adduser -D NAME or addgroup NAME; or install the package shadow"
	}
	f := rule.Finding{Message: fmt.Sprintf("%s has no %s, and nothing installs it", p.image, name), Hint: hint}
	if cmd.Is("tar") {
		f.Message = fmt.Sprintf("tar calls %s to unpack this, and %s has none", name, p.image)
		f.Hint = "install " + map[string]string{"xz": "xz-utils", "bzip2": "bzip2"}[name]
	}
	if baseimage.IsManager(name) {
		f.Message = fmt.Sprintf("%s has no %s", p.image, name)
	}
	ofRedHat := p.known.Lacks("dnf") && p.known.Family == baseimage.RedHat // microdnf is there
	if (!p.known.Asked() || p.unknown || p.unsure) && (!baseimage.IsManager(name) || ofRedHat) {
		f.Severity = diag.SeverityWarning
	}
	if cmd.OnFailure == shell.Unheard {
		f.Severity = diag.SeverityWarning
		f.Message += "; its caller goes on without it"
	}
	return f
}

// unpackedBy is the program that tar calls to unpack an archive, "tar" for none that is judged.
func unpackedBy(cmd *shell.Command) string {
	args := cmd.Args()
	if len(args) == 0 {
		return "tar"
	}
	group := strings.TrimPrefix(args[0].Text, "-")
	if strings.HasPrefix(group, "-") || strings.ContainsAny(group, "/.=") || !strings.Contains(group, "x") {
		group = ""
	}
	packed := func(ends ...string) bool {
		return group != "" && slices.ContainsFunc(args[1:], func(w shell.Word) bool {
			return slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(w.Text, end) })
		})
	}
	switch {
	case strings.Contains(group, "J"), packed(".tar.xz", ".txz"):
		return "xz"
	case strings.Contains(group, "j"), packed(".tar.bz2", ".tbz2", ".tbz"):
		return "bzip2"
	}
	return "tar"
}

// featureOf names the official Feature that brings a program.
var featureOf = map[string]string{"node": "node", "npm": "node", "npx": "node", "yarn": "node", "pnpm": "node", "pip": "python",
	"pip3": "python", "go": "go", "cargo": "rust", "rustc": "rust", "rustup": "rust", "java": "java", "php": "php", "ruby": "ruby",
	"gem": "ruby", "bundle": "ruby", "dotnet": "dotnet", "terraform": "terraform", "kubectl": "kubectl-helm-minikube",
	"helm": "kubectl-helm-minikube", "aws": "aws-cli", "az": "azure-cli", "gh": "github-cli", "git-lfs": "git-lfs", "conda": "conda"}

// noShell reports a RUN whose SHELL is not there.
func noShell(v *rule.View, p *programs, i *dockerfile.Instruction) rule.Finding {
	if i.Name != "RUN" || len(i.Shell) == 0 || !p.lacks(path.Base(i.Shell[0])) {
		return rule.Finding{}
	}
	set := i
	for _, earlier := range i.Stage.History() {
		if earlier.Name == "SHELL" && earlier.Start < i.Start {
			set = earlier
		}
	}
	f := v.AtDockerfile(set.Start, set.HeadEnd, fmt.Sprintf("%s has no %s, so no step below runs", p.image, path.Base(i.Shell[0])),
		"install it above, while /bin/sh runs the steps")
	if !p.known.Asked() {
		f.Severity = diag.SeverityWarning
	}
	return f
}

// functionCalled is the finding about such a function. Where nothing is known of the image it may have a program of
// that name; conda's own program says so itself.
func functionCalled(f rule.Finding, cmd *shell.Command, known bool) rule.Finding {
	name, shown := cmd.Words[0].Text, cmd.Words[0].Text
	if interactive[name] != nil {
		shown, known = name+" "+cmd.Operands()[0].Text, true
	}
	f.Message = fmt.Sprintf("%s is a function of an interactive shell, which this one is not", shown)
	f.Hint = map[string]string{"nvm": `read it first: . "$NVM_DIR/nvm.sh" && nvm …`,
		"conda":      "write conda run -n NAME …, or call the environment's programs by their path",
		"mamba":      "write mamba run -n NAME …, or call the environment's programs by their path",
		"micromamba": "write micromamba run -n NAME …, or call the environment's programs by their path",
		"sdk":        `read it first, with bash: bash -c '. "$SDKMAN_DIR/bin/sdkman-init.sh" && sdk …'`}[name]
	if cmd.OnFailure == shell.Unheard || !known {
		f.Severity = diag.SeverityWarning
	}
	return f
}

// missingInHooks reports the same of the commands that run in the container; a Feature may bring anything but another
// family's packages.
func missingInHooks(v *rule.View, p *programs) (out []rule.Finding) {
	if v.Kind() != devcontainer.ConfigFile || p == nil {
		return nil
	}
	out = append(shellsOfFeaturesMissing(v, p), programsOfInstalls(v, p)...)
	p.hooks = true
	p.any = p.any || p.broughtByFeatures(v)
	if folder, known := workspaceOnHost(v); known && v.Tree != nil {
		p.read = func(name string) string { return textIn(v, folder, name) }
	}
	for _, r := range v.Mounts() {
		p.brought[path.Base(r.Mount.Target)] = true
		p.any = p.any || strings.HasSuffix(r.Mount.Target, "/bin")
	}
	read := rule.Once(v, "scripts of hooks", scriptsOfHooks)
	eachHookText(v, func(property string, n *jsonc.Node) {
		if property == "initializeCommand" {
			return
		}
		said := false
		v.EachCommand(n, func(_ *jsonc.Node, cmd *shell.Command) {
			var f rule.Finding
			if n.Kind == jsonc.String && isUndefined(cmd, n.Text) {
				f = functionCalled(v.AtValue(n, "", ""), cmd, p.image != "")
			} else if f = p.missing(cmd); f.Message != "" {
				f = at(v, n, f)
			} else if f = p.interpreterMissing(v, cmd); f.Message != "" {
				f = at(v, n, f)
			} else if f = p.withoutGit(v, cmd); f.Message != "" {
				f = at(v, n, f)
			}
			if f.Message != "" && !said {
				said = !v.IsScript(n)
				out = append(out, f)
			}
			if name, _ := scriptOf(cmd); name == "" && !cmd.Is("make") || len(read[n]) == 0 { // what a script brings is known by its commands
				p.run(cmd)
			}
		})
	})
	return out
}

// interpreterMissing is the finding about a script of the project whose first line names a program that
// the container does not have; its message is "" when it may.
func (p *programs) interpreterMissing(v *rule.View, cmd *shell.Command) (f rule.Finding) {
	name, byPath := scriptOf(cmd)
	folder, known := workspaceOnHost(v)
	calls := byPath && name != "" && cmd.OnFailure != shell.Open
	if known && calls && v.Tree != nil && !p.asked[name] {
		p.asked[name] = true
		src, err := v.Tree.Read(path.Join(folder, name))
		program := dockerfile.Interpreter(src)
		if err != nil || program == "" || !p.lacks(program) {
			return f
		}
		f = rule.Finding{Place: firstLineOf(v, path.Join(folder, name)),
			Message: fmt.Sprintf("%s runs %s, and %s has none", program, name, p.image),
			Hint:    "install it, or begin the script with #!/bin/sh"}
		if !p.known.Asked() || cmd.OnFailure == shell.Unheard {
			f.Severity = diag.SeverityWarning
		}
	}
	return f
}

// shellsOfFeaturesMissing reports Features of the project whose install.sh is for bash, in a container that has none. No other kind
// of Feature is there that may bring it.
func shellsOfFeaturesMissing(v *rule.View, p *programs) (out []rule.Finding) {
	if !p.lacks("bash") {
		return nil
	}
	for _, m := range v.Root.Member("features").Fields() {
		full, _ := v.Path(path.Join(m.Name, "install.sh"))
		if !rights.IsLocal(m.Name) || v.Tree == nil || full == "" {
			return nil
		}
		src, err := v.Tree.Read(full)
		if err != nil || dockerfile.Interpreter(src) != "bash" {
			return nil
		}
		out = append(out, v.AtName(m, fmt.Sprintf("bash runs the install.sh of %s, and %s has none", m.Name, p.image),
			"begin it with #!/bin/sh, or take an image that has bash"))
	}
	return out
}
