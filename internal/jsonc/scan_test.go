package jsonc

import (
	"bytes"
	"testing"

	"github.com/tailscale/hujson"
)

func TestTokens(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{`{"a\"/": 1}`, `{|"a\"/"|:|.|1|}`},
		{"1 // x }\r\n,", "1|.|// x }|.|.|,"},
		{"[/* ] \" */]", "[|/* ] \" */|]"},
		{`"\\"/"//"`, `"\\"|/|"//"`},
		{`/*/ "x"`, `/*/ "x"`},
		{`"no end \"`, `"no end \"`},
		{"// no end", "// no end"},
		{"", ""},
	} {
		got := ""
		for p := range tokens([]byte(c.src), 0) {
			if got != "" {
				got += "|"
			}
			if p.kind == blank {
				got += "."
				continue
			}
			got += c.src[p.start:p.end]
		}
		if got != c.want {
			t.Errorf("%q: got %s, want %s", c.src, got, c.want)
		}
	}
}

// The scanner agrees with the parser on any text that is well formed: pieces lie
// one behind the other, and without the comments it means the same.
func FuzzTokens(f *testing.F) {
	for _, s := range []string{`{"a": [1, "//", /* , */ 2]} // x`, "[\n// \"\n\"\\\\\", 1]", `"\u002f*"`, "/**/{}\r\n//\r\n", `/*/*/1`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		at := 0
		kept := []byte{}
		for p := range tokens(src, 0) {
			if p.start != at || p.end <= p.start || p.end > len(src) {
				t.Fatalf("a piece from %d to %d, after %d of %d", p.start, p.end, at, len(src))
			}
			at = p.end
			if p.kind == comment {
				kept = append(kept, ' ')
				continue
			}
			kept = append(kept, src[p.start:p.end]...)
		}
		if at != len(src) {
			t.Fatalf("the pieces end at %d of %d", at, len(src))
		}
		value, err := hujson.Parse(bytes.Clone(src))
		if err != nil {
			return
		}
		bare, err := hujson.Parse(bytes.Clone(kept))
		if err != nil {
			t.Fatalf("%q is well formed, and %q without its comments is not: %v", src, kept, err)
		}
		value.Minimize()
		bare.Minimize()
		if !bytes.Equal(value.Pack(), bare.Pack()) {
			t.Fatalf("%q means %s, and without its comments %s", src, value.Pack(), bare.Pack())
		}
	})
}
