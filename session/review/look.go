package review

import (
	"bytes"
	"fmt"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/org/claude-sandbox/internal/lazyregexp"
	"github.com/org/claude-sandbox/internal/redact"
	"github.com/org/claude-sandbox/sandbox/changes"
	"github.com/org/claude-sandbox/workspace/obeyed"
)

// Bounds of a line, in bytes: beyond one a reader's screen or patience ends.
const (
	longLine = 1000
	longGap  = 60 // blanks in a line, behind which something follows
	manyGap  = 40 // empty lines, behind which something follows
)

// installRules are lines by which a manifest has an install run a program, by the
// file's name in lower case.
var installRules = map[string]*lazyregexp.Regexp{
	"package.json": lazyregexp.New(
		// Those of "dependencies" and "version" that are scripts: the first is an object else,
		// and the second a version.
		`"(pre|post)(install|prepare|pack|publish|version|uninstall|dependencies)"\s*:|"(install|prepare|pack|publish|uninstall)"\s*:|` +
			`"dependencies"\s*:\s*([^\s{]|$)|"version"\s*:\s*([^\s"]|"[^"0-9]|"[0-9][0-9A-Za-z.+-]*[^0-9A-Za-z.+"-]|$)|` +
			`"prepublishOnly"\s*:|"(gypfile|bin)"\s*:|"packageManager"\s*:.*://`),
	"composer.json": lazyregexp.New(`"(pre|post)-[a-z-]+"\s*:|"allow-plugins"\s*:`),
	"pyproject.toml": lazyregexp.New(`^\s*["']?(build-system["'.\s]*)?(build-backend|backend-path|requires)["']?\s*=|` +
		`^\s*(\[build-system\]|\[tool\.[\w.-]*build)`),
	"setup.py":      lazyregexp.New(`\S`),
	"cargo.toml":    lazyregexp.New(`^\s*(build|links|proc-macro)\s*=|^\s*\[build-dependencies`),
	"build.rs":      lazyregexp.New(`\S`),
	"binding.gyp":   lazyregexp.New(`\S`),
	".npmrc":        lazyregexp.New(`\S`),
	".yarnrc.yml":   lazyregexp.New(`\S`),
	".pnpmfile.cjs": lazyregexp.New(`\S`),
	"pip.conf":      lazyregexp.New(`\S`),
	"extconf.rb":    lazyregexp.New(`\S`),
}

// fetches finds a program that comes from the network, or from an encoded
// text, and is run at once.
var fetches = lazyregexp.New(`(?i)\b(curl|wget|base64|xxd|invoke-webrequest|iwr|irm)\b.*(\|\s*(sudo\s+)?(env\s+)?(/\S*/)?` +
	`((ba|z|da|k|a|fi)?sh|python[0-9.]*|perl|ruby|node|php|iex|source)\b)` +
	`|\b(eval|source|sh|bash|zsh|iex)\b.*(\$\(|<\(|` + "`" + `|\()\s*(curl|wget|base64|xxd|iwr|irm|invoke-webrequest)\b`)

// fetchWords must be in a line that fetches.
var fetchWords = [][]byte{[]byte("curl"), []byte("wget"), []byte("base64"), []byte("xxd"), []byte("iwr"), []byte("irm"),
	[]byte("invoke-webrequest")}

// secretWords name what may be a secret, in lower case.
var secretWords = [][]byte{[]byte("secret"), []byte("token"), []byte("passw"), []byte("apikey"), []byte("api_key"), []byte("api-key"),
	[]byte("privatekey"), []byte("private_key"), []byte("private-key"), []byte("credential"), []byte("authorization")}

// urlUser finds a password in an address.
var urlUser = lazyregexp.New(`://[^\s/:@"'$<{]+:[^\s/:@"'$<{]{6,}@`)

// look looks at the lines that a file got.
type look struct {
	install *lazyregexp.Regexp // nil = the file installs nothing
	json    bool
	secrets *redact.Redactor
	tokens  bool            // the hunk holds one of a known form
	hosts   map[string]bool // from which a lock file takes packages since the run -> a line with it was seen
}

func newLook(c changes.Change, secrets *redact.Redactor) *look {
	name := obeyed.Folded(path.Base(c.Path))
	l := &look{install: installRules[name], json: strings.HasSuffix(name, ".json"), secrets: secrets, hosts: map[string]bool{}}
	for _, host := range c.NewPackageHosts {
		l.hosts[host] = false
	}
	return l
}

func takesFrom(host string) string {
	return fmt.Sprintf("an install takes packages from %s, which the file did not name", host)
}

// hunk finds what is dangerous in the lines that a hunk brings: of each kind the
// first line, and how many more there are.
func (l *look) hunk(h *Hunk) (found []Finding) {
	more := map[Kind]int{}
	note := func(k Kind, line int, text string) {
		if text == "" {
			return
		}
		if more[k]++; more[k] == 1 {
			found = append(found, Finding{k, line, text})
		}
	}
	l.tokens = l.secrets.String(string(h.Text)) != string(h.Text)
	number, empty := h.NewStart, 0
	for text := h.Text; len(text) > 0; {
		var line []byte
		line, text = cutLine(text)
		switch line[0] {
		case ' ':
			number++
		case '+':
			if len(bytes.TrimSpace(line[1:])) == 0 {
				empty++
			} else {
				if empty >= manyGap {
					note(Long, number, fmt.Sprintf("text behind %d empty lines", empty))
				}
				empty = 0
			}
			l.line(bytes.TrimSuffix(line[1:], []byte("\n")), number, note)
			number++
		}
	}
	if n := otherEnds(h.Text); n > 0 {
		note(Ends, h.NewStart, fmt.Sprintf("%d lines have another line end, and nothing else of them changed", n))
	}
	for i := range found {
		if n := more[found[i].Kind] - 1; n > 0 {
			found[i].Text += fmt.Sprintf("; and %d more such line(s)", n)
		}
	}
	return found
}

// otherEnds counts the lines of a hunk that have another line end than before, and nothing
// else.
func otherEnds(text []byte) (n int) {
	removed := map[string]int{} // of each body those that ended with \n, less those with \r\n
	for len(text) > 0 {
		var line []byte
		line, text = cutLine(text)
		body, windows := bytes.CutSuffix(line[1:], []byte("\r\n"))
		sign := 1
		if windows {
			sign = -1
		} else {
			body = bytes.TrimSuffix(body, []byte("\n"))
		}
		switch at := removed[string(body)]; {
		case line[0] == '-':
			removed[string(body)] += sign
		case line[0] == '+' && at*sign < 0: // there was one of the other end
			removed[string(body)] += sign
			n++
		}
	}
	return n
}

// line looks at one new line.
func (l *look) line(line []byte, number int, note func(Kind, int, string)) {
	note(Unseen, number, unseen(line, number == 1))
	note(Long, number, leavesScreen(line))
	if l.install != nil {
		text := line
		if l.json {
			text = unescaped(line)
		}
		if l.install.Match(text) {
			note(Install, number, "an install runs or obeys it: "+shortened(text))
		}
	}
	for host := range l.hosts {
		if bytes.Contains(bytes.ToLower(line), []byte(host)) {
			l.hosts[host] = true
			note(Install, number, takesFrom(host))
		}
	}
	if bytes.HasPrefix(line, []byte("//go:generate ")) {
		note(Build, number, "go generate runs it: "+shortened(line))
	}
	if len(line) > 8*longLine { // a search for patterns there costs more than it tells
		line = line[:8*longLine]
	}
	lower := bytes.ToLower(line)
	if hasAny(lower, fetchWords) && fetches.Match(line) {
		note(Fetch, number, "fetches or decodes a program and runs it: "+shortened(line))
	}
	if l.isSecret(line, lower) {
		note(Secret, number, "looks like a secret")
	}
}

func hasAny(line []byte, words [][]byte) bool {
	for _, w := range words {
		if bytes.Contains(line, w) {
			return true
		}
	}
	return false
}

// isSecret reports whether a line holds a token of a known form, a private key, an
// address with a password, or a random value that is named as a secret.
func (l *look) isSecret(line, lower []byte) bool {
	switch {
	case len(line) < 16:
		return false
	case l.tokens && l.secrets.String(string(line)) != string(line), bytes.Contains(line, []byte("PRIVATE KEY-----")):
		return true
	}
	if _, after, ok := bytes.Cut(line, []byte("://")); ok && bytes.IndexByte(after, '@') > 0 && urlUser.Match(line) {
		return true
	}
	for _, word := range secretWords {
		for rest := lower; ; {
			_, after, ok := bytes.Cut(rest, word)
			if !ok {
				break
			}
			if isAssigned(after) {
				return true
			}
			rest = after
		}
	}
	return false
}

// isAssigned reports whether what follows a name gives it a value that looks random:
// at least 16 characters of one word, with a letter and a digit, and no call.
func isAssigned(rest []byte) bool {
	const inName = "abcdefghijklmnopqrstuvwxyz0123456789_-"
	rest = bytes.TrimLeft(bytes.TrimLeft(rest, inName), "\"' \t")
	if len(rest) == 0 || rest[0] != ':' && rest[0] != '=' {
		return false
	}
	rest = bytes.TrimPrefix(bytes.TrimLeft(rest, ":= \t\"'`"), []byte("bearer "))
	value := rest[:len(rest)-len(bytes.TrimLeft(rest, inName+"+/.="))]
	return len(value) >= 16 && bytes.ContainsAny(value, "0123456789") && bytes.ContainsAny(value, "abcdefghijklmnopqrstuvwxyz") &&
		!bytes.HasPrefix(rest[len(value):], []byte("("))
}

// unescaped is a line of JSON in which escapes cannot hide a name.
func unescaped(line []byte) []byte {
	return unicodeEscape.ReplaceAllFunc(line, func(e []byte) []byte {
		n, _ := strconv.ParseUint(string(e[2:]), 16, 32) // of four hexadecimal digits
		return utf8.AppendRune(nil, rune(n))
	})
}

var unicodeEscape = lazyregexp.New(`\\u[0-9a-fA-F]{4}`)

// shortened is the beginning of a line without the blanks around it.
func shortened(line []byte) string {
	text := strings.TrimSpace(string(line[:min(len(line), 400)]))
	if len(text) > 120 {
		end := 120
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end] + "…"
	}
	return text
}

// leavesScreen says why a line is longer than people read; "" when it is not.
func leavesScreen(line []byte) string {
	gap, blanks := 0, 0
	for i, c := range line {
		if c == ' ' || c == '\t' {
			blanks++
			continue
		}
		if blanks >= longGap && i > longGap {
			gap = max(gap, i)
		}
		blanks = 0
	}
	switch {
	case gap > 0:
		return fmt.Sprintf("text behind many blanks, from byte %d on", gap+1)
	case len(line) > longLine:
		return fmt.Sprintf("a line of %d bytes", len(line))
	}
	return ""
}

const mixedLetters = "a word in letters of two alphabets that look alike"

// unseen says what a reader does not see in a line; "" for nothing.
func unseen(line []byte, isFirst bool) string {
	before, mixed := rune(0), scripts{}
	for at := 0; at < len(line); {
		c := line[at]
		if c < utf8.RuneSelf {
			switch {
			case c == '\t', c >= ' ' && c != 0x7f, c == '\r' && at == len(line)-1, c == '\f':
			default:
				return fmt.Sprintf("the control character U+%04X", c)
			}
			before, at = rune(c), at+1
			if mixed.add(before) {
				return mixedLetters
			}
			continue
		}
		r, n := utf8.DecodeRune(line[at:])
		switch {
		case r == utf8.RuneError && n == 1:
			return "bytes that are no UTF-8"
		case r == 0xFEFF && at == 0 && isFirst: // a byte order mark
		case joins(before, r):
		case unicode.In(r, unicode.Mn, unicode.Me) && before < utf8.RuneSelf && !(r == 0x20E3 && keycap(before)):
			return fmt.Sprintf("the character U+%04X, which draws over another one", r)
		case unicode.Is(unicode.Zs, r) && r != 0xA0 && r != 0x202F && r != 0x3000:
			return fmt.Sprintf("the character U+%04X, which looks like a blank", r)
		case r >= 0x1D400 && r <= 0x1D7FF:
			return fmt.Sprintf("the character U+%04X, which some programs take for an ordinary letter", r)
		case obeyed.Unseen(r), unicode.IsControl(r), unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r), unicode.Is(unicode.Co, r):
			return fmt.Sprintf("the character U+%04X, which cannot be seen or changes the order of others", r)
		}
		if mixed.add(r) {
			return mixedLetters
		}
		before, at = r, at+n
	}
	return ""
}

// joins reports whether a joiner or a variation selector does what it is for: between
// the parts of an emoji, or in scripts that need it.
func joins(before, r rune) bool {
	symbol := unicode.In(before, unicode.So, unicode.Sk, unicode.Sm, unicode.Po) && before >= 0xA9 || before == 0xFE0F || before == 0x20E3
	switch r {
	case 0xFE0F, 0xFE0E:
		return symbol || keycap(before)
	case 0x200D, 0x200C:
		return symbol || unicode.In(before, unicode.Arabic, unicode.Devanagari, unicode.Bengali, unicode.Tamil, unicode.Telugu, unicode.Kannada,
			unicode.Malayalam, unicode.Sinhala, unicode.Gujarati, unicode.Gurmukhi, unicode.Oriya, unicode.Myanmar, unicode.Khmer)
	}
	return false
}

// keycap reports whether a character is one that emojis put on a key.
func keycap(c rune) bool { return c >= '0' && c <= '9' || c == '#' || c == '*' }

// scripts tells words of two alphabets.
type scripts struct{ latin, other, wide bool }

// alike are letters, most of them Greek, that look like Latin ones or that programs take
// for these.
const alike = "ονιυΑΒΕΖΗΙΚΜΝΟΡΤΥΧ\u017f\u212aﬀﬁﬂﬃﬄﬅﬆ"

// add takes the next character and reports whether the word so far mixes alphabets
// whose letters look alike.
func (s *scripts) add(r rune) bool {
	switch {
	case r < utf8.RuneSelf && (r|0x20 >= 'a' && r|0x20 <= 'z'):
		s.latin = true
	case r == '(' && s.wide: // Python takes a wide name for the narrow one
		return true
	case r < utf8.RuneSelf && r != '_' && (r < '0' || r > '9'):
		*s = scripts{}
	case r >= 0xFF21 && r <= 0xFF5A:
		s.other, s.wide = true, true
	case unicode.In(r, unicode.Cyrillic, unicode.Armenian, unicode.Cherokee, unicode.Coptic, unicode.Lisu), strings.ContainsRune(alike, r):
		s.other = true
	case r >= utf8.RuneSelf && !unicode.IsLetter(r):
		*s = scripts{}
	}
	return s.latin && s.other
}

// short are names that Windows may have given to other files.
var short = lazyregexp.New(`^[^.~]{1,6}~[0-9](\.[^.]{0,3})?$`)

// reserved are names that Windows takes for devices.
var reserved = lazyregexp.New(`(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?$`)

// misleads says why a path is another one than it looks like; "" when it is not.
func misleads(rel string) string {
	if text := unseen([]byte(rel), false); text != "" {
		return "its name holds " + text
	}
	if strings.ContainsAny(rel, "\t") {
		return "its name holds a tabulator"
	}
	for part := range strings.SplitSeq(rel, "/") {
		switch {
		case obeyed.IsGitName(obeyed.Folded(part)) && part != ".git":
			return "some file systems take it for .git"
		case short.MatchString(part):
			return "Windows may take it for the short name of another file"
		case strings.HasPrefix(part, " "):
			return "its name begins with a blank"
		case strings.TrimRight(part, ". ") != part:
			return "its name ends with a dot or a blank, which Windows drops"
		case strings.ContainsAny(part, `\:`):
			return "its name holds a character that Windows takes for part of a path"
		case reserved.MatchString(part):
			return "Windows takes its name for a device"
		case strings.HasPrefix(part, "-"):
			return "commands take its name for an option"
		case strings.Contains(part, "     "):
			return "its name holds many blanks"
		}
	}
	return ""
}
