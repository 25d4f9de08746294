package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
	"github.com/org/claude-sandbox/workspace/obeyed"

	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
)

// literalSecrets reports keys in the files.
func literalSecrets(v *rule.View) (out []rule.Finding) {
	for _, r := range v.Of(rights.Env, rights.SessionEnv, rights.BuildArg) {
		if r.Host != "" || r.Notation == rights.Dockerfile { // dockerfileKeys reads ARG, too
			continue
		}
		if !isSecret(r.Name, r.Value) {
			if isPassword(r.Name, r.Value) && !r.Next {
				f := rule.AtRight(r, r.Name+" is written out",
					"everybody who has the repository has it; name it in \"secrets\", or let ${localEnv:"+r.Name+"} set it")
				f.Severity = diag.SeverityNote
				out = append(out, f)
			}
			continue
		}
		hint := "revoke it, and name the secret in sandbox.jsonc or in \"secrets\""
		if r.Notation == rights.Compose {
			hint = "revoke it, and pass it as a secret of Compose"
		}
		out = append(out, rule.AtRight(r, fmt.Sprintf("%s holds what looks like a key", r.Name), hint))
	}
	return append(out, dockerfileKeys(v)...)
}

const hintComposeSecret = "pass it as a secret of Compose, which is a file in the container"

// secretFromHost reports whether a variable gets a key of the host, by its name or as the settings say. In a
// Feature's metadata nothing fills the host's variables in.
func secretFromHost(v *rule.View, r rights.Right) bool {
	return r.Host != "" && r.Notation != rights.Feature &&
		(secretName.MatchString(r.Host) || secretName.MatchString(r.Name) || keyIn(v, r) != "")
}

// composeVariable is a variable of the host in a Compose file.
var composeVariable = lazyregexp.New(`\$\{?([A-Za-z_][A-Za-z0-9_]*)`)

// keyIn is the host's variable in a right from which the project's settings take a key; "" = there is none.
func keyIn(v *rule.View, r rights.Right) string {
	names := []string{r.Host}
	if r.Notation == rights.Compose { // whose rights have the name of the variable that is set
		for _, m := range composeVariable.FindAllStringSubmatch(string(r.Place.Doc.Src[r.Place.Start:r.Place.End]), -1) {
			names = append(names, m[1])
		}
	}
	for _, name := range names {
		if name != "" && isKeyOf(v, name) {
			return name
		}
	}
	return ""
}

// isKeyOf reports whether the project's settings take a key from a variable of the host.
func isKeyOf(v *rule.View, variable string) bool {
	if v.Settings == nil || v.Settings.Root.Member("secrets") == nil {
		return false
	}
	return slices.ContainsFunc(v.Settings.Root.Member("secrets").Elements, func(e *jsonc.Node) bool {
		from, written := e.Member("from").Str()
		if name, _ := e.Member("name").Str(); !written {
			from = "env:" + name
		}
		return e.Member("for") != nil && from == "env:"+variable
	})
}

// inspectableSecrets reports keys of the host in the container's environment.
func inspectableSecrets(v *rule.View) (out []rule.Finding) {
	for _, r := range v.Of(rights.Env) {
		if !secretFromHost(v, r) || r.Next {
			continue
		}
		hint := "keep the key outside; if it must go in, remoteEnv at least is not stored"
		if r.Notation == rights.Compose {
			hint = hintComposeSecret
		}
		what := r.Host
		if key := keyIn(v, r); key != "" {
			what, hint = key, "take it out: the agent needs no key that goes with its requests"
		}
		out = append(out, rule.AtRight(r, what+" of the host becomes part of the container, where docker inspect shows it", hint))
	}
	return out
}

// sessionSecrets reports keys of the host in every session's environment.
func sessionSecrets(v *rule.View) (out []rule.Finding) {
	for _, r := range v.Of(rights.SessionEnv) {
		if secretFromHost(v, r) {
			out = append(out, rule.AtRight(r, fmt.Sprintf("every process of a session can read %s of the host", r.Host),
				"keep the key outside, behind a proxy on the host"))
		}
	}
	return out
}

// buildSecrets reports keys of the host as build arguments.
func buildSecrets(v *rule.View) (out []rule.Finding) {
	for _, r := range v.Of(rights.BuildArg) {
		switch {
		case !secretFromHost(v, r):
		case r.Notation == rights.Compose:
			out = append(out, rule.AtRight(r, r.Host+" stays readable in the image", hintComposeSecret))
		default:
			out = append(out, rule.AtRight(r, r.Host+" of the host becomes part of the image's history",
				"mount it for the one step that needs it: RUN --mount=type=secret"))
		}
	}
	return out
}

// envFilesInside reports files of variables in the workspace.
func envFilesInside(v *rule.View) (out []rule.Finding) {
	for _, r := range v.Of(rights.EnvFile) {
		from := rights.Origin(r.Value)
		inWorkspace := from.Base == "workspace" && !from.Leaves()
		relative := from.Base == "" && !strings.HasPrefix(from.Path, "..") && !strings.Contains(r.Value, "${")
		if inWorkspace || relative {
			out = append(out, rule.AtRight(r, r.Value+" lies in the workspace", "keep it outside the repository, or use \"secrets\""))
		}
	}
	return out
}

// secretsForAgent reports what of the host an agent's container gets as secrets
// or configs of Compose.
func secretsForAgent(v *rule.View) (out []rule.Finding) {
	if !v.Sandboxed() && !v.Agent() {
		return nil
	}
	for _, r := range v.Of(rights.Granted) {
		what := r.Mount.Source
		switch {
		case r.Next:
			continue
		case what == "" && r.Host != "":
			what = "the variable " + r.Host
		case what == "" || !outsideProject(v, what):
			continue
		case mountsEngine(r) || mountsSession(r) || sensitive(r.Mount) != "" && fromRootOrHome(r.Mount): // for which other rules stand
			continue
		}
		out = append(out, rule.AtRight(r, fmt.Sprintf("the agent can read %s of the host, which %s passes as %q", what, r.Key, r.Name),
			"keep it outside: a proxy on the host, or a service of its own that the agent asks"))
	}
	return out
}

// editorSocketNames are the variables that name those sockets. Without
// them the program that VS Code's GIT_ASKPASS starts reaches no editor.
var editorSocketNames = slices.DeleteFunc(obeyed.EditorVariables(), func(name string) bool {
	return strings.HasPrefix(name, "VSCODE_GIT_ASKPASS_")
})

// editorSockets reports those that a sandbox leaves in place.
func editorSockets(v *rule.View) []rule.Finding {
	if !v.Sandboxed() {
		return nil
	}
	env := v.Root.Member("remoteEnv")
	var open, lines []string
	for _, name := range editorSocketNames {
		if n := env.Member(name); n == nil {
			open, lines = append(open, name), append(lines, jsonc.Quote(name)+": null")
		}
	}
	if len(open) == 0 {
		return nil
	}
	f := v.AtMissing(env, "sessions get the editor's "+strings.Join(open, ", "), "set them to null in remoteEnv")
	switch {
	case env == nil:
		f.Edits = v.Config.AddMember(v.Root, "remoteEnv", "{\n  "+strings.Join(lines, ",\n  ")+"\n}")
	case env.Kind == jsonc.Object && len(env.Members) == 0:
		f.Edits = jsonc.Replace(env, "{"+strings.Join(lines, ", ")+"}")
	case env.Kind == jsonc.Object:
		f.Edits = v.Config.AddMember(env, open[0], "null"+strings.TrimPrefix(strings.Join(lines, ",\n"), lines[0]))
	}
	return []rule.Finding{f}
}

var (
	secretName = lazyregexp.New(`(?i)(TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|CREDENTIALS?)(_|$)`)
	// keyForm are forms that issuers document: Anthropic, OpenAI, GitHub,
	// GitLab, AWS, Google, Slack, npm, PEM.
	keyForm = lazyregexp.New(`^(sk-ant-|sk-proj-|gh[pousr]_[A-Za-z0-9]{20}|github_pat_|glpat-|A[KS]IA[A-Z0-9]{16}|` +
		`AIza[A-Za-z0-9_-]{30}|xox[abprs]-|npm_[A-Za-z0-9]{30}|-----BEGIN [A-Z ]*PRIVATE KEY)`)
	random = lazyregexp.New(`^[A-Za-z0-9+/=_.-]{20,}$`)
	// exampleKey are keys of documentation and of generators, which open nothing.
	exampleKey = lazyregexp.New(`(?i)example(key)?$|^django-insecure-|` +
		`^(your|my|change|insert|replace|dummy|fake|sample|example|placeholder)[-_]`)
	wordPart = lazyregexp.New(`^([a-z]+|[A-Z]+|[A-Z][a-z]+|[0-9]{1,4})$`)
	digit    = lazyregexp.New(`[0-9]`)
	letter   = lazyregexp.New(`[A-Za-z]`)
)

// spoken reports whether a value is made of words and small numbers, as people choose
// passwords for a database on their own machine: shop-user-password-321.
func spoken(value string) bool {
	parts := strings.FieldsFunc(value, func(r rune) bool { return r == '-' || r == '_' || r == '.' })
	return len(parts) > 1 && !slices.ContainsFunc(parts, func(p string) bool { return len(p) > 16 || !wordPart.MatchString(p) })
}

// isPassword reports whether a value that is written out is a password of somebody's choice:
// none of the defaults that every development database has, and no path, address or switch.
func isPassword(name, value string) bool {
	return passwordName.MatchString(name) && value != "" && !strings.ContainsAny(value, "$/{}<> ") && !plainValue.MatchString(value) &&
		!exampleKey.MatchString(value)
}

var (
	passwordName = lazyregexp.New(`(?i)(PASSWORD|PASSWD|_PWD)$`)
	plainValue   = lazyregexp.New(`(?i)^(true|false|yes|no|on|off|none|null|[0-9]{1,4}|x+|\*+|(my|your|db|test|dev|local|app)?[-_]?` +
		`(password|passw0rd|pass|secret|postgres(ql)?|root|admin|mysql|mariadb|mongo|redis|rabbitmq|guest|user|minio(admin)?|sa|default|` +
		`dev|test|example|changeme|change-me|letmein|vscode)[-_]?[0-9]{0,4}!?)$`)
)

// isSecret reports whether a literal value is most likely a key. An example
// password such as "postgres" is not worth a finding.
func isSecret(name, value string) bool {
	if strings.Contains(value, "${") {
		return false
	}
	found := keyForm.MatchString(value) || secretName.MatchString(name) && random.MatchString(value) && digit.MatchString(value) &&
		letter.MatchString(value)
	return found && !exampleKey.MatchString(value) && !spoken(value)
}
