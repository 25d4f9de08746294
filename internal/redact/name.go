package redact

import (
	"regexp"
	"strings"
)

// secretWords are what the name of a secret has in it; names come in lower case
// with _ for every separator.
var secretWords = regexp.MustCompile(`passw|passphrase|pwd|secret|token|api_?key|access_?key|private_?key|credential|` +
	`auth|bearer|cookie|signature|session|(?:^|_)(?:pass|otp|sig)(?:_|$)|_key$`)

// harmless are words that have one of them in theirs.
var harmless = strings.NewReplacer("authori", "auth", "author", "", "-", "_", ".", "_")

// secretName reports whether a flag, variable, header or parameter of this name
// has a secret as its value.
func secretName(name string) bool {
	name = strings.TrimLeft(harmless.Replace(strings.ToLower(name)), "_")
	return name != "pwd" && name != "oldpwd" && secretWords.MatchString(name)
}

var (
	// pairName is a name and what stands between it and its value.
	pairName = regexp.MustCompile(`([\w.-]+)["']?\s*[=:]\s*`)
	// pairValue is the value: in quotes, in brackets or neither, behind a scheme or not.
	pairValue = regexp.MustCompile(`^((?i:bearer|basic|token)\s+)?("(?:[^"\\]|\\.)*"?|'[^']*'?|\([^)]*\)?|[^\s&;"']+)`)
)

// redactPairs replaces the values of secret names wherever they stand in text.
func redactPairs(text string) string {
	var b strings.Builder
	for {
		m := pairName.FindStringSubmatchIndex(text)
		if m == nil {
			b.WriteString(text)
			return b.String()
		}
		name, rest := text[m[2]:m[3]], text[m[1]:]
		b.WriteString(text[:m[1]])
		text = rest // a value may begin with another name
		if !secretName(name) {
			continue
		}
		v := pairValue.FindStringSubmatchIndex(rest)
		if v == nil {
			continue
		}
		end := v[1]
		if v[2] < 0 && strings.HasSuffix(strings.ToLower(name), "authorization") {
			end += schemeEnd(rest[end:])
		}
		quote := ""
		if c := rest[v[4]]; c == '"' || c == '\'' {
			quote = string(c)
		}
		b.WriteString(quote + Placeholder + quote)
		text = rest[end:]
	}
}

// schemeEnd returns the length of the word that follows an unknown scheme:
// then the first word was the scheme, and this one is the secret.
func schemeEnd(rest string) int {
	word := strings.TrimLeft(rest, " \t")
	blanks := len(rest) - len(word)
	if blanks == 0 {
		return 0
	}
	if i := strings.IndexAny(word, " \t\r\n\"'"); i >= 0 {
		return blanks + i
	}
	return len(rest)
}

// looksRandom reports whether a long word is rather drawn than written: digits
// and letters of both cases, few of which stand with others of their kind. So
// commit hashes, paths and names of tests are none.
func looksRandom(word string) bool {
	const awsSecret = 40 // characters, with / among them, and no other sign
	if len(word) == awsSecret && word[0] != '/' && !strings.ContainsAny(word, "-_=") && mixed(word, 1, 55) {
		return true
	}
	for part := range strings.SplitSeq(word, "/") { // of a path or URL
		if len(part) >= 32 && mixed(part, 2, 45) {
			return true
		}
	}
	return mixed(word, 3, 30)
}

// mixed reports whether word has letters of both cases, so many digits, and at
// most so many per cent of its characters in runs of four or more of a kind. Of
// drawn ones one in ten is.
func mixed(word string, digits, inRuns int) bool {
	const longRun = 4
	var seen [kinds]int
	run, runs, last := 0, 0, -1
	for i := 0; i <= len(word); i++ {
		kind := -1
		if i < len(word) {
			kind = kindOf(word[i])
			seen[kind]++
		}
		if kind == last {
			run++
			continue
		}
		if run >= longRun {
			runs += run
		}
		run, last = 1, kind
	}
	return seen[upperCase] > 0 && seen[lowerCase] > 0 && seen[digit] >= digits && runs*100 <= len(word)*inRuns
}

const (
	upperCase = iota
	lowerCase
	digit
	sign
	kinds
)

func kindOf(c byte) int {
	switch {
	case 'A' <= c && c <= 'Z':
		return upperCase
	case 'a' <= c && c <= 'z':
		return lowerCase
	case '0' <= c && c <= '9':
		return digit
	}
	return sign
}
