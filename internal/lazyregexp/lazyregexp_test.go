package lazyregexp_test

import (
	"reflect"
	"regexp"
	"testing"

	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// The words that are looked for first only save work: whatever the expression and the text, the answers are those of
// package regexp.
func FuzzAnswers(f *testing.F) {
	for _, expression := range []string{`\b(sbx-init\s+run|ip6?tables(-restore)?|nft)\b`, `(?i)(TOKEN|API_?KEY|PASSWD)(_|$)`, `^~(/|$)|:~/`,
		`sources|source|\.deb\b`, `a{0,2}b{2}`, `(x*|y+)z?`, `[ab]c|[^d]`, `(?i)k|straße`, "\uFFFD", ``, `(?:)|a`, `(?s).*end`, `[[:word:]]+=`,
		`x(?i:y)[ïe]`, `(ab|(?:))c`, `(?i)[ks]{2}`, `gh[pousr]_|npm_?x`,
		`sources|source|yum\.repos`, `(?i)a(b|c)?`, `(|a)b`, `x[ab]?`} {
		for _, text := range []string{"", "nft list", "soft nfts", "ip6tables-restore <f", "my_api_key", "token", "PASSWD_", "~", "x:~/",
			"apt source", "aabb", "\u212a", "ſ", "STRASSE", "straSSE", "STRAßE", "\xff", "z", "the end", "NAME=x", "XYï", "xyE", "\u017fK"} {
			f.Add(expression, text)
		}
	}
	f.Fuzz(func(t *testing.T, expression, s string) {
		plain, err := regexp.Compile(expression)
		if err != nil {
			return
		}
		lazy := lazyregexp.New(expression)
		if got, want := lazy.MatchString(s), plain.MatchString(s); got != want {
			t.Errorf("%q matches %q: %v, want %v", expression, s, got, want)
		}
		if got, want := lazy.FindAllStringSubmatchIndex(s, -1), plain.FindAllStringSubmatchIndex(s, -1); !reflect.DeepEqual(got, want) {
			t.Errorf("%q finds in %q: %v, want %v", expression, s, got, want)
		}
		if got, want := lazy.ReplaceAllString(s, "<$1>"), plain.ReplaceAllString(s, "<$1>"); got != want {
			t.Errorf("%q makes of %q: %q, want %q", expression, s, got, want)
		}
	})
}
