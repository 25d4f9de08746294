package lint

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/baseimage"
	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// shellVariable is a variable as a shell replaces it. Text in capitals alone: a password may
// have a dollar sign.
var shellVariable = lazyregexp.New(`\$[A-Z][A-Z0-9_]+\b|\$\((pwd|whoami|id -u|id -g|uname|hostname)\)`)

// promptVariable matches variables whose value a shell expands whenever it prompts.
var promptVariable = lazyregexp.New(`^(PS[0-4]|PROMPT_COMMAND)$`)

// tilde matches a home folder in a value, alone or in a list such as PATH.
var tilde = lazyregexp.New(`^~(/|$)|:~/`)

// literalVariables reports variables of a shell in values that no shell reads.
func literalVariables(v *rule.View) (out []rule.Finding) {
	report := func(text string, at rights.Place, severity diag.Severity, hint string) {
		if variable := shellVariable.FindString(text); variable != "" {
			out = append(out, rule.Finding{Place: at, Message: fmt.Sprintf("nothing replaces %s here: the text stays as it is", variable),
				Hint: hint, Severity: severity})
		}
	}
	out = envMistakes(v)
	for _, r := range v.Of(rights.Env, rights.SessionEnv) {
		if r.Notation != rights.Property && r.Notation != rights.Option { // both go to the engine without a shell
			continue
		}
		if tilde.MatchString(r.Value) && !shellVariable.MatchString(r.Value) {
			out = append(out, rule.AtRight(r, "no shell replaces the ~ here: programs get the text as it is",
				`write the whole path, or ${containerEnv:HOME} in remoteEnv`))
		}
		switch {
		case promptVariable.MatchString(r.Name): // a shell reads its value later
		case r.Name != "PATH":
			report(r.Value, r.Place, "", `write ${localEnv:NAME} for a variable of this machine; in remoteEnv also ${containerEnv:NAME}`)
		case r.Kind == rights.SessionEnv:
			report(r.Value, r.Place, diag.SeverityError, `no program is found with it; write "${containerEnv:PATH}:/more"`)
		default:
			report(r.Value, r.Place, diag.SeverityError,
				`no program is found with it; write "remoteEnv": {"PATH": "${containerEnv:PATH}:/more"}`)
		}
	}
	for _, m := range v.Root.Member("build").Member("args").Fields() {
		report(m.Value.TextOr(""), v.AtValue(m.Value, "", "").Place, "", "write ${localEnv:NAME} for a variable of this machine")
	}
	const hint = "write ${localEnv:HOME} or ${localWorkspaceFolder}"
	for _, r := range v.Of(rights.Mounted) {
		if (r.Notation == rights.Property || r.Key == "mount") && !v.ByCompose() { // which replaces them
			report(cmp.Or(r.Value, r.Mount.Source+" "+r.Mount.Target), r.Place, diag.SeverityError, hint)
		}
	}
	if n := v.Root.Member("workspaceFolder"); n != nil {
		report(n.TextOr(""), v.AtValue(n, "", "").Place, diag.SeverityError, hint)
	}
	return out
}

// hasSystemFolder reports whether a PATH has one of the folders with the system's programs.
func hasSystemFolder(value string) bool {
	return slices.ContainsFunc(strings.Split(value, ":"), func(folder string) bool { return slices.Contains(systemPath, path.Clean(folder)) })
}

// lostPaths reports a PATH in which no program of the system is found.
func lostPaths(v *rule.View) (out []rule.Finding) {
	if strings.Contains(v.BaseImage(), "nix") { // whose programs lie elsewhere
		return nil
	}
	out = slices.Concat(hostsPaths(v), rootsPaths(v))
	for _, r := range v.Of(rights.Env, rights.SessionEnv) {
		literal := r.Value != "" && r.Host == "" && !strings.Contains(r.Value, "$")
		if r.Name != "PATH" || !r.Own() || r.Notation == rights.Label || !literal || hasSystemFolder(r.Value) {
			continue
		}
		hint := "write ENV PATH=/more:$PATH"
		switch r.Notation {
		case rights.Property:
			hint = `write "remoteEnv": {"PATH": "${containerEnv:PATH}:/more"}`
		case rights.Option, rights.Compose:
			hint = "write the folders of the image's PATH as well, or set it in the Dockerfile: ENV PATH=/more:$PATH"
		}
		out = append(out, rule.AtRight(r, "this PATH has no folder of the system: even ls is not found", hint))
	}
	return out
}

// hostsPaths reports a PATH of this machine in the place of the container's: programs that the image has elsewhere are lost.
func hostsPaths(v *rule.View) (out []rule.Finding) {
	for _, r := range v.Of(rights.Env, rights.SessionEnv) {
		ours := r.Notation == rights.Property && r.Name == "PATH"
		if !ours || !strings.Contains(r.Value, "${localEnv:PATH}") || strings.Contains(r.Value, "${containerEnv:PATH}") {
			continue
		}
		f := rule.AtRight(r, "the PATH of this machine replaces the container's, and programs of the image may not be found",
			`write "remoteEnv": {"PATH": "${containerEnv:PATH}:/more"}`)
		f.Severity = diag.SeverityWarning
		out = append(out, f)
	}
	return out
}

// ofRootsHome matches a folder of a PATH below root's home, which others may not enter.
var ofRootsHome = lazyregexp.New(`(^|:)/root/[^:]+`)

// opensHome matches steps after which others may enter root's home.
var opensHome = lazyregexp.New(`(chmod|setfacl|usermod|chown)[^\n]*/root`)

// rootsPaths reports a folder of PATH that the Dockerfile has below root's home, while another user works in the container.
func rootsPaths(v *rule.View) (out []rule.Finding) {
	user, known := v.SessionUser()
	image, ok := baseimage.Of(v.BaseImage())
	closed := ok && (image.Official() || image.ForDevContainers())
	other := known && user != "" && !rule.IsRoot(user)
	if !closed || !other || v.Build == nil || v.HasFeatures() || slices.ContainsFunc(v.Build.History(), func(i *dockerfile.Instruction) bool {
		return i.Unread || opensHome.MatchString(i.Source())
	}) {
		return nil
	}
	for _, r := range v.Of(rights.Env) {
		folder := strings.TrimPrefix(ofRootsHome.FindString(r.Value), ":")
		if r.Name != "PATH" || !r.Own() || r.Notation != rights.Dockerfile || folder == "" {
			continue
		}
		f := rule.AtRight(r, fmt.Sprintf("%s finds no program in %s: only root may enter /root", user, folder),
			"install the program for all, such as below /usr/local or /opt")
		f.Severity = diag.SeverityWarning
		out = append(out, f)
	}
	return out
}

// systemPath are the folders with the system's programs.
var systemPath = []string{"/bin", "/usr/bin", "/usr/local/bin"}

// The rules about runArgs read its elements, and not what they give the container: they judge how the words are written, of
// options that give nothing too.
