package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/baseimage"
	"github.com/org/claude-sandbox/devcontainer/budget"
	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// atStep is a command of a step, with what stands in front of it.
type atStep struct {
	v       *rule.View
	name    string // of the image at the bottom
	image   baseimage.Image
	stage   *dockerfile.Stage
	step    *dockerfile.Instruction
	history []*dockerfile.Instruction // up to the step
	reading *budget.Budget            // of all commands
	*shell.Command
}

// before reports whether one of texts stands in front of the command, in its stage or below.
func (c *atStep) before(texts ...string) bool {
	has := func(src string) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(src, text) })
	}
	own := c.step.Source()
	return has(own[:min(max(c.Words[0].Start-c.step.Start, 0), len(own))]) ||
		slices.ContainsFunc(c.history, func(i *dockerfile.Instruction) bool { return has(i.Source()) })
}

// opaque reports whether something in front of the command may have done anything: a script, or text that nothing reads.
func (c *atStep) opaque() bool {
	return slices.ContainsFunc(append(c.history[:len(c.history):len(c.history)], c.step), func(i *dockerfile.Instruction) bool {
		return i.Unread || slices.ContainsFunc(i.Commands, func(cmd *shell.Command) bool {
			return cmd.Start < c.Start && (strings.Contains(cmd.Words[0].Text, "/") || cmd.Is(shell.Shells...) || cmd.Is("make", "ansible-playbook"))
		})
	})
}

// verb is the first operand.
func (c *atStep) verb() string {
	for _, w := range c.Args() {
		if !strings.HasPrefix(w.Text, "-") {
			return w.Text
		}
	}
	return ""
}

func (c *atStep) official(name string) bool {
	return c.image.Official() && (c.name == name || strings.HasPrefix(strings.TrimPrefix(strings.TrimPrefix(c.name, "docker.io/"), "library/"),
		name+":"))
}

// refusal is why a program refuses a command; "" when it may take it.
type refusal struct {
	message, hint string
	warn          bool
}

// refusing are programs, each with what says why it refuses a command.
var refusing = map[string]func(*atStep) refusal{
	"apt-get": aptRefuses, "apt": aptRefuses, "pip": listAsPackage, "pip3": listAsPackage, "apk": verbRefused,
	"mkdir": mkdirRefuses, "activate": activateRefuses, "uv": uvRefuses, "go": cgoRefuses,
	"snap": snapRefuses, "systemctl": systemdRefuses, "playwright": playwrightRefuses,
	"npx": playwrightRefuses, "adduser": adduserRefuses, "useradd": groupsRefused, "usermod": usermodRefused, "userdel": userRefused,
	"deluser": userRefused,
	"wget":    certificatesMissing, "git": gitRefuses, "dnf": rpmRefuses, "yum": rpmRefuses, "microdnf": rpmRefuses, "pecl": peclRefuses,
	"sdkmanager": sdkmanagerRefuses, "dotnet": dotnetRefuses, "dpkg": dpkgRefuses, "sh": scriptsRefuse, "bash": scriptsRefuse,
	"docker-php-ext-install": phpRefuses, "gem": gemRefuses, "curl": curlRefuses, "chown": ownerUnknown, "pacman": pacmanRefuses,
	"chsh": shellMissing, "install": ownerUnknown, "add-apt-repository": ppaRefuses,
	"npm": newestNpm, "yarn": endlessStep, "pnpm": pnpmRefuses, "flask": endlessStep, "uvicorn": endlessStep, "gunicorn": endlessStep,
	"rails": endlessStep, "php": endlessStep, "hugo": endlessStep, "jekyll": endlessStep, "mkdocs": endlessStep, "jupyter": endlessStep,
	"tail": endlessStep, "sleep": endlessStep, "nodemon": endlessStep, "vite": endlessStep, "next": endlessStep, "ng": endlessStep,
	"streamlit": endlessStep, "docker-entrypoint.sh": endlessStep, "python": endlessStep, "python3": endlessStep, "bundle": bundleRefuses,
}

// maxJudged bounds the bytes of what stands in front of the commands that are judged by it, all commands together: some
// 400 of them in a Dockerfile of 20 KiB. A wrong one behind those is not reported.
const maxJudged = 8 << 20

// commandsRefused reports commands that their program refuses, or that do not do what was meant, whatever else the step does.
func commandsRefused(v *rule.View) (out []rule.Finding) {
	judging, reading := budget.New(maxJudged), budget.New(maxBrought)
	for _, s := range neededStages(v) {
		base := s.Base()
		image, _ := baseimage.Of(base.Image)
		if !base.Known {
			image = baseimage.Image{}
		}
		history := s.History()
		first := len(history) - len(s.Instructions)
		said := map[string]bool{}
		c := &atStep{v: v, name: base.Image, image: image, stage: s, reading: reading}
		for n, i := range s.Instructions {
			if i.Name != "RUN" {
				continue
			}
			for _, cmd := range i.Commands {
				if slices.Contains(instructionNames, cmd.Words[0].Text) && cmd.Words[0].Text != "LABEL" && len(cmd.Words) > 1 {
					out = append(out, v.AtWord(cmd.Words[0], fmt.Sprintf("%s is a word of the RUN above: its last line goes on", cmd.Words[0].Text),
						`take the && or \ away from the end of the RUN`))
					continue
				}
				refuses := refusing[cmd.Name()]
				judged := refuses != nil && !said[cmd.Name()] || cmd.User != "" && !said["user "+cmd.User]
				if !judged || cmd.OnFailure == shell.Open || !judging.Spend(len(v.Build.File.Doc.Src)) {
					continue
				}
				c.step, c.history, c.Command = i, history[:first+n], cmd
				r := refusal{}
				if refuses != nil && !said[cmd.Name()] {
					r = refuses(c)
				}
				if r.message == "" && !said["user "+cmd.User] {
					r = userUnknown(c, cmd.User)
					said["user "+cmd.User] = r.message != ""
				}
				if r.message != "" {
					said[cmd.Name()] = true
					f := v.AtCommand(cmd, r.message, r.hint)
					if r.warn || cmd.OnFailure == shell.Unheard {
						f.Severity = diag.SeverityWarning
					}
					out = append(out, f)
				}
			}
		}
	}
	return slices.Concat(out, notExecutable(v), stepsRefused(v))
}

// aptRefuses is about words of a second command, without && between them.
func aptRefuses(c *atStep) refusal {
	for n, w := range c.Args() {
		second := w.Text == "apt-get" || w.Text == "apt" || c.verb() == "update" && w.Text == "install"
		if n > 0 && second && c.Wrapped == "" {
			return refusal{message: fmt.Sprintf("%s is a word of the command in front of it, and no command", w.Text),
				hint: "write && between the commands"}
		}
	}
	return verbRefused(c)
}

func snapRefuses(c *atStep) refusal {
	if c.verb() != "install" {
		return refusal{}
	}
	return refusal{message: "snap talks to a service, which does not run while an image is built", hint: "install the program in another way"}
}

// systemdRefuses is about services, in the middle of a step; at its end SBX734 says it.
func systemdRefuses(c *atStep) refusal {
	_, now := c.Flag("--now")
	if now || slices.Contains([]string{"start", "restart"}, c.verb()) && c.End < end(c.step) {
		return refusal{message: "no systemd runs while an image is built",
			hint: "start it in postStartCommand by its own program, or in the image's entrypoint"}
	}
	return refusal{}
}

func adduserRefuses(c *atStep) refusal {
	if w, ok := c.Flag("--disabled-password", "--gecos", "--ingroup", "-D"); ok && c.image.Family == baseimage.RedHat {
		return refusal{message: fmt.Sprintf("adduser of %s is useradd, and has no option %s", c.name, w.Text),
			hint: "write useradd --create-home NAME", warn: true}
	}
	return refusal{}
}

// ofOtherFamilies are groups that one family's images have and others lack.
var ofOtherFamilies = map[baseimage.Family]string{baseimage.Debian: "wheel", baseimage.RedHat: "sudo", baseimage.Alpine: "sudo"}

// groupsRefused is about a user's groups, and about its shell.
func groupsRefused(c *atStep) refusal {
	groups, given := c.Value("-G", "-aG", "--groups")
	group := ofOtherFamilies[c.image.Family]
	if given && c.image.Official() && slices.Contains(strings.Split(groups.Text, ","), group) && !c.opaque() &&
		!c.before("groupadd", "addgroup", "/etc/group", " sudo") {
		hint := map[string]string{"wheel": "Debian and Ubuntu call it sudo", "sudo": "there the group is called wheel"}[group]
		return refusal{message: fmt.Sprintf("%s has no group %s, and %s fails", c.name, group, c.Name()), hint: hint,
			warn: c.image.Family != baseimage.Debian}
	}
	if r := homeMissing(c); r.message != "" {
		return r
	}
	return shellMissing(c)
}

func usermodRefused(c *atStep) refusal {
	if r := userRefused(c); r.message != "" {
		return r
	}
	return groupsRefused(c)
}

// shellMissing is about a login shell that the image lacks: the account's terminals do not start.
func shellMissing(c *atStep) refusal {
	given, ok := c.Value("-s", "--shell", "-ms")
	if !ok || !path.IsAbs(given.Text) || !c.image.Lacks(path.Base(given.Text)) || c.opaque() || c.v.HasFeatures() {
		return refusal{}
	}
	name := path.Base(given.Text)
	for _, i := range c.v.Build.History() {
		for _, cmd := range i.Commands {
			if cmd != c.Command && slices.ContainsFunc(cmd.Args(), func(w shell.Word) bool { return names(w.Text, name) }) &&
				!cmd.Is("useradd", "usermod", "adduser", "chsh", "sed") {
				return refusal{}
			}
		}
	}
	return refusal{message: fmt.Sprintf("%s has no %s, and nothing installs it: no terminal of this user starts", c.name, name),
		hint: "install " + name, warn: true}
}

// moved are addresses that answer with another one.
var moved = lazyregexp.New(`^https?://github\.com/[^/]+/[^/]+/(releases/(latest/)?download|archive|raw)/`)

func curlRefuses(c *atStep) refusal {
	for _, w := range c.Args() {
		if moved.MatchString(w.Text) && !hasFlag(c.Command, "-L", "--location", "--location-trusted") && !c.before(".curlrc") {
			return refusal{message: "GitHub answers with another address, which curl follows only with -L", hint: "add -L", warn: true}
		}
	}
	return certificatesMissing(c)
}

// withoutCertificates are packages whose own dependencies bring no certificates (apt of Debian 12 and 13).
var withoutCertificates = strings.Fields(`curl wget git gnupg gnupg2 jq unzip zip sudo vim nano build-essential python3 openssh-client
	lsb-release apt-transport-https openssl make gcc g++ locales zsh less procps iputils-ping netcat-openbsd dnsutils file xz-utils bzip2
	tar rsync bash-completion libpq-dev cmake pkg-config git-lfs ripgrep fzf tmux htop tree`)

// certificatesMissing is about https without certificates, which apt installs as a recommendation alone.
func certificatesMissing(c *atStep) refusal {
	https := slices.ContainsFunc(c.Args(), func(w shell.Word) bool { return strings.HasPrefix(w.Text, "https://") })
	without := c.official("debian") || c.official("ubuntu") || c.official("node") && strings.Contains(c.name, "slim")
	insecure := hasFlag(c.Command, "-k", "--insecure", "--no-check-certificate")
	if !https || !without || insecure || c.opaque() {
		return refusal{}
	}
	if !c.before("--no-install-recommends") || c.before("ca-certificates", "--from", "--mount", "ADD ", "ssl", "SSL") {
		return refusal{}
	}
	for _, i := range append(c.history[:len(c.history):len(c.history)], c.step) {
		for _, cmd := range i.Commands {
			packages, installs := aptInstall(cmd)
			others := slices.ContainsFunc(packages, func(w shell.Word) bool { return !slices.Contains(withoutCertificates, w.Text) })
			if installs && (others || !hasFlag(cmd, "--no-install-recommends")) {
				return refusal{}
			}
		}
	}
	return refusal{message: fmt.Sprintf("%s has no certificates, and %s refuses every https address", c.name, c.Name()),
		hint: "install ca-certificates, too", warn: !c.image.Asked()}
}

// namedInStep reports whether the step may make a user in front of the command.
func namedInStep(c *atStep, user string) bool {
	for _, cmd := range c.step.Commands {
		if cmd.Start < c.Start && packageMakes(cmd, user) {
			return true
		}
	}
	own := c.step.Source()
	return names(own[:min(max(c.Words[0].Start-c.step.Start, 0), len(own))], user)
}

// userRefused is about a user whom a command changes or removes and who is not there.
func userRefused(c *atStep) refusal {
	words := c.Operands()
	if len(words) == 0 || !c.image.Official() || c.opaque() || c.Is("deluser") && len(words) > 1 {
		return refusal{}
	}
	last := words[len(words)-1]
	has, sure := c.image.HasUser(last.Text)
	byName := last.Literal && numberless(last.Text)
	if has || !sure || !byName || mentioned(c.history, last.Text) || namedInStep(c, last.Text) {
		return refusal{}
	}
	return refusal{message: fmt.Sprintf("%s has no user %s, and %s fails", c.name, last.Text, c.Name()),
		hint: fmt.Sprintf("leave it out, or ask first: id %s >/dev/null 2>&1 && %s …", last.Text, c.Name()), warn: !c.image.Asked()}
}

// pacmanRefuses is about the lists, which the image of Arch Linux does not have.
func pacmanRefuses(c *atStep) refusal {
	w, syncs := c.Flag("-S")
	if !syncs || !strings.HasPrefix(c.name, "archlinux") {
		return refusal{}
	}
	if !hasFlag(c.Command, "--noconfirm") && len(c.From) == 0 {
		return refusal{message: "pacman asks before it installs", hint: "add --noconfirm", warn: true}
	}
	if !strings.Contains(w.Text, "y") && !c.before("pacman -Sy") {
		return refusal{message: "the image has no package lists yet, so the packages are not found", hint: "write pacman -Syu", warn: true}
	}
	return refusal{}
}

func ppaRefuses(c *atStep) refusal {
	ppa := slices.ContainsFunc(c.Args(), func(w shell.Word) bool { return strings.HasPrefix(w.Text, "ppa:") })
	if !ppa || c.image.Family != baseimage.Debian || c.image.Ubuntu || !c.image.Official() || c.image.Release == "" {
		return refusal{}
	}
	return refusal{message: fmt.Sprintf("a PPA has packages of Ubuntu, and %s is Debian", c.name),
		hint: "take an image of Ubuntu, or another source of the package", warn: true}
}

// inPath are folders whose programs are called by their name.
var inPath = []string{"/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"}

// notExecutable reports programs that a step saves and that a later command runs, with nothing between that makes them
// executable.
func notExecutable(v *rule.View) (out []rule.Finding) {
	for _, s := range neededStages(v) {
		saved := map[string]string{} // by the word that runs it
		for _, i := range s.Instructions {
			if i.Name != "RUN" {
				continue
			}
			for _, cmd := range i.Commands {
				word := cmd.Words[0].Text
				switch {
				case cmd.Is("curl", "wget"):
					for _, name := range savedAs(cmd) {
						if name = path.Clean(name); !path.IsAbs(name) || strings.ContainsAny(name, "$*") || path.Ext(name) != "" {
							continue
						}
						saved[name] = name
						if slices.Contains(inPath, path.Dir(name)) {
							saved[path.Base(name)] = name
						}
					}
				case saved[word] != "" && cmd.OnFailure == shell.Ends:
					out = append(out, v.AtWord(cmd.Words[0], fmt.Sprintf("%s is not executable: a file that was fetched is none", saved[word]),
						fmt.Sprintf("write chmod +x %s in front", saved[word])))
					clear(saved)
				case len(saved) > 0 && !cmd.Is("echo", "mkdir", "apt-get", "cd", "set", "export"):
					clear(saved)
				}
			}
			if i.Unread {
				clear(saved)
			}
		}
	}
	return out
}
