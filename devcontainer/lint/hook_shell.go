package lint

import (
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// baseImage is the image at the bottom of the container, as far as it is known: the one that the
// configuration or its service names, or that the Dockerfile begins with. "" = it is not known.
func baseImage(v *rule.View) string {
	image := v.Root.Member("image").TextOr("")
	dev := v.Composed.Dev()
	switch {
	case v.Build != nil:
		if v.Build.Final == nil || !v.Build.Final.Base().Known {
			return ""
		}
		image = v.Build.Final.Base().Image
	case v.ByCompose() && dev != nil && dev.Get("build") == nil:
		image = dev.Get("image").String()
	case v.ByCompose():
		return ""
	}
	if strings.Contains(image, "$") {
		return ""
	}
	return image
}

// withDash are images of Debian and Ubuntu besides the official ones in plain.
var withDash = lazyregexp.New(`^mcr\.microsoft\.com/(vscode/)?devcontainers/`)

// isDash reports whether /bin/sh, which runs hooks, is dash in the container (Debian, Ubuntu).
func isDash(v *rule.View) bool {
	image := baseImage(v)
	name := imageName(image)
	if _, official := plain[name]; !official && !withDash.MatchString(image) || strings.Contains(image, "alpine") ||
		slices.Contains([]string{"fedora", "scratch", "openjdk", "maven", "eclipse-temurin"}, name) {
		return false
	}
	// A step may put another shell in its place.
	return v.Build == nil || !slices.ContainsFunc(v.Build.History(), func(i *dockerfile.Instruction) bool {
		return strings.Contains(i.Source(), "/bin/sh ") || strings.HasSuffix(i.Source(), "/bin/sh") || strings.Contains(i.Source(), "dash")
	})
}

// bashWords are commands that bash has and dash lacks.
var bashWords = []string{"source", "[[", "pushd", "popd", "shopt", "declare", "typeset", "let", "function", "mapfile", "readarray"}

// bashOnly says what of a hook's text bash takes and dash does not, and how grave that is; "" when there is nothing.
func bashOnly(text string) (what string, severity diag.Severity) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(text), "")
	if err != nil {
		why := err.Error()
		if e, ok := err.(syntax.LangError); ok {
			why = e.Feature
		} else if e, ok := err.(syntax.ParseError); ok {
			why = e.Text
		}
		return why, diag.SeverityError
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 && what == "" && slices.Contains(bashWords, call.Args[0].Lit()) {
			what, severity = call.Args[0].Lit(), diag.SeverityWarning
		}
		return true
	})
	return what, severity
}

// bashInHook reports a hook's text that only bash understands, in a container whose /bin/sh is another shell.
func bashInHook(v *rule.View, property string, n *jsonc.Node) (out []rule.Finding) {
	if property == "initializeCommand" || v.Kind() != devcontainer.ConfigFile || !isDash(v) {
		return nil
	}
	what, severity := bashOnly(rights.Variable.ReplaceAllString(n.Text, "x"))
	if what == "" {
		return nil
	}
	f := v.AtValue(n, fmt.Sprintf("/bin/sh runs this command, which is dash in %s and does not know: %s", baseImage(v), what),
		`run it by bash: ["bash", "-c", "…"], or put it into a script`)
	f.Severity = severity
	return []rule.Finding{f}
}

// hookMissingSudo reports hooks that call sudo in an image that has none.
func hookMissingSudo(v *rule.View) (out []rule.Finding) {
	image := baseImage(v)
	name := imageName(image)
	if _, official := plain[name]; !official || name == "fedora" || name == "scratch" || v.HasFeatures() ||
		v.Kind() != devcontainer.ConfigFile {
		return nil
	}
	if v.Build != nil {
		for _, s := range v.Build.Final.Chain() {
			if mayBringSudo(s) {
				return nil
			}
		}
	}
	brings := false
	eachHookText(v, func(property string, n *jsonc.Node) {
		if property == "initializeCommand" {
			return
		}
		v.EachCommand(n, func(_ *jsonc.Node, cmd *shell.Command) {
			named := slices.ContainsFunc(cmd.Args(), func(w shell.Word) bool { return w.Text == "sudo" })
			brings = brings || named || cmd.Is(shell.Shells...) || strings.Contains(cmd.Words[0].Text, "/") || cmd.Is(shell.Downloaders...)
			if cmd.Words[0].Text == "sudo" && !brings && !guarded.MatchString(n.Text) && len(out) == 0 {
				out = append(out, v.AtValue(n, fmt.Sprintf("%s has no sudo, and nothing installs it", image),
					"leave it out; where another user than root runs hooks, do it in the Dockerfile"))
			}
		})
	})
	return out
}

// askingHooks reports installs in hooks that wait for an answer.
func askingHooks(v *rule.View) (out []rule.Finding) {
	if v.Kind() != devcontainer.ConfigFile {
		return nil
	}
	eachHookText(v, func(property string, n *jsonc.Node) {
		v.EachCommand(n, func(_ *jsonc.Node, cmd *shell.Command) {
			packages, ok := aptInstall(cmd)
			_, yes := cmd.Flag("-y", "--yes", "--assume-yes", "-q=2", "--force-yes")
			if ok && len(packages) > 0 && !yes && !quiet(cmd) && !piped(cmd) && cmd.Words[0].Text != "sudo" {
				out = append(out, v.AtValue(n, cmd.Name()+" asks before it installs, and nobody answers", "add -y"))
			}
		})
	})
	return out
}

// packageList returns the file of packages that a command of pip's reads, "" for none.
func packageList(cmd *shell.Command) string {
	at := slices.IndexFunc(cmd.Words, func(w shell.Word) bool { return w.Text == "install" })
	if at < 1 || !strings.HasPrefix(strings.TrimLeft(cmd.Words[at-1].Text, "./"), "pip") {
		return ""
	}
	w, ok := cmd.Value("-r", "--requirement")
	if !ok || strings.ContainsAny(w.Text, "$*?[~`<>(:") || strings.HasPrefix(w.Text, "/") {
		return ""
	}
	return w.Text
}
