package firewall

import (
	"strings"
	"unicode"

	"golang.org/x/net/idna"
)

// lookalikes are letters of other scripts that cannot be told from a Latin one
// in common typefaces (Unicode Technical Standard 39, confusables).
var lookalikes = map[rune]rune{
	// Cyrillic.
	'а': 'a', 'ԁ': 'd', 'е': 'e', 'һ': 'h', 'і': 'i', 'ј': 'j', 'ӏ': 'l', 'о': 'o', 'р': 'p', 'ԛ': 'q', 'с': 'c',
	'ѕ': 's', 'у': 'y', 'ѵ': 'v', 'ԝ': 'w', 'х': 'x', 'ԍ': 'g', 'к': 'k', 'т': 't', 'п': 'n', 'м': 'm',
	// Greek.
	'α': 'a', 'ο': 'o', 'ν': 'v', 'ρ': 'p', 'ι': 'i', 'κ': 'k', 'τ': 't', 'υ': 'u', 'ϲ': 'c', 'ϳ': 'j', 'γ': 'y', 'χ': 'x',
	// Armenian.
	'օ': 'o', 'ս': 'u', 'ո': 'n', 'ց': 'g', 'հ': 'h', 'յ': 'j', 'ք': 'p',
	// Latin itself.
	'ı': 'i', 'ɡ': 'g', 'ɑ': 'a',
}

// alphabets are the scripts whose letters are taken for one another.
var alphabets = []*unicode.RangeTable{unicode.Latin, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee}

// mixedScripts returns the first label of a name that mixes alphabets, in its
// readable form, and "" when there is none. No registry of note sells such a
// name; it is written to be mistaken for another one.
func mixedScripts(canonical string) string {
	for label := range strings.SplitSeq(readable(canonical), ".") {
		found := 0
		for _, table := range alphabets {
			if strings.IndexFunc(label, func(r rune) bool { return unicode.Is(table, r) }) >= 0 {
				found++
			}
		}
		if found > 1 {
			return label
		}
	}
	return ""
}

// foreignName returns the readable form of a name with letters outside ASCII,
// and the ASCII name that it looks like, "" when it is like none.
func foreignName(canonical string) (shown, like string, foreign bool) {
	shown = readable(canonical)
	if shown == canonical {
		return "", "", false
	}
	like = strings.Map(func(r rune) rune {
		if l, ok := lookalikes[r]; ok {
			return l
		}
		return r
	}, shown)
	if strings.IndexFunc(like, func(r rune) bool { return r > unicode.MaxASCII }) >= 0 {
		like = ""
	}
	return shown, like, true
}

// readable is the Unicode form of a canonical name.
func readable(canonical string) string {
	if !strings.Contains(canonical, "xn--") {
		return canonical
	}
	text, err := idna.Lookup.ToUnicode(canonical)
	if err != nil {
		if text, err = idna.Punycode.ToUnicode(canonical); err != nil {
			return canonical
		}
	}
	return text
}
