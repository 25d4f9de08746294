package redact

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"sync"
)

// Programs differ in the characters that they escape: PHP writes "\/" in JSON, .NET "\u002B"
// and Gson "\u003d", Python's quote leaves "/" in an address and JavaScript's "!". So each
// character of a secret may stand as it is or escaped in any of these ways.

// maxBackslashes is the most of them in front of an escape of JSON that stands in JSON, up to
// jsonLevels.
const maxBackslashes = 1<<jsonLevels - 1

// escapes returns how a byte is written in addresses and HTML, in small letters.
var escapes = sync.OnceValue(func() *[256][]string {
	var all [256][]string
	for i := range all {
		all[i] = []string{fmt.Sprintf("%%%02x", i)}
		if i >= 0x80 {
			continue
		}
		all[i] = append(all[i], fmt.Sprintf("&#%d;", i), fmt.Sprintf("&#%03d;", i), fmt.Sprintf("&#x%02x;", i), fmt.Sprintf("&#x%x;", i))
		if named := html.EscapeString(string(rune(i))); len(named) > 1 {
			all[i] = append(all[i], named)
		}
	}
	all['"'], all['\''] = append(all['"'], "&quot;"), append(all['\''], "&apos;")
	all[' '] = append(all[' '], "+")
	for i := range all {
		slices.Sort(all[i])
		all[i] = slices.Compact(all[i])
	}
	return &all
})

// unicodeEscape is how a byte of ASCII is written behind a backslash in JSON, in small letters.
func unicodeEscape(c byte) string {
	const digits = "0123456789abcdef"
	return string([]byte{'u', '0', '0', digits[c>>4], digits[c&15]})
}

// matchEscaped looks for secret at the start of text, with any of its bytes escaped, and in
// lines, as programs write base64. It returns the length of the match, 0 if there is none.
// undecided means that text ends too early to tell.
func matchEscaped(text, secret string) (n int, undecided bool) {
	for i := range len(secret) {
		if n == len(text) {
			return 0, true
		}
		size, wait := unit(text[n:], secret[i])
		if size == 0 && !wait && i > 0 {
			var end int
			if end, wait = lineEnd(text[n:]); end > 0 {
				if n += end; n == len(text) {
					return 0, true
				}
				size, wait = unit(text[n:], secret[i])
			}
		}
		if size == 0 {
			return 0, wait
		}
		n += size
	}
	return n, false
}

// lineEnds are ends of lines, also as in JSON, and JSON in that.
var lineEnds = sync.OnceValue(func() (all []string) {
	for _, end := range []string{"\r\n", "\n"} {
		all = append(all, end)
		for range jsonLevels {
			end = jsonEscaped(end, false)
			all = append(all, end)
		}
	}
	return all
})

// lineEnd returns the length of one line end at the start of text; 0 = there is none, or, with
// wait, more of text is wanted.
func lineEnd(text string) (n int, wait bool) {
	if c := text[0]; c != '\n' && c != '\r' && c != '\\' {
		return 0, false
	}
	for _, end := range lineEnds() {
		switch {
		case strings.HasPrefix(text, end):
			return len(end), false
		case strings.HasPrefix(end, text):
			wait = true
		}
	}
	return 0, wait
}

// unit returns the length of what stands for c at the start of text, which is not empty;
// 0 = something else stands there, or, with wait, more of text is wanted.
func unit(text string, c byte) (n int, wait bool) {
	try := func(from int, want string) bool {
		have := min(len(text)-from, len(want))
		if !strings.EqualFold(text[from:from+have], want[:have]) {
			return false
		}
		if n = from + have; have < len(want) {
			n, wait = 0, true
		}
		return n > 0
	}
	switch text[0] {
	case '%', '&', '+':
		for _, e := range escapes()[c] {
			if try(0, e) {
				return n, false
			}
		}
	case '\\':
		run := len(text) - len(strings.TrimLeft(text, `\`))
		escapable := c < 0x80 && run <= maxBackslashes
		byItself := c != '\\' && kindOf(c) == sign // \" and \/, and not the backslashes themselves
		if escapable && (try(run, unicodeEscape(c)) || byItself && try(run, string(rune(c)))) {
			return n, false
		}
	}
	if !wait && text[0] == c {
		n = 1
	}
	return n, wait
}

// beginsEscaped notes that a match can begin as an escaped secret does.
func (r *Redactor) beginsEscaped(secret string) {
	first, second := secret[0], secret[1]
	r.begins(secret)
	for _, e := range escapes()[second] {
		r.begins(string([]byte{first, e[0]}))
	}
	for _, c := range []byte(`\` + "\r\n") {
		r.begins(string([]byte{first, c}))
	}
	own := append([]string{`\\`, `\u`}, escapes()[first]...)
	if kindOf(first) == sign {
		own = append(own, string([]byte{'\\', first}))
	}
	for _, e := range own {
		if len(e) == 1 { // "+"
			e += string(second)
		}
		r.begins(e)
		r.begins(e[:1] + strings.ToUpper(e[1:2]))
	}
}
