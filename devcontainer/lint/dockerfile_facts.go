package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/baseimage"
	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// The facts below are those of November 2026: of the images' own Dockerfiles, the documentation of the programs, and threads.

// ofEPEL are packages that Red Hat's rebuilds have in EPEL alone.
var ofEPEL = strings.Fields("htop ripgrep bat neovim ncdu the_silver_searcher fd-find ShellCheck shellcheck supervisor ccache byobu " +
	"screen cowsay figlet inotify-tools ansible p7zip p7zip-plugins pv jid lsd hub fzf tig mosh stow entr nload iftop bpytop btop exa eza " +
	"git-delta lnav fail2ban certbot")

var (
	rebuild     = lazyregexp.New(`^(rockylinux(/rockylinux)?|almalinux(/\d+-base)?|oraclelinux|quay\.io/centos/centos):(stream)?(8|9|10)`)
	withoutEPEL = lazyregexp.New(`^(fedora(:|$)|amazonlinux:2023)`)
	minimalCut  = lazyregexp.New(`^(rockylinux|almalinux):9|^amazonlinux:(2023|latest)$|^amazonlinux$|/ubi9(/ubi|-init)?(:|$)`)
)

// rpmRefuses is about packages and repositories that one of Red Hat's relatives does not have.
func rpmRefuses(c *atStep) refusal {
	line := joinedWords(c.Command)
	m := rebuild.FindStringSubmatch(c.name)
	if m != nil && strings.Contains(line, "--set-enabled powertools") && m[4] != "8" {
		return refusal{message: fmt.Sprintf("%s has no repository powertools", c.name), hint: "it is called crb since release 9", warn: true}
	}
	if m != nil && strings.Contains(line, "--set-enabled crb") && m[4] == "8" {
		return refusal{message: fmt.Sprintf("%s has no repository crb", c.name), hint: "it is called powertools in release 8", warn: true}
	}
	words := c.Operands()
	if len(words) < 2 || words[0].Text != "install" {
		return refusal{}
	}
	for _, w := range words[1:] {
		switch {
		case w.Text == "epel-release" && withoutEPEL.MatchString(c.name):
			return refusal{message: fmt.Sprintf("%s has no package epel-release: EPEL is for Red Hat Enterprise Linux and its rebuilds", c.name),
				hint: "leave it out", warn: true}
		case w.Text == "curl" && minimalCut.MatchString(c.name) && !strings.Contains(c.step.Source(), "allowerasing") &&
			!c.before("swap", "curl-minimal"):
			return refusal{message: fmt.Sprintf("curl conflicts with curl-minimal, which %s has", c.name),
				hint: "leave it out: curl-minimal has the program curl; or add --allowerasing", warn: true}
		case m != nil && slices.Contains(ofEPEL, w.Text) && !c.opaque() && !c.before("epel") && !strings.Contains(line, "epel"):
			return refusal{message: fmt.Sprintf("%s has %s only in EPEL, which is not set up", c.name, w.Text),
				hint: "write dnf install -y epel-release && in front", warn: true}
		}
	}
	return refusal{}
}

// peclRefuses is about extensions of PHP: how they are built, and that they are named somewhere.
func peclRefuses(c *atStep) refusal {
	words := c.Operands()
	if len(words) < 2 || words[0].Text != "install" || !c.official("php") {
		return refusal{}
	}
	if c.image.Family == baseimage.Alpine && !c.before("PHPIZE_DEPS", "autoconf", "install-php-extensions") && !c.opaque() {
		return refusal{message: fmt.Sprintf("%s has no autoconf and no compiler any more, which pecl calls", c.name),
			hint: "put apk add --no-cache $PHPIZE_DEPS && in front"}
	}
	name, _, _ := strings.Cut(words[1].Text, "-")
	text := c.v.DockerfileText()
	if !words[1].Literal || strings.Count(text, name) > 1 || loadsExtensions.MatchString(text) {
		return refusal{}
	}
	return refusal{message: fmt.Sprintf("pecl builds %s, and nothing lets PHP load it", name), warn: true,
		hint: fmt.Sprintf("add && docker-php-ext-enable %s", name)}
}

// loadsExtensions matches what may tell PHP which extensions it loads.
var loadsExtensions = lazyregexp.New(`docker-php-ext-enable|extension=|\.ini|conf\.d`)

// pnpmRefuses is about a global installation, for which pnpm wants to be told the folder.
func pnpmRefuses(c *atStep) refusal {
	line := joinedWords(c.Command)
	global := hasFlag(c.Command, "-g", "--global") && (strings.HasPrefix(line, "pnpm add") || strings.HasPrefix(line, "pnpm i"))
	told := c.before("PNPM_HOME", "pnpm setup", "global-bin-dir", "npmrc", "global-dir") || strings.Contains(line, "-dir")
	if global && c.image.Official() && !told && !c.opaque() {
		return refusal{message: "pnpm installs nothing for all before it has a folder for that (ERR_PNPM_NO_GLOBAL_BIN_DIR)",
			hint: "write ENV PNPM_HOME=/pnpm and ENV PATH=$PNPM_HOME:$PATH above; or npm install -g"}
	}
	return endlessStep(c)
}

// cgoRefuses is about a compiler of C, which Go calls for some packages.
func cgoRefuses(c *atStep) refusal {
	verb := slices.Contains([]string{"build", "install", "test"}, c.verb())
	set := c.stage.Env["CGO_ENABLED"] == "1" || c.before("CGO_ENABLED=1")
	ofAlpine := c.official("golang") && c.image.Family == baseimage.Alpine
	if verb && set && ofAlpine && !c.opaque() && !c.before("gcc", "build-base", "clang", "alpine-sdk", "zig") {
		return refusal{message: fmt.Sprintf("CGO_ENABLED=1 wants a compiler of C, and %s has none", c.name),
			hint: "put apk add --no-cache gcc musl-dev above, or leave CGO_ENABLED out", warn: true}
	}
	return goRefuses(c)
}

// gitRefuses is about keys of hosts, about which git asks.
func gitRefuses(c *atStep) refusal {
	at := slices.IndexFunc(c.Operands(), func(w shell.Word) bool { return bySSH.MatchString(w.Text) })
	known := c.before("ssh-keyscan", "StrictHostKeyChecking", "known_hosts", "GIT_SSH", "insteadOf", ".ssh", "ssh_config")
	if c.verb() == "clone" && at >= 0 && !known && !strings.Contains(c.step.Source(), "known_hosts") {
		return refusal{message: "git asks whether the key of this host is right, and nobody answers (Host key verification failed)",
			hint: "clone by https; or let ssh-keyscan write ~/.ssh/known_hosts in front, and add --mount=type=ssh", warn: !c.image.Official()}
	}
	return certificatesMissing(c)
}

var bySSH = lazyregexp.New(`^(ssh://)?git@[\w.-]+[:/]`)

// sdkmanagerRefuses is about the licences of Android's packages: without an answer each is passed over.
func sdkmanagerRefuses(c *atStep) refusal {
	installs := slices.ContainsFunc(c.Args(), func(w shell.Word) bool { return strings.Contains(w.Text, ";") || w.Text == "platform-tools" })
	answered := len(c.From) > 0 || c.Input != "" || c.before("licenses", "yes |", "licences") || hasFlag(c.Command, "--licenses")
	if !installs || answered || c.opaque() {
		return refusal{}
	}
	return refusal{message: "sdkmanager asks about licences, and leaves out what nobody accepts",
		hint: "write yes | sdkmanager --licenses && in front", warn: true}
}

func dotnetRefuses(c *atStep) refusal {
	const images = "mcr.microsoft.com/dotnet/"
	runtime := strings.HasPrefix(c.name, images+"aspnet") || strings.HasPrefix(c.name, images+"runtime")
	if !runtime || !slices.Contains(strings.Fields("restore build new tool test publish run watch workload ef sln add"), c.verb()) ||
		c.before("dotnet-install", "dotnet-sdk", "--from") {
		return refusal{}
	}
	return refusal{message: fmt.Sprintf("%s has only the runtime, and dotnet %s belongs to the SDK", c.name, c.verb()), warn: true,
		hint: "take mcr.microsoft.com/dotnet/sdk, or do this in a stage of its own"}
}

// debs are packages of vendors that need others, which dpkg does not install.
var debs = lazyregexp.New(`(google-chrome|microsoft-edge|/code_|vscode|slack-desktop|zoom_|teams_|rstudio|discord)[\w./-]*\.deb$`)

func dpkgRefuses(c *atStep) refusal {
	at := slices.IndexFunc(c.Args(), func(w shell.Word) bool { return debs.MatchString(w.Text) })
	installs := at >= 0 && hasFlag(c.Command, "-i", "--install") && c.OnFailure == shell.Ends
	if !installs || !c.image.Official() || c.before(" lib", "\tlib") || strings.Contains(c.step.Source(), "-f install") {
		return refusal{}
	}
	return refusal{message: "dpkg installs no dependencies, and fails without them", warn: true,
		hint: fmt.Sprintf("write apt-get install -y ./%s in its place", path.Base(c.Args()[at].Text))}
}

// bundleRefuses is about gems of a lock that come as source, in an image without a compiler.
func bundleRefuses(c *atStep) refusal {
	if c.verb() != "install" || !c.official("ruby") || !c.image.Lacks("g++") || c.opaque() ||
		c.before("gcc", "build-essential", "build-base", "clang", "g++", "alpine-sdk", "--from", "--mount", "build-dep") {
		return endlessStep(c)
	}
	for _, line := range listedIn(c, "Gemfile.lock") {
		name, version, _ := strings.Cut(line.Text, " (")
		compiled := strings.Contains(version, "-linux") || strings.Contains(version, "-java")
		if !compiled && version != "" && slices.Contains(fromSource["gem"], name) && name != "rails" && name != "jekyll" {
			return refusal{message: fmt.Sprintf("%s of Gemfile.lock comes as source, and %s has no compiler", name, c.name),
				hint: "install build-essential and the libraries above, or take the image without slim or alpine", warn: true}
		}
	}
	return refusal{}
}

// installersAsRoot are installers that refuse root.
var installersAsRoot = map[string]string{"Homebrew/install": "Homebrew's installer", "linuxbrew/install": "Homebrew's installer"}

// scriptsRefuse is about what a shell runs as it comes from the network: who runs it, and what it wants to be there.
func scriptsRefuse(c *atStep) refusal {
	fetcher, ok := ranDownload(c.Command)
	if !ok {
		return refusal{}
	}
	root := rule.IsRoot(c.step.User) || c.step.User == "" && baseimage.StartsAs(c.name) == ""
	for _, w := range fetcher.Args() {
		for address, name := range installersAsRoot {
			if strings.Contains(w.Text, address) && root && c.User == "" && !c.before(".dockerenv", ".containerenv", "CI=") {
				return refusal{message: fmt.Sprintf("%s does not run as root", name), warn: true,
					hint: "write USER above it, with a user that may call sudo without a password"}
			}
		}
		single := strings.Contains(w.Text, "nixos.org/nix/install") && !strings.Contains(c.step.Source(), " --daemon")
		if single && root && c.User == "" && !c.before("nixbld", "build-users-group", "nix.conf") {
			return refusal{message: "Nix's installer for one user wants the group nixbld when root runs it", warn: true,
				hint: "write it as another user, or mkdir -p /etc/nix && echo 'build-users-group =' > /etc/nix/nix.conf && in front"}
		}
		zsh := strings.Contains(w.Text, "ohmyzsh/ohmyzsh") || strings.Contains(w.Text, "install.ohmyz.sh")
		if zsh && c.image.Lacks("zsh") && c.image.Official() && !c.before(" zsh") && !c.opaque() {
			return refusal{message: fmt.Sprintf("Oh My Zsh wants zsh, and %s has none", c.name), hint: "install zsh above", warn: true}
		}
	}
	return refusal{}
}

// installsAfterFailure matches an installation that runs only when the update of the lists fails.
var installsAfterFailure = lazyregexp.New(`update(\s+-\w+)*\s*\|\|\s*\\?\s*(sudo\s+)?apt(-get)?\s[^|;&]*install`)

// stepsRefused reports what the text of a whole step or instruction says, and not one command.
func stepsRefused(v *rule.View) (out []rule.Finding) {
	for _, s := range neededStages(v) {
		image, _ := baseimage.Of(s.Base().Image)
		for n, i := range s.Instructions {
			switch c := i.Command.(type) {
			case *instructions.AddCommand:
				if f := archiveLeft(v, s, i, c, n); f.Message != "" {
					out = append(out, f)
				}
			case *instructions.HealthCheckCommand:
				if f := healthOf(v, s, i, c, image); f.Message != "" {
					out = append(out, f)
				}
			case *instructions.CopyCommand:
				if f := relativeToStage(v, i, c); f.Message != "" {
					out = append(out, f)
				}
				if n+1 < len(s.Instructions) {
					out = append(out, fileAsFolder(v, s, i, c, s.Instructions[n+1])...)
				}
			case *instructions.RunCommand:
				if strings.Contains(i.Source(), "||") {
					if m := installsAfterFailure.FindStringIndex(i.Source()); m != nil {
						out = append(out, warned(v.AtDockerfile(i.Start+m[0], i.Start+m[1],
							"this installs when the update fails, and not otherwise", "write && for ||")))
					}
				}
				if strings.Contains(i.Source(), "deb ") || strings.Contains(i.Source(), "deb\t") {
					out = append(out, sourcesOfOthers(v, s, i, image)...)
				}
			}
		}
	}
	return out
}

// archiveLeft is about an archive from the network, which ADD does not unpack.
func archiveLeft(v *rule.View, s *dockerfile.Stage, i *dockerfile.Instruction, c *instructions.AddCommand, n int) rule.Finding {
	if c.Unpack != nil || len(c.SourcePaths) != 1 || !remote.MatchString(i.Expand(c.SourcePaths[0])) {
		return rule.Finding{}
	}
	name := path.Base(i.Expand(c.SourcePaths[0]))
	if !archive.MatchString(name) && !strings.HasSuffix(name, ".zip") || strings.HasSuffix(i.Expand(c.DestPath), path.Ext(name)) {
		return rule.Finding{}
	}
	for _, later := range s.Instructions[n+1:] {
		src := later.Source()
		for _, text := range []string{"tar", "unzip", "gunzip", "gzip", "7z", "python", name, "ls ", ".sh", "xz", "zstd"} {
			if strings.Contains(src, text) && later.Name == "RUN" || later.Unread {
				return rule.Finding{}
			}
		}
	}
	start, end := i.Find(c.SourcePaths[0])
	return warned(v.AtDockerfile(start, end, "ADD does not unpack an archive that it fetches",
		"add --unpack, or fetch and unpack it in one step: RUN curl … | tar -xz"))
}

// healthOf is about the program of a health check.
func healthOf(v *rule.View, s *dockerfile.Stage, i *dockerfile.Instruction, c *instructions.HealthCheckCommand,
	image baseimage.Image) rule.Finding {
	if c.Health == nil || len(c.Health.Test) < 2 || !image.LacksAny() || !s.Base().Known || s != v.Build.Final {
		return rule.Finding{}
	}
	words := strings.Fields(c.Health.Test[1])
	if len(words) == 0 || !image.Lacks(words[0]) {
		return rule.Finding{}
	}
	p := programsOf(s.Base().Image)
	for _, step := range s.History() {
		p.step(step, func(*shell.Command) {})
	}
	if !p.lacks(words[0]) {
		return rule.Finding{}
	}
	start, end := i.Find(words[0])
	return warned(v.AtDockerfile(start, end, fmt.Sprintf("%s has no %s, and nothing installs it: the check never succeeds", s.Base().Image,
		words[0]), "install it, or ask with a program that the image has"))
}

// rootFolders are the folders of every image.
var rootFolders = strings.Fields("bin boot dev etc home lib lib64 media mnt opt proc root run sbin srv sys tmp usr var go . ..")

// relativeToStage is about a path of COPY --from, which begins at the root of the other stage, and not in its WORKDIR.
func relativeToStage(v *rule.View, i *dockerfile.Instruction, c *instructions.CopyCommand) rule.Finding {
	from := v.Build.File.StageOf(i, c.From)
	if c.From == "" || from == nil {
		return rule.Finding{}
	}
	folder := "/"
	for _, step := range from.History() {
		folder = workdirAfter(folder, step)
	}
	image, _ := baseimage.Of(from.Base().Image)
	for _, written := range c.SourcePaths {
		name := i.Expand(written)
		first, _, _ := strings.Cut(path.Clean(name), "/")
		plain := !path.IsAbs(name) && !strings.ContainsAny(name, "$*?[") && folder != "/"
		if !plain || slices.Contains(rootFolders, first) || first == strings.Split(folder, "/")[1] {
			continue
		}
		if slices.ContainsFunc(from.History(), func(step *dockerfile.Instruction) bool {
			return strings.Contains(step.Source(), "/"+first) && !strings.Contains(step.Source(), "./"+first) || step.Unread
		}) {
			continue
		}
		start, end := i.Find(written)
		f := v.AtDockerfile(start, end, fmt.Sprintf("%s is /%[1]s of the stage: its WORKDIR does not count", path.Clean(name)),
			fmt.Sprintf("write %s", path.Join(folder, name)))
		if !image.Official() || !from.Base().Known {
			f.Severity = diag.SeverityWarning
		}
		return f
	}
	return rule.Finding{}
}

var (
	signedBy   = lazyregexp.New(`signed-by=(/[\w./-]+)`)
	vendorRepo = lazyregexp.New(`(download\.docker\.com/linux/(debian|ubuntu)|apt\.postgresql\.org/pub/repos/apt/?|` +
		`apt\.releases\.hashicorp\.com|packages\.cloud\.google\.com/apt|repo\.mongodb\.org/apt/(debian|ubuntu))\s+(\w+)`)
	codenames = map[string]string{"stretch": "9", "buster": "10", "bullseye": "11", "bookworm": "12", "trixie": "13", "xenial": "16.04",
		"bionic": "18.04", "focal": "20.04", "jammy": "22.04", "noble": "24.04"}
)

// sourcesOfOthers reports sources of packages whose key nothing brings, and those of another system or release.
func sourcesOfOthers(v *rule.View, s *dockerfile.Stage, i *dockerfile.Instruction, image baseimage.Image) (out []rule.Finding) {
	if m := signedBy.FindStringSubmatch(i.Source()); m != nil && image.Official() {
		key := m[1]
		mentions, opaque := 0, false
		for _, step := range s.History() {
			mentions += strings.Count(step.Source(), path.Base(key))
			copies := step.Name == "COPY" && strings.Contains(step.Source(), path.Dir(key)) || strings.Contains(step.Source(), "--from")
			opaque = opaque || copies || step.Unread || step.Name == "ADD" || strings.Contains(step.Source(), path.Dir(key)+"/*")
		}
		ofSystem := strings.Contains(key, "archive-keyring") && (strings.Contains(key, "debian") || strings.Contains(key, "ubuntu"))
		if mentions == strings.Count(v.DockerfileText(), "signed-by="+key) && !opaque && !ofSystem {
			start, end := i.Find(key)
			f := v.AtDockerfile(start, end, fmt.Sprintf("nothing brings the key %s, so apt takes nothing from this source", key),
				"fetch it in front: curl -fsSL ADDRESS -o "+key)
			f.Severity = diag.SeverityWarning // the image is built, until a step asks apt for lists
			out = append(out, f)
		}
	}
	m := vendorRepo.FindStringSubmatch(i.Source())
	if m == nil || image.Release == "" || !image.Official() && !image.ForDevContainers() {
		return out
	}
	system := "debian"
	if image.Ubuntu {
		system = "ubuntu"
	}
	named, release := m[2]+m[3], codenames[m[4]]
	if (named == "" || named == system) && (release == "" || release == image.Release) {
		return out
	}
	start, end := i.Find(m[0])
	f := v.AtDockerfile(start, end, fmt.Sprintf("this source is for another system than %s, whose packages need other versions",
		s.Base().Image), "write $(. /etc/os-release && echo \"$VERSION_CODENAME\") for the release, and the right name of the system")
	return append(out, warned(f))
}

// ignoreElsewhere reports a .dockerignore next to the Dockerfile, which the builder does not read: it reads that of the context.
func ignoreElsewhere(v *rule.View) (out []rule.Finding) {
	context, known := buildContext(v)
	if !known || v.Built == "" {
		return nil
	}
	next := path.Join(path.Dir(v.Built), ".dockerignore")
	if path.Dir(v.Built) == context || v.Tree.Kind(next) != devcontainer.File {
		return nil
	}
	if name, _ := dockerignore(v, context); name != "" {
		return nil
	}
	place := firstLineOf(v, next)
	if place.Doc == nil {
		return nil
	}
	return []rule.Finding{{Place: place, Severity: diag.SeverityWarning,
		Message: fmt.Sprintf("the builder does not read this file: the context is the folder %s", shownFolder(v, context)),
		Hint:    "move it there, or call it " + path.Base(v.Built) + ".dockerignore"}}
}

// namesOfStages are names of stages that are no images of Docker's.
var namesOfStages = strings.Fields("base build builder dev devcontainer development deps dependencies prod production runtime runner " +
	"test tests tools common final release setup")

// stageBelow returns the stage of the same file that FROM probably means and that stands below it, or nil: the builder takes only
// those above, and looks for an image of that name.
func stageBelow(v *rule.View, s *dockerfile.Stage) *dockerfile.Stage {
	c, ok := s.From.Command.(*instructions.Stage)
	if !ok || s.Parent != nil {
		return nil
	}
	later := rule.Once(v, "stages by name", func(v *rule.View) map[string]*dockerfile.Stage {
		all := map[string]*dockerfile.Stage{}
		for _, s := range v.Build.File.Stages {
			if s.Name != "" {
				all[s.Name] = s
			}
		}
		return all
	})[strings.ToLower(c.BaseName)]
	if later == nil || later.Index <= s.Index || v.BuildContext(c.BaseName) || !slices.Contains(v.Build.Needed, s) {
		return nil
	}
	if _, image := baseimage.Of(c.BaseName); image || later.Base() == s {
		return nil
	}
	return later
}

// stageMeant is the hint about a name that no stage has.
func stageMeant(best string, names []string) string {
	switch {
	case best != "":
		return fmt.Sprintf("did you mean %q?", best)
	case len(names) == 0:
		return "no stage above has a name: FROM … AS NAME gives it one"
	}
	return "the stages above are " + strings.Join(names, ", ")
}

// stagesMisspelt reports an image whose name is nearly that of a stage above, or that of one below.
func stagesMisspelt(v *rule.View) (out []rule.Finding) {
	if v.Build == nil {
		return nil
	}
	var names []string
	for _, s := range v.Build.File.Stages {
		c, ok := s.From.Command.(*instructions.Stage)
		if later := stageBelow(v, s); later != nil {
			start, end := s.From.Find(c.BaseName)
			line, _ := v.Build.File.Doc.Position(later.From.Start)
			f := v.AtDockerfile(start, end, fmt.Sprintf("the stage %s comes only in line %d, so the builder looks for an image of that name",
				c.BaseName, line), "put the stage above this one")
			if !slices.Contains(namesOfStages, strings.ToLower(c.BaseName)) {
				f.Severity = diag.SeverityWarning
			}
			out = append(out, f)
			continue
		}
		plain := ok && s.Parent == nil && s.Known && !strings.ContainsAny(c.BaseName, ":/.@$")
		if plain && len(names) > 0 {
			best := nearest(strings.ToLower(c.BaseName), names)
			meant := best != "" || slices.Contains(namesOfStages, strings.ToLower(c.BaseName))
			if _, known := baseimage.Of(c.BaseName); meant && !known && !v.BuildContext(c.BaseName) {
				start, end := s.From.Find(c.BaseName)
				f := v.AtDockerfile(start, end, fmt.Sprintf("no stage above is called %s, so the builder looks for an image of that name",
					c.BaseName), stageMeant(best, names))
				out = append(out, warned(f))
			}
		}
		if s.Name != "" {
			names = append(names, s.Name)
		}
	}
	return out
}
