package redact

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/shellword"
)

const (
	// maxArgument bounds what is looked at of one argument, in bytes.
	maxArgument = 64 << 10
	// maxNested bounds how deep commands inside commands are read, as in sh -c
	// "bash -c '…'".
	maxNested = 4
)

// CommandLine writes a command line for people, at most limit bytes of it: what
// r knows goes, and so does what is a secret by its place (the value of a flag,
// variable, header or parameter whose name says so, the user and password in a
// URL) or looks like a key. Commands inside an argument, as of sh -c, are read
// like the command line itself. It is a guess, as everything that looks at forms
// is, and takes rather too much.
func (r *Redactor) CommandLine(args []string, limit int) string {
	// Text that is cut anyway need not be searched.
	text := strings.Join(r.arguments(args, 4*limit, 0), " ")
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:max(0, limit-3)], "") + "..."
	}
	return text
}

// arguments redacts the arguments one by one, until most bytes are reached.
func (r *Redactor) arguments(args []string, most, depth int) []string {
	words := make([]string, 0, len(args))
	size := 0
	for i, arg := range args {
		if size > most {
			break
		}
		code := i > 0 && shellFlag.MatchString(args[i-1])
		if secretByPlace(args[:i], arg) {
			arg = Placeholder
		} else {
			// Redacted before it is cut: half of a secret is not found any more.
			arg = r.argument(args[:i], arg[:min(len(arg), maxArgument)], code, most, depth)
		}
		words = append(words, arg)
		size += len(arg) + 1
	}
	return words
}

var (
	flag      = regexp.MustCompile(`^--?[\w.-]+$`)
	shellFlag = regexp.MustCompile(`^-[a-z]*c$`)
	// userFlags are followed by a user and a password.
	userFlags = map[string]bool{"-u": true, "-U": true, "-a": true, "--user": true, "--proxy-user": true}
	// passwordFlags are one-letter flags for passwords, by program or command.
	passwordFlags = map[string]string{
		"sshpass": "-p", "mysql": "-p", "mysqldump": "-p", "mysqladmin": "-p", "mariadb": "-p",
		"login": "-p", "redis-cli": "-a", "ldapsearch": "-w",
	}
	setters = []string{"set", "config", "add"}
)

// secretByPlace reports whether the arguments before arg make all of it secret.
func secretByPlace(before []string, arg string) bool {
	if len(before) == 0 {
		return false
	}
	last := before[len(before)-1]
	switch {
	case flag.MatchString(last) && secretName(last),
		userFlags[last] && strings.Contains(arg, ":"),
		last == "-b" && strings.Contains(arg, "="): // curl's cookies
		return true
	case strings.HasPrefix(last, "-"):
		return slices.ContainsFunc(before, func(w string) bool { return passwordFlags[path.Base(w)] == last })
	}
	return secretName(last) && slices.ContainsFunc(setters, func(w string) bool { return slices.Contains(before[:len(before)-1], w) })
}

var (
	// wholeHeader is an argument that is a header: behind -H, or with what
	// comes before the header in the same argument.
	wholeHeader = regexp.MustCompile(`(?s)^((?:-H|[^\s?&]*=)?([\w-]+):\s*).+$`)
	// wholeAssign is an argument that gives one variable or flag its value.
	wholeAssign = regexp.MustCompile(`(?s)^(-{0,2}([\w.:/@-]+)=)(.+)$`)
	furtherPair = regexp.MustCompile(`&[\w.-]+=`)
	joinedUser  = regexp.MustCompile(`^(-[uU]|--(?:proxy-)?user=)[^\s/:-][^\s/:]*:.+$`)

	urlUser  = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/"'?#]+@`)
	urlSlack = regexp.MustCompile(`(hooks\.slack\.com/services/)[^\s"']+`)
	pemKey   = regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`)
	longWord = regexp.MustCompile(`[A-Za-z0-9+/_-]{32,}={0,2}`)
)

// argument redacts one argument by what is in it. code says that it is a
// command.
func (r *Redactor) argument(before []string, arg string, code bool, most, depth int) string {
	arg = r.String(arg)
	if !code {
		if m := wholeHeader.FindStringSubmatch(arg); m != nil && secretName(m[2]) {
			return m[1] + Placeholder
		}
		if m := wholeAssign.FindStringSubmatch(arg); m != nil && secretName(m[2]) && !furtherPair.MatchString(m[3]) {
			return m[1] + Placeholder
		}
		if m := joinedUser.FindStringSubmatch(arg); m != nil {
			return m[1] + Placeholder
		}
		for _, w := range before {
			if f := passwordFlags[path.Base(w)]; f != "" && len(arg) > len(f) && strings.HasPrefix(arg, f) {
				return f + Placeholder
			}
		}
	}
	arg = pemKey.ReplaceAllString(arg, Placeholder)
	arg = urlUser.ReplaceAllString(arg, "${1}"+Placeholder+"@")
	arg = urlSlack.ReplaceAllString(arg, "${1}"+Placeholder)
	arg = redactPairs(arg)
	arg = longWord.ReplaceAllStringFunc(arg, func(w string) string {
		if looksRandom(w) {
			return Placeholder
		}
		return w
	})
	if depth < maxNested && strings.ContainsAny(arg, " \t\n") {
		arg = r.commands(arg, most, depth+1)
	}
	return arg
}

// commands redacts shell text: its words are arguments. A word that is not changed
// stays as it was written.
func (r *Redactor) commands(text string, most, depth int) string {
	spans, _ := shellword.Split(text)
	plain := make([]string, len(spans))
	for i, s := range spans {
		plain[i] = s.Text
	}
	var b strings.Builder
	end := 0
	for i, w := range r.arguments(plain, most, depth) {
		b.WriteString(text[end:spans[i].From])
		raw := text[spans[i].From:spans[i].To]
		switch quote := raw[0]; {
		case w == plain[i]:
			b.WriteString(raw)
		case quote == '\'' || quote == '"':
			b.WriteString(string(quote) + w + string(quote))
		default:
			b.WriteString(w)
		}
		end = spans[i].To
		if b.Len() > most {
			return b.String()
		}
	}
	b.WriteString(text[end:])
	return b.String()
}

// SecretsOf returns the values of those variables of environ (NAME=value) whose
// names say that they are secret.
func SecretsOf(environ []string) []string {
	var secrets []string
	for _, kv := range environ {
		if name, value, _ := strings.Cut(kv, "="); value != "" && (secretName(name) || strings.EqualFold(name, "key")) {
			secrets = append(secrets, value)
		}
	}
	return secrets
}
