package credproxy

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// FuzzCheckTextAgreesWithTheStandardLibrary: what it accepts is JSON, and what it
// refuses is none, but for names that stand twice and bytes that are no UTF-8.
// The cursor passes over the same text to its end.
func FuzzCheckTextAgreesWithTheStandardLibrary(f *testing.F) {
	for _, seed := range []string{
		`{}`, `[]`, ` {"a" : [1, -0.5e+3, true,false , null,"x\\\"\u00e9"] } `, `{"a":{"a":1},"b":{"a":1}}`, `01`, `1.`,
		`-`, `"`, `"\u12`, `"\x"`,
		`[1,]`, `{"a":1,}`, `{"a" 1}`, `{a:1}`, `nul`, `1 2`, "\"\x01\"", "\"\xff\"", `{"a":1,"\u0061":2}`, `{"\ud800":1}`, ``, ` `,
		`[[[[]]]]`, `1e5`, `{"a":1`, `tru`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		err := checkText(text)
		valid := json.Valid(text)
		switch {
		case err == nil && !valid:
			t.Fatalf("%q was accepted", text)
		case err != nil && valid && !strings.Contains(err.Error(), "twice") && !strings.Contains(err.Error(), "UTF-8") &&
			!strings.Contains(err.Error(), "nested"):
			t.Fatalf("%q was refused: %v", text, err)
		case err != nil:
			return
		}
		c := cursor{text: text}
		c.skip()
		if rest := bytes.TrimSpace(text[c.at:]); len(rest) > 0 {
			t.Fatalf("%q: the cursor stands before %q", text, rest)
		}
	})
}

func TestNamesThatStandTwiceAreRefusedAtAnyDepthAndInAnySpelling(t *testing.T) {
	for text, twice := range map[string]bool{
		`{"a":1,"b":2,"c":{"a":1,"b":2}}`:            false,
		`[{"a":1},{"a":1}]`:                          false,
		`{"a":{"b":{"c":1,"d":2,"c":3}}}`:            true,
		`{"a":1,"b":{"x":[{"y":1}]},"\u0061":2}`:     true,
		`{"\n":1,"\u000A":2}`:                        true,
		`{"a":1,"A":2}`:                              false, // two names here; shapes know one of them
		`{` + strings.Repeat(`"k":0,`, 5) + `"l":0}`: true,
	} {
		if err := checkText([]byte(text)); (err != nil) != twice {
			t.Errorf("%s: %v", text, err)
		}
	}
}
