package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/devcontainer/baseimage"
	"github.com/org/claude-sandbox/devcontainer/budget"
	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// homely is a command that puts something into the home folder of whoever runs it.
type homely struct {
	program string
	words   string   // that its operands begin with
	what    string   // it puts there
	choice  []string // variables and options that choose another place
	instead string
}

// homelies are known by the documentation of their programs (November 2026).
var homelies = []homely{
	{"git", "config", "the configuration", []string{"--system", "--file", "--local", "GIT_CONFIG"}, "write git config --system"},
	{"git", "lfs install", "the configuration", []string{"--system", "--local"}, "write git lfs install --system"},
	{"mix", "local.hex", "Hex", []string{"MIX_HOME"}, ""},
	{"mix", "local.rebar", "Rebar", []string{"MIX_HOME"}, ""},
	{"playwright", "install", "the browsers", []string{"PLAYWRIGHT_BROWSERS_PATH"}, "write ENV PLAYWRIGHT_BROWSERS_PATH=/ms-playwright"},
	{"dotnet", "tool install", "the tool", []string{"--tool-path"}, "write --tool-path /usr/local/bin"},
	{"helm", "repo add", "the repository", []string{"HELM_"}, ""},
	{"gh", "extension install", "the extension", nil, ""},
	{"az", "extension add", "the extension", []string{"AZURE_EXTENSION_DIR"}, ""},
	{"code-server", "--install-extension", "the extension", []string{"--extensions-dir"}, ""},
	{"poetry", "config", "the configuration", []string{"--local", "POETRY_CONFIG_DIR"}, "write ENV POETRY_… in its place"},
	{"conda", "init", "the start file", []string{"--system"}, "write conda init --system"},
	{"oh-my-zsh", "", "Oh My Zsh", []string{"ZSH="}, ""},
}

// ofPerson are keys of git's configuration that are for the people who work in the container; others may be for the steps.
var ofPerson = lazyregexp.New(`^(safe\.directory (\*|/work)|user\.|alias\.|core\.(editor|pager|autocrlf)|init\.|pull\.|push\.|color\.)`)

// startFiles matches the files that a shell of root's reads when it starts.
var startFiles = lazyregexp.New(`^(~|/root|\$HOME|\$\{HOME\})/\.(bashrc|zshrc|profile|bash_profile|zprofile|bash_aliases|vimrc|inputrc)$`)

// worksAs is the user who works in the container, "" when it is root or not known.
func worksAs(v *rule.View) string {
	if v.Bare || v.Build == nil || v.Build.Final == nil {
		return ""
	}
	user := hookUser(v)
	if user == "" || rule.IsRoot(user) || strings.Contains(user, "$") {
		return ""
	}
	user, _, _ = strings.Cut(user, ":")
	return user
}

// homesOfRoot reports what a step of root's puts into the home folder of root, where somebody else works in the container.
func homesOfRoot(v *rule.View) (out []rule.Finding) {
	user := ""
	asked, said := false, map[string]bool{}
	if v.Bare || v.Build == nil || v.Build.Final == nil {
		return nil
	}
	for _, i := range v.Build.Final.History() {
		root := rule.IsRoot(i.User) || i.User == "" && baseimage.StartsAs(v.BaseImage()) == ""
		if !root || i.Name != "RUN" && i.Name != "COPY" {
			continue
		}
		for _, f := range putInHome(v, i) {
			if !asked {
				asked, user = true, worksAs(v)
				if user == "" || sharesRoot(v) {
					return nil
				}
			}
			if said[f.Message] {
				return out
			}
			said[f.Message] = true
			f.Message = diag.Short(fmt.Sprintf(f.Message, user))
			if f.Hint == "" {
				f.Hint = fmt.Sprintf("do it below USER %s", user)
			}
			out = append(out, warned(f))
		}
	}
	return out
}

// sharesRoot reports whether some step gives the home folder of root to others, or sets another one.
func sharesRoot(v *rule.View) bool {
	return slices.ContainsFunc(v.Build.Final.History(), func(i *dockerfile.Instruction) bool {
		switch c := i.Command.(type) {
		case *instructions.EnvCommand:
			return slices.ContainsFunc(c.Env, func(kv instructions.KeyValuePair) bool { return kv.Key == "HOME" })
		case *instructions.RunCommand:
			return strings.Contains(i.Source(), "/root") && slices.ContainsFunc(i.Commands, func(cmd *shell.Command) bool {
				return cmd.Is("cp", "mv", "ln", "rsync", "chmod", "chown", "setfacl", "tar", "find") &&
					slices.ContainsFunc(cmd.Args(), func(w shell.Word) bool { return strings.HasPrefix(w.Text, "/root") })
			})
		}
		return false
	})
}

// putInHome finds what a step puts into the home folder of its user. The messages lack the one who works in the container.
func putInHome(v *rule.View, i *dockerfile.Instruction) (out []rule.Finding) {
	if c, ok := i.Command.(*instructions.CopyCommand); ok {
		to := i.Expand(c.DestPath)
		if strings.HasSuffix(to, "/") && len(c.SourcePaths) == 1 {
			to += path.Base(c.SourcePaths[0])
		}
		if startFiles.MatchString(to) && strings.HasPrefix(to, "/root/") {
			start, end := i.Find(c.DestPath)
			out = append(out, v.AtDockerfile(start, end, "the user %s works in the container, and reads no "+strings.ReplaceAll(to, "%", "%%"),
				"copy it into the home folder of that user"))
		}
		return out
	}
	for _, cmd := range i.Commands {
		if cmd.User != "" && cmd.User != "root" || cmd.Wrapped == "su" {
			continue
		}
		for _, w := range cmd.Files {
			if startFiles.MatchString(w.Text) {
				out = append(out, v.AtWord(w, "the user %s works in the container, and reads no start file of root",
					"write into /etc/bash.bashrc, /etc/profile.d or the home folder of that user"))
			}
		}
		if of := homelyOf(cmd, i); of.program != "" {
			out = append(out, v.AtCommand(cmd,
				"the home folder of root gets "+of.what+", and the user %s, who works in the container, has another home", of.instead))
		}
	}
	return out
}

// homelyOf returns what a command puts into a home folder.
func homelyOf(cmd *shell.Command, i *dockerfile.Instruction) homely {
	name, words := cmd.Name(), cmd.Operands()
	if cmd.Is("npx", "python", "python3") { // npx playwright, python3 -m playwright
		at := slices.IndexFunc(words, func(w shell.Word) bool { return strings.HasPrefix(w.Text, "playwright") })
		if at < 0 {
			return homely{}
		}
		name, words = "playwright", words[at+1:]
	}
	if cmd.Is(shell.Shells...) {
		return installedAtHome(cmd, i)
	}
	if cmd.Is("pip", "pip3") && hasFlag(cmd, "--user") && len(words) > 1 && words[0].Text == "install" {
		return homely{program: "pip", what: words[1].Text, instead: "leave --user out"}
	}
	var line []string
	for _, w := range words {
		line = append(line, w.Text)
	}
	for _, of := range homelies {
		if of.program != name || of.words == "" || strings.Join(line[:min(len(line), strings.Count(of.words, " ")+1)], " ") != of.words {
			continue
		}
		chosen := slices.ContainsFunc(of.choice, func(text string) bool {
			_, set := i.Stage.Env[text]
			return set || strings.Contains(i.Source(), text)
		})
		global := hasFlag(cmd, "--global", "-g") || of.program != "git" && of.program != "dotnet" || of.words == "lfs install"
		person := of.words != "config" || of.program != "git" || len(line) > 2 && ofPerson.MatchString(line[1]+" "+line[2])
		if chosen || !global || !person {
			return homely{}
		}
		return of
	}
	return homely{}
}

// homeMissing is about a user without a home folder, which useradd of Debian makes with -m alone: shells, and servers of editors
// want one.
func homeMissing(c *atStep) refusal {
	kind, name, _, ok := making(c.Command)
	plain := ok && kind == "user" && c.Is("useradd") && c.image.Family == baseimage.Debian
	if !plain || hasFlag(c.Command, "-m", "--create-home", "-M", "--no-create-home", "-r", "--system", "-d", "--home", "--home-dir") {
		return refusal{}
	}
	if c.v.HasFeatures() || worksAs(c.v) != name.Text || strings.Contains(c.step.Source(), "CREATE_HOME") {
		return refusal{}
	}
	home := "/home/" + name.Text
	for _, i := range c.v.Build.History() {
		made := strings.Contains(i.Source(), home) || strings.Contains(i.Source(), "/home/$") || strings.Contains(i.Source(), "mkhomedir") ||
			strings.Contains(i.Source(), "login.defs")
		writes := i.Name == "RUN" && !makesFolder.MatchString(i.Source()) // a file in it, which fails
		if made && !writes || i.Unread {
			return refusal{}
		}
	}
	for _, r := range c.v.Mounts() {
		if strings.HasPrefix(r.Mount.Target, home) {
			return refusal{}
		}
	}
	return refusal{message: fmt.Sprintf("useradd makes no home folder without -m, and %s works in the container", name.Text),
		hint: "add --create-home", warn: true}
}

// makesFolder matches steps that may make a home folder.
var makesFolder = lazyregexp.New(`\b(mkdir|install|cp|mv|rsync|tar|usermod|mkhomedir_helper|ln|git|unzip)\b`)

// rootsPlace matches places where root alone may write.
var rootsPlace = lazyregexp.New(`^/(etc|usr|opt|s?bin|lib\d*|srv|root)(/|$)|^/[\w.-]+$`)

// givenPlace matches places of official images that anybody may write, or that no step has as a file.
var givenPlace = lazyregexp.New(`^/(tmp|dev|proc|home|usr/local/(cargo|rustup|bundle)|go)(/|$)`)

// writesForRoot reports what a step of another user writes where root alone may.
func writesForRoot(v *rule.View) (out []rule.Finding) {
	work := budget.New(maxCompared)
	for _, s := range neededStages(v) {
		image, _ := baseimage.Of(s.Base().Image)
		if !image.Official() || image.Family == "" || !s.Base().Known {
			continue
		}
		for _, i := range s.Instructions {
			if i.Name != "RUN" || i.User == "" || rule.IsRoot(i.User) || strings.Contains(i.User, "$") || i.Unread {
				continue
			}
			if f := firstForRoot(v, s, i, work); f.Message != "" {
				if !image.Asked() {
					f.Severity = diag.SeverityWarning
				}
				out = append(out, f)
				break
			}
		}
	}
	return out
}

func firstForRoot(v *rule.View, s *dockerfile.Stage, i *dockerfile.Instruction, work *budget.Budget) rule.Finding {
	for _, cmd := range i.Commands {
		if cmd.User != "" || cmd.Wrapped != "" || cmd.OnFailure == shell.Open {
			continue
		}
		for _, w := range writtenPlaces(cmd) {
			place := path.Clean(w.Text)
			if !path.IsAbs(place) || !w.Literal || strings.ContainsAny(place, "$*~") || givenPlace.MatchString(place) {
				continue
			}
			if strings.Contains(place, i.User) { // a package may have made it for that user
				continue
			}
			if !rootsPlace.MatchString(place) && !isVolume(s, place, work) || givenTo(s, i, place, work) {
				continue
			}
			f := v.AtWord(w, fmt.Sprintf("%s may not write %s, which is root's", i.User, place),
				"write USER root above the step and the other user below, or give the folder away: chown")
			if cmd.OnFailure == shell.Unheard {
				f.Severity = diag.SeverityWarning
			}
			return f
		}
	}
	return rule.Finding{}
}

// writtenPlaces returns the words of a command that say where it writes.
func writtenPlaces(cmd *shell.Command) (out []shell.Word) {
	out = append(out, cmd.Files...)
	words := cmd.Operands()
	switch {
	case cmd.Is("mkdir", "touch", "tee"):
		out = append(out, words...)
	case cmd.Is("cp", "mv", "ln") && len(words) > 1:
		out = append(out, words[len(words)-1])
	case cmd.Is("tar", "unzip"):
		if w, ok := cmd.Value("-C", "-d", "--directory"); ok {
			out = append(out, w)
		}
	case cmd.Is("curl", "wget"):
		if w, ok := cmd.Value("-o", "-O", "--output", "--output-document"); ok && strings.HasPrefix(w.Text, "/") {
			out = append(out, w)
		}
	}
	return out
}

func isVolume(s *dockerfile.Stage, place string, work *budget.Budget) bool {
	for _, i := range s.History() {
		if !work.Spend(perStep) {
			return false
		}
		c, ok := i.Command.(*instructions.VolumeCommand)
		if ok && slices.ContainsFunc(c.Volumes, func(name string) bool { return within(place, path.Clean(name)) }) {
			return true
		}
	}
	return false
}

// perStep is what it costs to look at a step once more, in bytes compared, besides its text.
const perStep = 64

// handsOver matches steps that may give places to other users.
var handsOver = lazyregexp.New(`chown|chmod|install -|setfacl`)

// givenTo reports whether a step of the stage may have given a place, or a folder above it, to others; also where that is too much work.
func givenTo(s *dockerfile.Stage, until *dockerfile.Instruction, place string, work *budget.Budget) bool {
	for _, i := range s.History() {
		if !work.Spend(perStep + len(i.Source())) {
			return true
		}
		if i == until {
			return strings.Contains(i.Source(), "--mount")
		}
		src := i.Source()
		script := slices.ContainsFunc(i.Commands, func(cmd *shell.Command) bool {
			return strings.Contains(cmd.Words[0].Text, "/") || cmd.Is(shell.Shells...) && len(cmd.From) == 0
		})
		gives := handsOver.MatchString(src) || i.Name == "WORKDIR" && i.User != ""
		any := i.Unread || i.Name == "ADD" || i.Name == "RUN" && script
		if any || gives && strings.Contains(src, "$") {
			return true
		}
		for at := place; gives && at != "/" && work.Spend(len(src)); at = path.Dir(at) {
			if names(src, at) || strings.Contains(src, at+"/") {
				return true
			}
		}
		made := i.User != "" && !rule.IsRoot(i.User) // by another user, who could
		if made && i.Name == "COPY" && strings.Contains(src, place) {
			return true
		}
	}
	return false
}

// installedAtHome returns what an installer that a shell runs puts into a home folder.
func installedAtHome(cmd *shell.Command, i *dockerfile.Instruction) homely {
	fetcher, ok := ranDownload(cmd)
	if !ok {
		return homely{}
	}
	for _, w := range fetcher.Args() {
		if strings.Contains(w.Text, "ohmyzsh/") && !strings.Contains(i.Source(), "ZSH=") {
			return homelies[len(homelies)-1]
		}
		for _, of := range installers {
			chosen := slices.ContainsFunc(append(of.choice, "--to ", "-b ", "--install-dir", "ln -s", "/usr/local"), func(text string) bool {
				_, set := i.Stage.Env[strings.TrimSpace(text)]
				return set || strings.Contains(i.Source(), text)
			})
			if strings.HasPrefix(of.folder, ".") && strings.Contains(w.Text, of.address) && !chosen {
				name, _, _ := strings.Cut(of.programs, " ")
				if strings.Contains(of.address, "nvm") {
					name = "nvm"
				}
				return homely{program: name, what: name}
			}
		}
	}
	return homely{}
}
