package migrate

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// The names in this file are known to be harmless. All else may be a secret: it is neither
// taken nor shown.

var (
	modelForm = lazyregexp.New(`^(opus|sonnet|haiku|opusplan|` +
		`claude-([0-9]{1,2}-){0,2}[a-z]{3,10}(-[0-9]{1,2}){0,2}(-20[0-9]{6}|-latest)?)(\[1m\])?$`)
	harmlessValue = lazyregexp.New(`^(?i:[0-9]{1,3}|true|false|yes|no|on|off|` +
		`trace|debug|verbose|info|notice|warn|warning|error|fatal|silent)$`)
	secretName = lazyregexp.New(`PASS|PWD|SECRET|TOKEN|KEY|CRED|AUTH|BEARER|COOKIE|SESSION|SIGNATURE|` +
		`(^|_)(PIN|OTP|TOTP|MFA|CVV|CVC|CODE|SIG|SALT|SEED|ID|USER|LOGIN|ACCOUNT)(_|$)`)
	variableForm  = lazyregexp.New(`^[A-Z][A-Z0-9_]{0,79}$`)
	referenceForm = lazyregexp.New(`^\$\{([A-Z][A-Z0-9_]{0,79})\}$`)
	packageForm   = lazyregexp.New(`^(?:@([a-z][a-z0-9-]*)/)?([a-z][a-z0-9._-]*)(?:@(?:latest|[0-9]{1,3}(?:\.[0-9]{1,3}){0,2}))?$`)
	hostForm      = lazyregexp.New(`^(?:\*\.)?([a-z0-9_-]+(?:\.[a-z0-9_-]+)*)(?::[0-9]{1,5})?$`)
	wordsForm     = lazyregexp.New(`^[A-Za-z0-9]+([._-]{1,2}[A-Za-z0-9]+)*$`)
	hexForm       = lazyregexp.New(`^(?i:[0-9a-f]{8,})$`)
	digit         = lazyregexp.New(`[0-9]`)
	consonants    = lazyregexp.New(`(?i)[b-df-hj-np-tv-xz]{5}`)
	turn          = lazyregexp.New(`[a-z][A-Z]`)
	digits        = lazyregexp.New(`[0-9]+`)
)

// harmlessFlags are arguments that have no value.
var harmlessFlags = []string{"-y", "--yes", "-q", "--quiet", "--stdio", "stdio", "run", "-m", "."}

// packageAfter is the argument behind which a program has the name of a package;
// "" = behind its flags.
var packageAfter = map[string]string{"npx": "", "bunx": "", "uvx": "", "pipx": "run", "python": "-m", "python3": "-m"}

// harmlessArgs reports whether each argument is a flag without a value, the name of a
// package in its place, or the reference to a variable; these it returns by name. A path of
// this machine is none: the sandbox does not have it.
func harmlessArgs(command string, args []string) (references []string, ok bool) {
	after, fetches := packageAfter[command]
	for i, arg := range args {
		if m := referenceForm.FindStringSubmatch(arg); m != nil && plain(m[1]) {
			references = append(references, m[1])
			continue
		}
		if slices.Contains(harmlessFlags, arg) {
			continue
		}
		if !fetches || after != "" && (i == 0 || args[i-1] != after) || !harmlessPackage(arg) {
			return nil, false
		}
		fetches = false // what follows is read by the package
	}
	return references, true
}

func harmlessPackage(name string) bool {
	m := packageForm.FindStringSubmatch(name)
	return m != nil && (m[1] == "" || plain(m[1])) && plain(m[2])
}

// harmlessVariable reports whether a variable may be taken with its value: neither the name
// nor the form says secret.
func harmlessVariable(name, value string) bool {
	return !secretName.MatchString(name) && harmlessValue.MatchString(value)
}

// harmlessHost reports whether a host's labels are words, or it is an IPv4 address.
func harmlessHost(host string) bool {
	m := hostForm.FindStringSubmatch(host)
	if m == nil {
		return false
	}
	if ip, err := netip.ParseAddr(m[1]); err == nil {
		return ip.Is4()
	}
	return !slices.ContainsFunc(strings.Split(m[1], "."), func(label string) bool { return !plain(label) })
}

// plain reports whether text is a few words, as names are, and nothing that was drawn at
// random: few digits at the edges of words, few changes of case, and no run of consonants
// that is no word.
func plain(text string) bool {
	const most, longestWord, mostDigits, short = 64, 28, 4, 5
	if len(text) > most || !wordsForm.MatchString(text) || len(digit.FindAllString(text, -1)) > mostDigits {
		return false
	}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("._-", r) }) {
		switch at := digits.FindAllStringIndex(word, -1); {
		case len(word) <= short:
		case len(word) > longestWord, hexForm.MatchString(word), len(turn.FindAllString(word, -1)) > max(1, len(word)/6),
			len(word) > short+2 && consonants.MatchString(word),
			len(at) > 1, len(at) == 1 && at[0][0] > 0 && at[0][1] < len(word):
			return false
		}
	}
	return redactor.String(text) == text
}

// named is a name of a file for the screen: kind and the name, or kind alone where the name
// may be a secret.
func named(kind, name string) string {
	if !plain(name) {
		return kind + " (its name is not shown: it may hold a secret)"
	}
	return kind + " " + name
}
