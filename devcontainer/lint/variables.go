package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/baseimage"
	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// cliVariable is a variable as the reference CLI finds it.
var cliVariable = lazyregexp.New(`\$\{(.*?)\}`)

// knownVariables are those of the specification.
var knownVariables = []string{"localEnv", "containerEnv", "localWorkspaceFolder", "localWorkspaceFolderBasename",
	"containerWorkspaceFolder", "containerWorkspaceFolderBasename", "devcontainerId"}

// lifecycle lists the properties that hold commands. A shell reads them, so
// they may have variables of its own.
var lifecycle = append([]string{"initializeCommand"}, rights.Hooks...)

// beforeStart lists the properties that the container is made from.
var beforeStart = []string{"image", "build", "dockerFile", "context", "dockerComposeFile", "runArgs", "mounts", "workspaceMount",
	"workspaceFolder", "containerEnv", "containerUser", "appPort", "capAdd", "securityOpt"}

// use is one ${…} of the file.
type use struct {
	node    *jsonc.Node
	whole   string   // "${localEnv:HOME}"
	parts   []string // "localEnv", "HOME"
	command bool     // in a lifecycle command
	early   bool     // in a property that the container is made from
	escaped bool     // a second dollar sign stands in front: the text is meant to stay
}

// uses returns each ${…} of the file. Left alone is what others read:
// customizations belong to editors, Features to their scripts, templateOption to
// the family of templates.
func uses(v *rule.View) (out []use) {
	for _, m := range v.Root.Members {
		if m.Name == "customizations" || m.Name == "features" || m.Name == "settings" {
			continue
		}
		command := slices.Contains(lifecycle, m.Name)
		early := slices.Contains(beforeStart, m.Name)
		m.Value.Walk(func(n *jsonc.Node) {
			if n.Kind != jsonc.String || !strings.Contains(n.Text, "${") {
				return
			}
			for _, at := range cliVariable.FindAllStringSubmatchIndex(n.Text, -1) {
				if parts := strings.Split(n.Text[at[2]:at[3]], ":"); parts[0] != "templateOption" {
					escaped := at[0] > 0 && n.Text[at[0]-1] == '$'
					out = append(out, use{n, n.Text[at[0]:at[1]], parts, command, early, escaped})
				}
			}
		})
	}
	return out
}

// ofEnv reports whether it is a variable of an environment.
func (u use) ofEnv() bool {
	return slices.Contains([]string{"localEnv", "env", "containerEnv"}, u.parts[0])
}

// nameless reports whether it should name a variable of an environment, and
// names none.
func (u use) nameless() bool {
	return u.ofEnv() && len(u.parts) == 1 && !(u.command && u.parts[0] == "env")
}

// unknownVariables reports ${…} that nothing replaces.
func unknownVariables(v *rule.View) (out []rule.Finding) {
	for _, u := range uses(v) {
		name := u.parts[0]
		if u.ofEnv() || u.escaped || slices.Contains(knownVariables, name) || u.command && !meantForCLI(v, u) {
			continue
		}
		hint := "the text stays as it is; known are " + strings.Join(knownVariables, ", ")
		env, of, dotted := strings.Cut(name, ".")
		best := diag.Suggest(name, knownVariables)
		switch {
		case dotted && slices.Contains([]string{"localEnv", "containerEnv"}, env):
			hint = fmt.Sprintf("did you mean ${%s:%s}?", env, of)
		case best != "":
			hint = fmt.Sprintf("did you mean ${%s}?", strings.Join(append([]string{best}, u.parts[1:]...), ":"))
		case environmentName.MatchString(name) && !u.command:
			hint = fmt.Sprintf("the text stays as it is; write ${localEnv:%s} for the host's value", name)
			if !u.early {
				hint += fmt.Sprintf(", ${containerEnv:%s} for the container's", name)
			}
		case name == "workspaceFolder" || name == "workspaceRoot":
			hint = "did you mean ${containerWorkspaceFolder}?"
		}
		message := "unknown variable " + u.whole
		if u.command {
			message += ": it is empty to the shell"
		}
		out = append(out, v.AtValue(u.node, message, hint))
	}
	return slices.Concat(out, variablesElsewhere(v), hookMeanings(v, otherSide), emptyVariables(v))
}

// environmentName matches the names that variables of an environment mostly have.
var environmentName = lazyregexp.New(`^[A-Z_][A-Z0-9_]*$`)

// nearOurs matches the names of the CLI's folders and of nothing that a shell has, however they are spelt.
var nearOurs = lazyregexp.New(`^((local|container)[Ww]ork[A-Za-z]+|workspace(Folder|Root)|dev[Cc]ontainerI[dD])$`)

// meantForCLI reports whether a variable of a shell's text is near to one of the CLI's, and nothing that is seen sets it.
func meantForCLI(v *rule.View, u use) bool {
	name, text := u.parts[0], false
	eachHookText(v, func(_ string, n *jsonc.Node) { text = text || n == u.node })
	near := len(u.parts) == 1 && nearOurs.MatchString(name)
	once := !strings.Contains(strings.ReplaceAll(u.node.Text, u.whole, ""), name)
	return text && near && once && !strings.Contains(u.node.Text, "'") &&
		!slices.ContainsFunc(v.Of(rights.Env, rights.SessionEnv), func(r rights.Right) bool { return r.Name == name })
}

// ours matches variables that only devcontainer.json has.
var ours = lazyregexp.New(`\$\{(local|container)WorkspaceFolder(Basename)?\}`)

// variablesElsewhere reports variables of devcontainer.json in the Compose file's service and in the Dockerfile,
// where they are empty.
func variablesElsewhere(v *rule.View) (out []rule.Finding) {
	if dev := v.Composed.Dev(); dev != nil {
		dev.Walk(func(n *compose.Node) {
			if at := ours.FindString(n.String()); at != "" {
				hint := "write a path from this file's folder, such as .. for the project"
				if before, _, _ := strings.Cut(n.String(), at); strings.Contains(before, ":/") {
					hint = "write a name in its place, and the same in workspaceFolder"
				}
				out = append(out, rule.AtCompose(n, fmt.Sprintf("Compose does not know %s, and puts nothing in its place", at), hint))
			}
		})
	}
	for _, i := range v.Build.Instructions() {
		if at := ours.FindString(i.Source()); at != "" && v.Kind() == devcontainer.ConfigFile {
			start, end := i.Find(at)
			out = append(out, v.AtDockerfile(start, end, fmt.Sprintf("a build knows no %s, and makes it empty", at),
				"COPY takes paths from the context's folder; an ARG and build.args bring anything else"))
		}
	}
	return out
}

// cutDefaults reports defaults that end at a colon.
func cutDefaults(v *rule.View) (out []rule.Finding) {
	for _, u := range uses(v) {
		if u.ofEnv() && len(u.parts) > 3 {
			out = append(out, v.AtValue(u.node, fmt.Sprintf("the default of %s is %q to the reference CLI", u.whole, u.parts[2]),
				"choose a default without a colon, or set it where it is used"))
		}
	}
	return append(out, shellDefaults(v)...)
}

// namelessVariables reports variables of an environment without a name.
func namelessVariables(v *rule.View) (out []rule.Finding) {
	for _, u := range uses(v) {
		if u.nameless() {
			out = append(out, v.AtValue(u.node, u.whole+" names no variable", fmt.Sprintf("write ${%s:NAME}", u.parts[0])))
		}
	}
	return out
}

// unspecifiedVariables reports env, which the specification does not have.
func unspecifiedVariables(v *rule.View) (out []rule.Finding) {
	for _, u := range uses(v) {
		if u.parts[0] == "env" && !u.command && !u.nameless() {
			out = append(out, v.AtValue(u.node, u.whole+" is not in the specification", "write ${localEnv:…}").
				FixedBy(replaceIn(v, u.node, "${env:", "${localEnv:")))
		}
	}
	return out
}

// earlyVariables reports the container's variables where the container is made.
func earlyVariables(v *rule.View) (out []rule.Finding) {
	for _, u := range uses(v) {
		if u.parts[0] == "containerEnv" && u.early && !u.nameless() {
			f := v.AtValue(u.node, u.whole+" is not known yet when the container is made", "use it in remoteEnv")
			if !strings.HasPrefix(u.node.Pointer, "/containerEnv/") {
				f.Hint = "write out what it is in the container, such as /home/NAME for its HOME"
			}
			if path := v.Root.Member("containerEnv").Member("PATH"); u.node == path && !hasSystemFolder(path.TextOr("")) {
				f.Message += ", and without a PATH of the system nothing starts"
				f.Severity = diag.SeverityError
			}
			out = append(out, f)
		}
	}
	return out
}

// replaceIn edits the source of a string value, if it has old literally.
func replaceIn(v *rule.View, n *jsonc.Node, old, replacement string) []jsonc.Edit {
	src := string(v.Config.Src[n.Start:n.End])
	if !strings.Contains(src, old) {
		return nil
	}
	return jsonc.Replace(n, strings.ReplaceAll(src, old, replacement))
}

// envMistakes reports values of variables that their reader refuses or does not find, which it was asked itself.
func envMistakes(v *rule.View) (out []rule.Finding) {
	tool, _ := baseimage.Version(v.BaseImage())
	image, _ := baseimage.Of(v.BaseImage())
	lists := []string{"PATH", "PYTHONPATH", "NODE_PATH"}
	for _, r := range v.Of(rights.Env, rights.SessionEnv) {
		if !r.Own() || r.Value == "" || r.Notation == rights.Label {
			continue
		}
		ours := r.Notation == rights.Property && !strings.Contains(r.Value, "$") && asItIs(v)
		switch {
		case slices.Contains(lists, r.Name) && semicolon.MatchString(r.Value):
			out = append(out, rule.AtRight(r, fmt.Sprintf("%s has a semicolon, which is a part of a folder's name here", r.Name),
				"write a colon between two folders"))
		case r.Name == "NODE_OPTIONS" && spacedOption.MatchString(r.Value):
			out = append(out, rule.AtRight(r, "node takes a value in NODE_OPTIONS only behind =, and does not start",
				"write "+strings.Replace(spacedOption.FindString(r.Value), " ", "=", 1)))
		case r.Name == "GOROOT" && ours && tool == "go" && path.Clean(r.Value) != "/usr/local/go":
			out = append(out, rule.AtRight(r, fmt.Sprintf("Go is in /usr/local/go of %s, and finds nothing elsewhere", v.BaseImage()),
				"leave it out"))
		case r.Name == "JAVA_HOME" && ours && image.ForDevContainers() && tool == "java" && systemsJava.MatchString(r.Value):
			out = append(out, rule.AtRight(r, fmt.Sprintf("%s has no Java of the system there", v.BaseImage()),
				"leave it out: the image sets it to /usr/local/sdkman/candidates/java/current"))
		}
	}
	return append(out, settingsElsewhere(v)...)
}

var (
	semicolon    = lazyregexp.New(`[}\w];([/$]|$)`)
	spacedOption = lazyregexp.New(`--(max[-_]old[-_]space[-_]size|max[-_]semi[-_]space[-_]size|stack[-_]trace[-_]limit) \d+`)
	systemsJava  = lazyregexp.New(`^/usr/lib/jvm/(java-|temurin|default|adoptopenjdk|jdk-|zulu)`)
)
