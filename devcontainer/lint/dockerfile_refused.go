package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/devcontainer/baseimage"
	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

var (
	// namesSources, debFile and pipesToShell match steps after which apt may have packages of others: three, as each is found by its
	// words.
	namesSources = lazyregexp.New(`sources|yum\.repos|vault\.centos|config-manager|add-apt|apt-key|dpkg -i|extrepo|/etc/apt`)
	debFile      = lazyregexp.New(`\.deb\b`)
	pipesToShell = lazyregexp.New(`\|\s*(sudo\s+)?(-E\s+)?(ba)?sh\b`)
	// otherPip matches what may bring a pip that is not the system's, or tell it what to do.
	otherPip = lazyregexp.New(`(?i)venv|conda|pyenv|managed|break-system|get-pip|\buv\b|pip\.conf|PIP_|pipx|pip config|` +
		`/usr/local/(bin/)?python`)
)

// packagesRefused reports packages that apt does not have, and those that pip refuses to install.
func packagesRefused(v *rule.View) (out []rule.Finding) {
	for _, s := range neededStages(v) {
		base := s.Base()
		image, ok := baseimage.Of(base.Image)
		if !ok || !base.Known || image.Family == "" || !mayBeRefused(s, image) {
			continue
		}
		p := refusals{v: v, name: base.Image, image: image}
		for _, i := range s.History() {
			if !p.step(i, i.Stage == s) {
				break
			}
		}
		out = append(out, p.found...)
	}
	return append(out, hookMeanings(v, managedPip)...)
}

// mayBeRefused reports whether a step of the stage installs what is judged: what the steps before it do matters only then.
func mayBeRefused(s *dockerfile.Stage, image baseimage.Image) bool {
	return slices.ContainsFunc(s.Instructions, func(i *dockerfile.Instruction) bool {
		return i.Name == "RUN" && slices.ContainsFunc(i.Commands, func(cmd *shell.Command) bool {
			packages, _ := installed(cmd)
			ended := aptUpdate(cmd) && (movedAway[image.Release] != "" || image.Ubuntu) || rpmInstall(cmd)
			return ended || pipInstalls(cmd) || slices.ContainsFunc(packages, func(w shell.Word) bool {
				_, gone := image.Gone(w.Text)
				return gone || strings.Contains(w.Text, ":")
			})
		})
	})
}

type refusals struct {
	v       *rule.View
	name    string
	image   baseimage.Image
	others  bool                      // apt may have other packages, as known finds
	unasked []*dockerfile.Instruction // that known did not look at yet
	pip     bool                      // the system's is installed
	venv    bool                      // another one may be, as hasVenv finds
	noVenv  []*dockerfile.Instruction // that hasVenv did not look at yet
	found   []rule.Finding
}

// movedAway are the releases of Debian that are at archive.debian.org alone.
var movedAway = map[string]string{"8": "jessie", "9": "stretch", "10": "buster"}

// endedUbuntu are the releases of Ubuntu that are at old-releases.ubuntu.com alone (November 2026).
var endedUbuntu = []string{"19.04", "19.10", "20.10", "21.04", "21.10", "22.10", "23.04", "23.10", "24.10", "25.04"}

// updateOfArchived is the finding about apt's lists of a release that its servers have no more; its message is "" for the others.
func (p *refusals) updateOfArchived(cmd *shell.Command) (f rule.Finding) {
	name, moved := movedAway[p.image.Release]
	if p.image.Ubuntu && aptUpdate(cmd) && slices.Contains(endedUbuntu, p.image.Release) {
		f = p.v.AtCommand(cmd, fmt.Sprintf("%s finds no packages: Ubuntu's servers no longer have %s", cmd.Name(), p.image.Release),
			"take an image of a newer release, or let the sources name old-releases.ubuntu.com")
		f.Severity = diag.SeverityWarning
		return f
	}
	if centos := strings.TrimPrefix(p.name, "centos:"); rpmInstall(cmd) && (centos == "7" || centos == "8" || centos == "6") {
		f = p.v.AtCommand(cmd, fmt.Sprintf("%s finds no packages: CentOS %s has ended, and its servers with it", cmd.Name(), centos),
			"take almalinux or rockylinux, or let the repositories name vault.centos.org")
		f.Severity = diag.SeverityWarning
		return f
	}
	if !moved || p.image.Ubuntu || !aptUpdate(cmd) || strings.Contains(p.name, "@") {
		return f
	}
	f = p.v.AtCommand(cmd, fmt.Sprintf("%s finds no packages: Debian's servers no longer have %s", cmd.Name(), name),
		"take an image of a newer release, or let /etc/apt/sources.list name archive.debian.org")
	f.Severity = diag.SeverityWarning // a mirror may have it
	return f
}

// step judges a step, and reports whether the next one can be judged.
func (p *refusals) step(i *dockerfile.Instruction, own bool) bool {
	p.unasked, p.noVenv = append(p.unasked, i), append(p.noVenv, i)
	if i.Unread || i.Name == "ADD" || p.others {
		return false
	}
	if i.Name != "RUN" {
		return true
	}
	for _, cmd := range i.Commands {
		if f := p.updateOfArchived(cmd); own && f.Message != "" {
			p.say(cmd, f)
			return false
		}
		packages, installs := installed(cmd)
		for _, w := range packages {
			p.pip = p.pip || slices.Contains([]string{"python3-pip", "python3-full", "py3-pip"}, w.Text)
			if _, architecture, ok := strings.Cut(w.Text, ":"); ok && own && installs && p.image.Family == baseimage.Debian {
				p.foreign(cmd, w, architecture)
			}
			if instead, gone := p.image.Gone(w.Text); installs && gone && own && w.Literal {
				f := p.v.AtWord(w, fmt.Sprintf("%s has no package %s", p.name, w.Text), hintInstead(instead))
				if !p.image.Asked() || !p.image.Official() {
					f.Severity = diag.SeverityWarning
				}
				p.say(cmd, f)
			}
		}
		system := p.image.Managed() && (p.image.Lacks("pip3") || bare.MatchString(p.name)) // pip is the system's
		if own && p.pip && system && pipInstalls(cmd) && !p.hasVenv() {
			p.say(cmd, p.v.AtCommand(cmd, fmt.Sprintf("pip of %s installs nothing into the system (externally-managed-environment)", p.name),
				"make an environment: python3 -m venv /opt/venv, and call /opt/venv/bin/pip; or add --break-system-packages"))
			p.venv = true
		}
	}
	return true
}

// known reports whether apt has no packages but those that are known.
func (p *refusals) known() bool {
	p.others = p.others || slices.ContainsFunc(p.unasked, func(i *dockerfile.Instruction) bool {
		return otherSources(i.Source())
	})
	p.unasked = p.unasked[:0]
	return !p.others
}

// foreign is about a package of another architecture, of which dpkg must know.
func (p *refusals) foreign(cmd *shell.Command, w shell.Word, architecture string) {
	foreign := slices.Contains([]string{"i386", "armhf", "armel", "riscv64"}, architecture) && p.image.Official()
	if !foreign || strings.Contains(p.v.DockerfileText(), "add-architecture") {
		return
	}
	f := p.v.AtWord(w, fmt.Sprintf("apt has no %s before dpkg knows the architecture", w.Text),
		fmt.Sprintf("put dpkg --add-architecture %s && in front of apt-get update", architecture))
	if !p.image.Asked() {
		f.Severity = diag.SeverityWarning
	}
	p.say(cmd, f)
}

// hasVenv reports whether a step so far may bring another pip than the system's.
func (p *refusals) hasVenv() bool {
	for _, i := range p.noVenv {
		p.venv = p.venv || otherPip.MatchString(i.Source()) || strings.Contains(i.Source(), "--from")
		if env, ok := i.Command.(*instructions.EnvCommand); ok {
			p.venv = p.venv || slices.ContainsFunc(env.Env, func(kv instructions.KeyValuePair) bool { return kv.Key == "PATH" })
		}
	}
	p.noVenv = nil
	return p.venv
}

func (p *refusals) say(cmd *shell.Command, f rule.Finding) {
	if cmd.OnFailure == shell.Open || !p.known() {
		return
	}
	if cmd.OnFailure == shell.Unheard {
		f.Severity = diag.SeverityWarning
	}
	p.found = append(p.found, f)
}

func hintInstead(name string) string {
	if name == "" {
		return "leave it out"
	}
	return "install " + name
}

// pipInstalls reports whether the system's pip is to install packages for all.
func pipInstalls(cmd *shell.Command) bool {
	args := cmd.Args()
	switch cmd.Words[0].Text {
	case "pip", "pip3":
		args = cmd.Operands()
	case "python3":
		if len(args) < 2 || args[0].Text != "-m" || args[1].Text != "pip" {
			return false
		}
		args = args[2:]
	default:
		return false
	}
	_, elsewhere := cmd.Flag("--target", "-t", "--prefix", "--root", "--python", "--dry-run")
	return len(args) > 0 && args[0].Text == "install" && !elsewhere && (cmd.Wrapped == "" || cmd.Wrapped == "sudo")
}

// otherSources reports whether apt may have packages of others after a step.
func otherSources(step string) bool {
	return namesSources.MatchString(step) || debFile.MatchString(step) || pipesToShell.MatchString(step)
}
