package lazyregexp_test

import (
	"regexp"
	"testing"

	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// The words of Naming only save work: whatever the text, the answers are those of the expression.
func FuzzNaming(f *testing.F) {
	const text = `\b(sbx-init\s+run|ip6?tables(-restore)?|nft)\b`
	named, plain := lazyregexp.Naming(text, "sbx-init", "tables", "nft"), regexp.MustCompile(text)
	for _, s := range []string{"", "nft list", "soft nfts", "sbx-init", "sbx-init  run", "x && ip6tables-restore <f", "iptable", "NFT"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := named.MatchString(s), plain.MatchString(s); got != want {
			t.Errorf("%q matches: %v, want %v", s, got, want)
		}
		if got, want := named.FindString(s), plain.FindString(s); got != want {
			t.Errorf("%q holds %q, want %q", s, got, want)
		}
	})
}
