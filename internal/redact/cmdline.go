package redact

import (
	"regexp"
	"strings"
)

// secretName matches the names of flags, variables, headers and parameters
// whose value is a secret.
const secretName = `[\w.-]*(?i:passw|passphrase|pwd|secret|token|api-?_?key|access-?_?key|private-?_?key|credential|authorization|auth|bearer|cookie|signature|session)[\w.-]*`

var (
	secretFlag   = regexp.MustCompile(`^--?` + secretName + `$`)
	secretAssign = regexp.MustCompile(`((?:^|[\s?&;"'{,:/])-{0,2}` + secretName + `["']?\s*[=:]\s*["']?)((?i:bearer\s+|basic\s+|token\s+)?[^\s&;"'},]+)`)
	urlUser      = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/@"']+@`)
	userFlags    = map[string]bool{"-u": true, "--user": true, "--proxy-user": true, "-U": true}
)

// CommandLine writes a command line for people, at most limit bytes of it: what
// r knows goes, and so does what is a secret by its place: the value of a flag,
// variable, header or parameter whose name says so, and the user and password in
// a URL. It is a guess, as everything that looks at forms is.
func (r *Redactor) CommandLine(args []string, limit int) string {
	words := make([]string, 0, len(args))
	size := 0
	for i, arg := range args {
		if size > 4*limit {
			break // what is cut anyway need not be looked at
		}
		switch {
		case i > 0 && (secretFlag.MatchString(args[i-1]) || userFlags[args[i-1]] && strings.Contains(arg, ":")):
			arg = Placeholder
		default:
			// Redacted before it is cut: half of a secret is not found any more.
			arg = r.String(arg[:min(len(arg), 64<<10)])
			arg = urlUser.ReplaceAllString(arg, "${1}"+Placeholder+"@")
			arg = secretAssign.ReplaceAllString(arg, "${1}"+Placeholder)
		}
		words = append(words, arg)
		size += len(arg) + 1
	}
	text := strings.Join(words, " ")
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:max(0, limit-3)], "") + "..."
	}
	return text
}

// secretVariable matches the names of variables whose value is a secret.
var secretVariable = regexp.MustCompile(`^` + secretName + `$|(?i:_key$|^key$)`)

// SecretsOf returns the values of those variables of environ (NAME=value) whose
// names say that they are secret.
func SecretsOf(environ []string) []string {
	var secrets []string
	for _, kv := range environ {
		if name, value, _ := strings.Cut(kv, "="); value != "" && secretVariable.MatchString(name) {
			secrets = append(secrets, value)
		}
	}
	return secrets
}
