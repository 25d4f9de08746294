package lint

import (
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

// ownMistakes reports what is wrong in a Feature itself: its environment and entrypoint, which a builder and a shell read, its hooks
// and its script. The reference CLI was asked for each (0.89).
func ownMistakes(v *rule.View) []rule.Finding {
	if v.Kind() == devcontainer.ConfigFile {
		return append(usersOfInstalls(v), rootsHome(v)...)
	}
	return slices.Concat(environmentOfFeature(v), hooksOfFeature(v), entrypointUnusable(v), booleansMistaken(v))
}

// environmentOfFeature reports variables of the CLI in texts that become ENV of a Dockerfile and a line of sh, and a PATH without
// the image's.
func environmentOfFeature(v *rule.View) (out []rule.Finding) {
	say := func(n *jsonc.Node, message, hint string) {
		out = append(out, v.AtValue(n, message, hint))
	}
	for _, m := range v.Root.Member("containerEnv").Fields() {
		text := m.Value.TextOr("")
		switch used := rights.Variable.FindString(text); {
		case strings.HasPrefix(used, "${containerEnv:"):
			say(m.Value, fmt.Sprintf("the build refuses %s: a Feature's containerEnv becomes ENV of a Dockerfile", used),
				"write ${NAME}, such as "+strings.ReplaceAll(text, "containerEnv:", ""))
		case m.Name == "PATH" && text != "" && !strings.Contains(text, "$") && !hasSystemFolder(text):
			say(m.Value, "this PATH has no folder of the system, so no later step of the build finds a program", "write "+text+":${PATH}")
		}
	}
	if n := v.Root.Member("entrypoint"); strings.Contains(n.TextOr(""), "${containerEnv:") {
		say(n, "sh reads the entrypoint, refuses ${containerEnv:…}, and the container ends", "write the path without variables")
	}
	return out
}

// hooksOfFeature reports hooks that call a file of the Feature's folder: they run in the project, and the folder is gone by then.
func hooksOfFeature(v *rule.View) (out []rule.Finding) {
	if v.Tree == nil {
		return nil
	}
	eachHookText(v, func(_ string, n *jsonc.Node) {
		v.EachCommand(n, func(_ *jsonc.Node, cmd *shell.Command) {
			name, _ := scriptOf(cmd)
			full := path.Join(v.Dir, name)
			if name == "" || cmd.OnFailure == shell.Open || devcontainer.LeavesTree(full) || v.Tree.Kind(full) != devcontainer.File {
				return
			}
			f := v.AtValue(n, fmt.Sprintf("hooks run in the project's folder, which has no %s of this Feature", name),
				fmt.Sprintf("copy it in install.sh, and call the copy: install -m 0755 %s /usr/local/share/", name))
			f.Severity = diag.SeverityWarning // the project may have one of that name
			out = append(out, f)
		})
	})
	return out
}

// entrypointUnusable reports an entrypoint that install.sh writes and does not make executable.
func entrypointUnusable(v *rule.View) []rule.Finding {
	n := v.Root.Member("entrypoint")
	if n.TextOr("") == "" || v.Build == nil || v.Build.Final == nil {
		return nil
	}
	text := string(v.Build.File.Doc.Src)
	if strings.Contains(text, "chmod") || strings.Contains(text, "install -") || strings.Contains(text, "umask") {
		return nil
	}
	for _, i := range v.Build.Final.Instructions {
		for _, cmd := range i.Commands {
			for _, w := range slices.Concat(cmd.Files, teeTo(cmd)) {
				if w.Text == n.Text && w.Literal {
					f := v.AtDockerfile(w.Start, w.End, "the entrypoint is not executable, so it never runs", "add chmod +x "+w.Text)
					f.Severity = diag.SeverityWarning
					return []rule.Finding{f}
				}
			}
		}
	}
	return nil
}

func teeTo(cmd *shell.Command) []shell.Word {
	if cmd.Is("tee") {
		return cmd.Operands()
	}
	return nil
}

// comparedTo matches a comparison of one variable with a word.
var comparedTo = lazyregexp.New(`\[\[?\s+"?\$\{?(\w+)\}?"?\s+(?:==?|!=)\s+["']?(\w+)["']?\s+\]`)

// booleansMistaken reports comparisons of an option that is a yes or no with a word that it never is.
func booleansMistaken(v *rule.View) (out []rule.Finding) {
	if v.Build == nil {
		return nil
	}
	text := string(v.Build.File.Doc.Src)
	if !strings.Contains(text, "[") {
		return nil
	}
	yesOrNo := map[string]bool{}
	for _, m := range options(v) {
		yesOrNo[optionVariable(m.Name)] = m.Value.Member("type").TextOr("") == "boolean"
	}
	for _, at := range comparedTo.FindAllStringSubmatchIndex(text, mostAsked) {
		name, word := text[at[2]:at[3]], text[at[4]:at[5]]
		if yesOrNo[name] && word != "true" && word != "false" && !isSetIn(text, name) {
			f := v.AtDockerfile(at[0], at[1], fmt.Sprintf("%s is true or false, and never %s", name, word), "compare it with true")
			f.Severity = diag.SeverityWarning
			out = append(out, f)
		}
	}
	return out
}

// usersOfInstalls reports users that a Feature's script names and that the image does not have.
func usersOfInstalls(v *rule.View) (out []rule.Finding) {
	image := v.BaseImage()
	of, known := baseimage.Of(image)
	if !known || v.Build != nil || !of.Official() && !of.ForDevContainers() {
		return nil
	}
	for _, m := range v.Root.Member("features").Fields() {
		name, official := strings.CutPrefix(m.Name, officialNamespace+"/")
		if !rights.IsLocal(m.Name) && (!official || strings.HasPrefix(name, "common-utils") || strings.HasPrefix(name, "nix")) {
			return nil // which may make the user
		}
	}
	all, _ := localInstalls(v)
	for _, in := range all {
		text := in.step.Source()
		if makesOrAsksUsers.MatchString(text) {
			continue
		}
		for _, cmd := range in.step.Commands {
			w, ok := userNamed(cmd)
			if !ok || cmd.OnFailure != shell.Ends || !numberless(w.Text) || !w.Literal {
				continue
			}
			if has, sure := of.HasUser(w.Text); has || !sure {
				continue
			}
			v.Also(in.doc)
			out = append(out, rule.Finding{Place: rights.Place{Doc: in.doc, Start: w.Start, End: w.End}, Severity: diag.SeverityWarning,
				Message: fmt.Sprintf("%s has no user %q", image, w.Text), Hint: "write $_REMOTE_USER, which is the user of the sessions"})
			break
		}
	}
	return out
}

// makesOrAsksUsers matches scripts that may make the user, or do without.
var makesOrAsksUsers = lazyregexp.New(`\b(useradd|adduser|getent)\b|\bid -u`)

// userNamed returns the user to whom a command changes or gives a file.
func userNamed(cmd *shell.Command) (w shell.Word, ok bool) {
	words := cmd.Operands()
	switch {
	case cmd.Is("su") && len(words) > 0:
		return words[0], true
	case cmd.Is("sudo"):
		return cmd.Value("-u", "--user")
	case cmd.Is("install"):
		return cmd.Value("-o", "--owner")
	case cmd.Is("chown") && len(words) > 1:
		w = words[0]
		if at := strings.IndexAny(w.Text, ":."); at >= 0 {
			w.Text = w.Text[:at]
		}
		return w, w.Text != ""
	}
	return w, false
}

// rootsHome reports files that a Feature's script puts into the home of root, who runs it, while another user works in the container.
func rootsHome(v *rule.View) (out []rule.Finding) {
	user := hookUser(v)
	if user == "" || rule.IsRoot(user) {
		return nil
	}
	all, _ := localInstalls(v)
	for _, in := range all {
		text := in.step.Source()
		if strings.Contains(text, "HOME=") || strings.Contains(text, "_HOME") || strings.Contains(text, "/etc/skel") {
			continue
		}
		for _, cmd := range in.step.Commands {
			w, ok := intoHome(cmd)
			if !ok || cmd.User != "" || cmd.Wrapped == "sudo" || cmd.Wrapped == "su" {
				continue
			}
			v.Also(in.doc)
			out = append(out, rule.Finding{Place: rights.Place{Doc: in.doc, Start: w.Start, End: w.End}, Severity: diag.SeverityWarning,
				Message: fmt.Sprintf("root runs install.sh, so this is root's home, and %s works in the container", user),
				Hint:    `write "$_REMOTE_USER_HOME/…", and chown it to $_REMOTE_USER`})
			break
		}
	}
	return out
}

// settingsInHome matches files and folders of a home that hold somebody's settings.
var settingsInHome = lazyregexp.New(`^(~|\$HOME|\$\{HOME\})/(\.(bash|zsh)rc|\.(bash_|z)?profile|\.bash_aliases|\.zshenv|\.config|` +
	`\.oh-my-zsh|\.vimrc|\.tmux|\.gitconfig|\.npmrc|\.local)(/|$)`)

// intoHome returns the file or folder of the settings of whoever runs a command, when that makes it or writes there.
func intoHome(cmd *shell.Command) (w shell.Word, ok bool) {
	words := cmd.Files
	if operands := cmd.Operands(); cmd.Is("mkdir", "touch") || cmd.Is("cp", "ln", "mv", "git") && len(operands) > 1 {
		words = append(words[:len(words):len(words)], operands[len(operands)-1:]...)
	}
	at := slices.IndexFunc(words, func(w shell.Word) bool { return settingsInHome.MatchString(w.Text) })
	if at < 0 {
		return w, false
	}
	return words[at], true
}
